/** Takes a row of the log back: a question in its place, then, for ten seconds, the way back. */
import { make, shown } from '/fields.js'

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

  /** What a row has of it: the button, or how it went. */
  parts(row) {
    if (row.note) return [make('span', { class: 'why' }, row.note, row.undo ? ' ' : '', row.undo)]
    // Of what was there before this page looked, nobody here knows what it was.
    if (![...row.fields.values()].every(({ isKnown }) => isKnown)) return []
    row.back ??= make('button', { type: 'button', class: 'plain back' }, 'Revert')
    row.back.setAttribute('aria-label', `Revert version ${row.version} of ${row.id}`)
    row.back.onclick = () => this.#ask(row)
    return [row.back]
  }

  #ask(row) {
    if (!document.getElementById('edit').checked) return
    // What is asked about stays what is done, whatever comes meanwhile.
    const fields = [...row.fields].map(([field, one]) => ({ field, ...one }))
    const { id, epoch, element } = row, before = [...element.childNodes]
    row.isAsked = true
    const named = fields.slice(0, MOST_NAMED).map(({ field, from }) =>
      from === undefined ? `delete ${field}` : `set ${field} back to ${shown(from, 40)}`)
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
        : outcome.kind === 'conflict' ? 'not reverted: the field was written since' : `not reverted: ${outcome.kind}`
      if (isBack) this.#offerUndo(row, fields, outcome.version)
      end()
      row.undo?.focus()
      this.#aloud(`${id}: ${row.note}`)
    }
    element.replaceChildren(before[0], question)
    yes.focus()
  }

  #offerUndo(row, fields, version) {
    const { id, epoch } = row
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
    return this.#link.model(id).propose(
      fields.map(({ field, value }) => value === undefined ? ['delete', field] : ['set', field, value]),
      fields.map(({ field, version }) => [field, epoch, version]))
  }
}
