/**
 * Takes a commit back, or brings fields back to a version: a question in the place of its row, then, for ten seconds,
 * the way back.
 */
import { make, readable } from '/fields.js'
import { listOf, readablePast, titleOf } from '/list-values.js'

const UNDO = 10_000                      // milliseconds
const MOST_NAMED = 3

export class Revert {
  #link
  #aloud
  #write

  /** @param write - draws a row anew. */
  constructor(link, aloud, write) {
    this.#link = link
    this.#aloud = aloud
    this.#write = write
  }

  /**
   * What a row has of it: the button, or how it went. A row has `id`, `version`, `element`, `epoch` and `fields`, which
   * map names to what they were and are; or `steps`, which finds those out (`stepsTo`), and `question`, which shows
   * an element in the row's place.
   */
  parts(row) {
    const note = row.note && make('span', { class: 'why' }, row.note, row.undo ? ' ' : '', row.undo)
    if (note && !(row.steps && !row.undo)) return [note]
    // Of what was there before this page looked, nobody here knows what it was.
    if (!row.steps && ![...row.fields.values()].every(({ isKnown }) => isKnown)) return []
    row.back ??= make('button', { type: 'button', class: 'plain back' }, row.steps ? 'Revert to' : 'Revert')
    row.back.setAttribute('aria-label', row.steps ? `Revert ${row.id} to version ${row.version}`
      : `Revert version ${row.version} of ${row.id}`)
    row.back.onclick = () => this.#look(row).catch(reportError)
    return note ? [note, ' ', row.back] : [row.back]
  }

  async #look(row) {
    if (!document.getElementById('edit').checked || row.isAsked) return
    row.isAsked = true
    const found = await row.steps?.()
      ?? { epoch: row.epoch, fields: [...row.fields].map(([field, one]) => ({ field, ...one })) }
    if (found.fields?.length) return this.#ask(row, found)
    row.isAsked = false
    row.note = found.fields ? 'nothing to revert' : found
    this.#write(row)
    this.#aloud(`${row.id}: ${row.note}`)
  }

  /** What is asked about stays what is done, whatever comes meanwhile. */
  #ask(row, { epoch, fields }) {
    const { id, element } = row, before = [...element.childNodes], model = this.#link.models.get(id)
    const told = readablePast(fields.slice(0, MOST_NAMED).map(({ field, from }) => [field, from]))
    const named = told.map(([field, from]) =>
      from === undefined ? `delete ${titleOf(field)}`
        : `set ${titleOf(field)} back to ${readable(model, field, from, 40)}`)
    const more = fields.length > MOST_NAMED ? `, and ${fields.length - MOST_NAMED} more` : ''
    const words = `${id}: ${named.join(', ')}${more}?`
    const yes = make('button', { type: 'button' }, 'Yes'), no = make('button', { type: 'button' }, 'No')
    const question = make('span', { class: 'question', role: 'group', 'aria-label': words },
      make('span', { class: 'mono' }, words), ' ', yes, ' ', no)
    const end = () => {
      row.isAsked = false
      this.#write(row)
    }
    no.onclick = () => {
      end()
      row.back?.focus()
    }
    question.onkeydown = event => {
      if (event.key !== 'Escape') return
      event.stopPropagation()
      no.click()
    }
    yes.onclick = async () => {
      row.isDone = true
      const target = fields.map(({ field, from, version }) => ({ field, value: from, version }))
      const outcome = await this.#set(id, epoch, target)
      const isBack = outcome.kind === 'committed'
      row.note = isBack ? `reverted at ${outcome.version}` : outcome.kind === 'unchanged' ? 'nothing to revert'
        : outcome.kind === 'conflict' ? 'not reverted: the field was written since'
        : `not reverted: ${outcome.text ?? outcome.kind}`
      if (isBack) this.#offerUndo(row, epoch, fields, outcome.version)
      end()
      row.undo?.focus()
      this.#aloud(`${id}: ${row.note}`)
    }
    row.question ? row.question(question) : element.replaceChildren(before[0], question)
    yes.focus()
  }

  #offerUndo(row, epoch, fields, version) {
    const { id } = row
    row.undo = make('button', { type: 'button', class: 'plain' }, 'Undo')
    row.undo.onclick = async () => {
      const outcome = await this.#set(id, epoch, fields.map(({ field, to }) => ({ field, value: to, version })))
      close(outcome.kind === 'committed' ? `reverted, and undone at ${outcome.version}`
        : outcome.kind === 'conflict' ? 'not undone: the field was written since' : `not undone: ${outcome.kind}`)
    }
    const close = note => {
      clearTimeout(timer)
      row.undo = undefined
      row.note = note
      this.#write(row)
      this.#aloud(`${id}: ${note}`)
    }
    const timer = setTimeout(() => {
      row.undo = undefined
      this.#write(row)
    }, UNDO)
  }

  /** One commit, if nobody has written these fields since those versions. */
  #set(id, epoch, fields) {
    const model = this.#link.model(id), lists = new Set(fields.map(({ field }) => listOf(field)).filter(Boolean))
    const operations = fields.filter(({ field }) => !listOf(field)).map(({ field, value }) =>
      value === undefined ? ['delete', field] : ['set', field, value])
    for (const list of lists) {
      const elements = fields.filter(({ field }) => listOf(field) === list).map(({ field, value }) => [field, value])
      operations.push(...model.lists.back(list, elements))
    }
    // An element that stands where it stood, and is what it was, has another place only for the hub.
    const written = new Set(operations.map(([, field]) => field))
    const conditions = fields.flatMap(({ field, version }) => written.has(field) ? [[field, epoch, version]] : [])
    return operations.length ? model.propose(operations, conditions) : Promise.resolve({ kind: 'unchanged' })
  }
}
