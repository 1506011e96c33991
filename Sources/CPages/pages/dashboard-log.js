/** What is committed and refused, as it comes; each commit can be taken back. */
import { make, shown } from '/fields.js'
import { timeOfDay } from '/dashboard-history.js'

const MOST = 150

export class Log {
  #list = document.getElementById('log')
  #link
  #aloud
  #waiting = []
  #last                                  // the row that the next commit may be folded into

  constructor(link, aloud) {
    this.#link = link
    this.#aloud = aloud
    link.on((what, detail) => { if (what === 'outcome' && detail.isRefused) this.#refuse(detail) })
    document.getElementById('clear-log').addEventListener('click', () => {
      this.#list.replaceChildren()
      this.#last = undefined
      document.getElementById('no-log').hidden = false
    })
  }

  take(id, commits) {
    for (const commit of commits) this.#add({ id, commit })
  }

  #refuse({ model, write, outcome, reason }) {
    const what = write.operations.map(([, field, value]) => `${model.id}.${field} = ${shown(value)}`).join(', ')
    this.#add({ id: model.id, refusal: { what, reason, kind: outcome.kind } })
    this.#aloud(`${outcome.kind}: ${what}. ${reason}`)
  }

  /** Rows are made once a frame; of a flood only what would be left is made at all. */
  #add(entry) {
    if (!this.#waiting.length) requestAnimationFrame(() => this.#draw())
    this.#waiting.push({ ...entry, at: new Date() })
    if (this.#waiting.length > 4 * MOST) this.#waiting.shift()
  }

  #draw() {
    for (const entry of this.#waiting.splice(0)) {
      const { id, commit } = entry
      const key = commit && [id, commit.tag, ...commit.changes.map(([field]) => field)].join('\n')
      if (key && this.#last?.key === key) this.#last.commits.push(entry.commit)
      else {
        const element = make('li', { class: entry.refusal ? 'refused' : null })
        const row = { key, element, id: entry.id, refusal: entry.refusal, commits: entry.commit ? [entry.commit] : [] }
        if (this.#last) this.#write(this.#last)
        this.#last = row
        this.#list.prepend(element)
      }
      this.#last.at = entry.at
    }
    if (this.#last) this.#write(this.#last)
    while (this.#list.children.length > MOST) this.#list.lastChild.remove()
    document.getElementById('no-log').hidden = this.#list.children.length > 0
  }

  #write(row) {
    const { element, id, at, commits, refusal } = row
    const time = make('time', { class: 'mono soft', datetime: at.toISOString() }, timeOfDay(at))
    if (refusal) {
      element.replaceChildren(time, make('span', { class: 'what' }, make('strong', {}, refusal.kind), ' ',
        make('span', { class: 'mono' }, refusal.what)), make('span', { class: 'why' }, refusal.reason))
      return
    }
    const first = commits[0], last = commits.at(-1)
    const all = last.changes.map(([field, value]) => {
      const was = first.before.find(one => one.field === field)
      return { field, from: shown(was?.value, 30), to: shown(value, 30) }
    })
    // Who writes many fields each time tells most by those that differ.
    const differ = all.filter(({ from, to }) => from !== to)
    const changes = (differ.length ? differ : all).flatMap(({ field, from, to }, place) =>
      [place ? ', ' : '', make('b', {}, field), ` ${from} → ${to}`])
    const back = row.back ??= make('button', { type: 'button', class: 'plain' }, 'Revert')
    back.setAttribute('aria-label', `Revert version ${last.version} of ${id}`)
    back.onclick = () => this.#revert(row)
    element.replaceChildren(time,
      make('span', { class: 'what mono' }, make('a', { href: `#${id}` }, id), ' ', ...changes),
      make('span', { class: 'who soft' }, last.own ? 'this page' : last.writer,
        commits.length > 1 ? ` · ${commits.length} commits` : '', ` · ${last.version}`), back)
    if (row.note) element.append(make('span', { class: 'why' }, row.note))
  }

  /** Sets the fields back to what they were, if nobody has written them since. */
  async #revert(row) {
    const first = row.commits[0], last = row.commits.at(-1), model = this.#link.model(row.id)
    const operations = last.changes.map(([field]) => {
      const { value } = first.before.find(one => one.field === field) ?? {}
      return value === undefined ? ['delete', field] : ['set', field, value]
    })
    const conditions = last.changes.map(([field]) => [field, last.epoch, last.version])
    row.key = undefined
    row.back.disabled = true
    const { kind, version } = await model.propose(operations, conditions)
    row.note = kind === 'committed' ? `reverted at ${version}`
      : kind === 'conflict' ? 'not reverted: it was written again since' : `not reverted: ${kind}`
    row.back.disabled = kind === 'committed'
    this.#write(row)
  }
}
