/** What this page has seen of every field since it was opened. */
import { make, shown } from '/fields.js'
import { plot } from '/plot.js'
import { attribution } from '/words.js'

/** The time of day, of a wall time in milliseconds. */
export const timeOfDay = time => new Date(time).toTimeString().slice(0, 8)
const exactTime = time => `${timeOfDay(time)}.${String(new Date(time).getMilliseconds()).padStart(3, '0')}`

// Of a plot each span of so many milliseconds keeps its least, most and last number.
const MOST = 200, LISTED = 24, WINDOW = 120_000, SPAN = 200

export class Histories {
  #link
  #models = new Map()                    // id → field → { list: [{ time, value, version, writer }], spans }
  #ahead = 0                             // the hub's clock before this machine's, in milliseconds

  constructor(link) {
    this.#link = link
    link.on((what, detail) => { if (what === 'heartbeat') this.#ahead = detail.now - Date.now() })
  }

  /** The hub's wall clock, now: ages are measured by it alone. */
  hubTime() { return Date.now() + this.#ahead }

  take(id, { changed, commits }) {
    const model = this.#link.model(id)
    for (const { changes, ...commit } of commits) {
      for (const [field, value] of changes) if (!model.lists?.has(field)) this.#note(id, field, { ...commit, value })
    }
    // What a catch-up brought was in no commit that was told.
    for (const field of changed) {
      const isList = model.lists?.isList(field)
      const committed = isList ? { ...model.lists.newest(field), value: model.get(field) } : model.fields.get(field)
      if (committed) this.#note(id, field, committed)
    }
  }

  /** A model that is not followed any more. */
  forget(id) { this.#models.delete(id) }

  #note(id, field, { value, version, writer, user, time, tag }) {
    if (!this.#models.has(id)) this.#models.set(id, new Map())
    const fields = this.#models.get(id)
    if (!fields.has(field)) fields.set(field, { list: [], spans: [] })
    const { list, spans } = fields.get(field)
    if (list.length && list.at(-1).version >= version) return
    list.push({ time, value, version, writer: tag === this.#link.tag ? 'this page' : attribution({ writer, user }) })
    if (list.length > MOST) list.shift()
    if (typeof value !== 'number') return
    const seen = Date.now(), last = spans.at(-1)
    if (last && seen - last.from < SPAN) {
      last.least = Math.min(last.least, value)
      last.most = Math.max(last.most, value)
      last.value = value
    } else {
      spans.push({ from: seen, least: value, most: value, value })
      while (spans.length > 1 && spans[1].from < seen - WINDOW) spans.shift()
    }
  }

  /** The numbers of the last two minutes, for a plot. */
  points(id, field) {
    const from = Date.now() - WINDOW, spans = this.#models.get(id)?.get(field)?.spans ?? []
    return spans.flatMap(({ from: time, least, most, value }) => {
      const shownAt = Math.max(time, from)
      return least === most ? [[shownAt, value]] : [[shownAt, least], [shownAt, most], [shownAt, value]]
    })
  }

  /** Lists a field's values in a table's body, newest first. */
  fill(body, id, field) {
    const list = (this.#models.get(id)?.get(field)?.list ?? []).slice(-LISTED).reverse()
    if (body.dataset.newest === String(list[0]?.version)) return
    body.dataset.newest = String(list[0]?.version)
    const mono = words => make('td', { class: 'mono' }, words)
    body.replaceChildren(...list.map(({ time, value, version, writer }) => make('tr', {},
      mono(exactTime(time)), mono(shown(value, 200)), mono(String(version)), make('td', {}, writer))))
  }
}

/** A plot of the last two minutes of a field, with its unit, how far it goes, and when. */
export class Axes {
  #canvas = make('canvas', { class: 'plot' })
  #most = make('span', { class: 'mono' })
  #least = make('span', { class: 'mono' })
  #name

  constructor(field, unit) {
    this.#name = unit ? `${field}, ${unit}` : field
    const times = ['2 min ago', '1 min ago', 'now'].map(words => make('span', {}, words))
    this.element = make('figure', { class: 'axes', hidden: true }, make('figcaption', {}, this.#name),
      make('div', { class: 'scale' }, this.#most, this.#least), this.#canvas, make('div', { class: 'times' }, ...times))
  }

  fill(points) {
    this.element.hidden = !points.length
    if (!points.length) return
    let min = Infinity, max = -Infinity
    for (const [, value] of points) {
      min = Math.min(min, value)
      max = Math.max(max, value)
    }
    this.#most.textContent = min === max ? '' : bind.text(max)
    this.#least.textContent = bind.text(min)
    const to = Date.now(), label = `${this.#name}, in two minutes: ${bind.text(min)} to ${bind.text(max)}`
    plot(this.#canvas, points, { from: to - WINDOW, to, min, max, label })
  }
}
