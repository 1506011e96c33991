/** What this page has seen of every field since it was opened. */
import { make, shown } from '/fields.js'

/** The time of day, of a wall time in milliseconds. */
export const timeOfDay = time => new Date(time).toTimeString().slice(0, 8)

const MOST = 200, LISTED = 12, WINDOW = 120_000

export class Histories {
  #link
  #models = new Map()                    // id → field → [{ seen, time, value, version, writer }]
  #ahead = 0                             // the hub's clock before this machine's, in milliseconds

  constructor(link) {
    this.#link = link
    link.on((what, detail) => { if (what === 'beat') this.#ahead = detail.now - Date.now() })
  }

  /** The hub's wall clock, now: ages are measured by it alone. */
  hubTime() { return Date.now() + this.#ahead }

  take(id, { changed, commits }) {
    const model = this.#link.model(id)
    for (const { changes, ...commit } of commits) {
      for (const [field, value] of changes) this.#note(id, field, { ...commit, value })
    }
    // What a catch-up brought was in no commit that was told.
    for (const field of changed) {
      const committed = model.fields.get(field)
      if (committed) this.#note(id, field, committed)
    }
  }

  #note(id, field, { value, version, writer, time, tag }) {
    if (!this.#models.has(id)) this.#models.set(id, new Map())
    const fields = this.#models.get(id), list = fields.get(field) ?? []
    if (list.length && list.at(-1).version >= version) return
    list.push({ seen: Date.now(), time, value, version, writer: tag === this.#link.tag ? 'this page' : writer })
    if (list.length > MOST) list.shift()
    fields.set(field, list)
  }

  #of(id, field) { return this.#models.get(id)?.get(field) ?? [] }

  /** The numbers of the last two minutes, for a plot. */
  points(id, field) {
    const list = this.#of(id, field).filter(({ value }) => typeof value === 'number')
    const from = Date.now() - WINDOW, first = Math.max(0, list.findLastIndex(({ seen }) => seen < from))
    return list.slice(first).map(({ seen, value }) => [Math.max(seen, from), value])
  }

  /** Lists a field's values in a table's body, newest first. */
  fill(body, id, field) {
    const list = this.#of(id, field).slice(-LISTED).reverse()
    if (body.dataset.newest === String(list[0]?.version)) return
    body.dataset.newest = String(list[0]?.version)
    const mono = words => make('td', { class: 'mono' }, words)
    body.replaceChildren(...list.map(({ time, value, version, writer }) => make('tr', {},
      mono(timeOfDay(time)), mono(shown(value, 200)), mono(String(version)), make('td', {}, writer))))
  }
}
