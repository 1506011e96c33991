/** The history of a model or of one of its fields as a table: the hub's commits, older ones on demand, each to be
 *  returned to. */
import { make, readable } from '/fields.js'
import { attribution } from '/words.js'
import { Commits, horizonWords, problemWords, stepsTo } from '/dashboard-commits.js'
import { Revert } from '/dashboard-revert.js'
import { listOf, readablePast, titleOf } from '/list-values.js'

// How much of a value is shown, in a row of several and alone; how many changes of a commit.
const SHORT = 60, LONG = 200, MOST_CHANGES = 12

const put = (element, words) => { if (element.textContent !== words) element.textContent = words }
const two = number => String(number).padStart(2, '0')

/** `20:14:03` of today, else with the day, and with the year if that is another one. */
export function whenWords(time, now = new Date()) {
  const date = new Date(time), day = `${two(date.getMonth() + 1)}-${two(date.getDate())}`
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')
  if (date.toDateString() === now.toDateString()) return clock
  return date.getFullYear() === now.getFullYear() ? `${day} ${clock}` : `${date.getFullYear()}-${day} ${clock}`
}

export class Past {
  element
  #model
  #field                                 // the only one, if it is about one
  #commits
  #revert
  #rows = new Map()                      // epoch and version → row
  #body = make('tbody')
  #scroll
  #news = make('button', { type: 'button', class: 'plain', hidden: true })
  #words = make('span', { role: 'status' })
  #older = make('button', { type: 'button', hidden: true }, 'Older')
  #again = make('button', { type: 'button', hidden: true }, 'Try again')
  #top                                   // the version of the newest row that is shown
  #isDue = false
  #observer
  #end                                   // it hears of the link no more
  #report

  /**
   * @param how - `field`: it is about this one alone; `fields` and `writers` that are wanted, else all; `report` is
   *   called after each drawing, with the commits.
   */
  constructor(link, model, aloud, { field, fields = [], writers = [], report = () => {} } = {}) {
    this.#model = model
    this.#field = field
    this.#report = report
    this.#revert = new Revert(link, aloud, row => this.#write(row))
    const head = ['When', field ? 'Value' : 'Changes', 'Version', 'Written by'].map(words =>
      make('th', { scope: 'col', class: words === 'Version' ? 'number' : null }, words))
    const more = make('th', { scope: 'col' }, make('span', { class: 'out-of-sight' }, 'More'))
    const name = field ? `History of ${model.id}.${field}` : `History of ${model.id}`
    this.#scroll = make('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': name },
      make('table', {}, make('caption', { class: 'out-of-sight' }, name),
        make('thead', {}, make('tr', {}, ...head, more)), this.#body),
      make('p', { class: 'soft end' }, this.#words, ' ', this.#older, this.#again))
    this.element = make('div', { class: 'past' }, this.#news, this.#scroll)
    this.#commits = new Commits(model, { fields: field ? [field] : fields, writers }, () => this.#later())
    this.#older.onclick = () => this.#commits.older()
    this.#again.onclick = () => this.#commits.again()
    this.#news.onclick = () => this.#draw(true)
    for (const event of ['pointerleave', 'focusout']) this.#scroll.addEventListener(event, () => this.#later())
    // Who scrolls to the end wants what follows.
    this.#observer = new IntersectionObserver(([{ isIntersecting }]) => {
      if (isIntersecting && this.#scroll.scrollTop > 0) this.#commits.older()
    }, { root: this.#scroll })
    this.#observer.observe(this.#older)
    this.#end = link.on(what => { if (what === 'state') this.#later() })
  }

  close() {
    this.#commits.close()
    this.#observer.disconnect()
    this.#end()
    this.element.remove()
  }

  /** What was told of the model. */
  arrive(info) {
    this.#commits.arrive(info)
    if (info.changed.includes('@description')) for (const row of this.#rows.values()) row.isStale = true
    this.#later()
  }

  /** Whether the hub has no history for this page. */
  get isNone() { return !!this.#commits.problem && !this.#commits.list.length }

  #later() {
    if (this.#isDue || document.hidden) return
    this.#isDue = true
    requestAnimationFrame(() => {
      this.#isDue = false
      this.#draw()
    })
  }

  /** Nothing moves under a pointer, or where the focus is; what is older comes below it. */
  get #isHeld() { return this.#body.matches(':hover') || this.#body.contains(document.activeElement) }

  #draw(isAsked = false) {
    const { list } = this.#commits, isHeld = this.#isHeld && !isAsked && this.#top !== undefined
    const shown = isHeld ? list.filter(({ version }) => version <= this.#top) : list, count = list.length - shown.length
    if (!isHeld) this.#top = list[0]?.version
    this.#news.hidden = !count
    put(this.#news, `${count} new ↑`)
    const keep = new Set()
    let before = null
    for (const commit of shown) {
      const row = this.#rowOf(commit)
      keep.add(row.element)
      const isInPlace = row.element.isConnected && row.element.previousElementSibling === before
      if (!isInPlace) before ? before.after(row.element) : this.#body.prepend(row.element)
      before = row.element
    }
    for (const [key, { element }] of this.#rows) if (!keep.has(element)) element.remove(), this.#rows.delete(key)
    this.#drawEnd()
    this.#report(this.#commits)
  }

  /** What is below the last row: more, or why there is none. */
  #drawEnd() {
    const { list, problem, isReading, isAll, horizon, reason, searched } = this.#commits
    const isMore = !problem && !isAll, isFound = list.length > 0
    this.#older.hidden = !isMore || isReading
    this.#again.hidden = problem !== 'unreadable' && problem !== 'noAnswer'
    const begin = horizonWords(horizon, reason), isFar = reason !== 'beginning'
    put(this.#words, problem ? problemWords(problem, this.#model)
      : isReading ? this.#model.link.isLive ? 'Reading …' : problemWords('noAnswer', this.#model)
      : isAll ? `${isFound ? '' : 'There is no such commit. '}${begin}`
      : `${isFound ? '' : `No such commit down to version ${searched + 1}. `}${isFar ? begin : ''}`)
  }

  // One row.

  #rowOf(commit) {
    const { epoch, version } = commit, key = `${epoch}:${version}`
    let row = this.#rows.get(key)
    if (!row) {
      row = { id: this.#model.id, version, commit, element: make('tr') }
      row.steps = () => stepsTo(this.#model, version, this.#field ? [this.#field] : [])
      row.question = question => row.element.replaceChildren(
        row.element.firstChild, make('td', { colspan: 4, class: 'asked' }, question))
      this.#rows.set(key, row)
      this.#write(row)
    } else if (row.isStale || row.isOver !== version < this.#model.version) this.#write(row)
    return row
  }

  #write(row) {
    if (row.isAsked) return
    const { commit: { epoch, version, time, own, ...commit }, element } = row, date = new Date(time)
    const isHere = epoch === this.#model.epoch
    const address = isHere ? `${version}` : `${BigInt(epoch).toString(16)}:${version}`
    row.isStale = false
    // To what is there now nothing has to be returned.
    row.isOver = version < this.#model.version
    element.replaceChildren(
      make('td', {}, make('time', { class: 'mono soft', datetime: date.toISOString(), title: date.toISOString() },
        whenWords(time))),
      make('td', { class: 'mono changes' }, ...this.#changes(readablePast(commit.changes))),
      make('td', { class: 'number', title: isHere ? null : 'a version of an earlier epoch' }, address),
      make('td', { class: 'soft' }, own ? 'this page' : attribution(commit)),
      make('td', { class: 'more' }, ...row.isOver ? this.#revert.parts(row) : []))
  }

  #changes(changes) {
    if (!changes.length) return ['nothing that is still there']
    const said = ([field, value, isRemoved], most) => isRemoved ? 'removed from the history'
      : value === undefined ? 'deleted' : readable(this.#model, field, value, most)
    if (this.#field && changes.every(([field]) => field === this.#field)) return [said(changes[0], LONG)]
    const parts = changes.slice(0, MOST_CHANGES).flatMap(([field, value, isRemoved], index) =>
      [index ? ', ' : '', make('b', {}, titleOf(field)), ` → ${said([field, value, isRemoved], SHORT)}`])
    return changes.length > MOST_CHANGES ? [...parts, `, ${changes.length - MOST_CHANGES} more`] : parts
  }
}

/** The history of the model that is looked at, with what it is narrowed to. */
export class PastPanel {
  #link
  #aloud
  #model
  #past
  #at = name => document.getElementById(name)

  constructor(link, aloud) {
    this.#link = link
    this.#aloud = aloud
    this.#at('past-open').addEventListener('click', () => this.#toggle())
    for (const name of ['past-field', 'past-writer']) this.#at(name).addEventListener('change', () => this.#begin())
  }

  /** @param model - none: there is no such model, and nothing to show of it. */
  show(model) {
    this.#model = model
    this.#at('past').classList.toggle('empty', !model)
    this.#at('past-field').value = this.#at('past-writer').value = ''
    this.#at('past-field').replaceChildren()
    if (this.#isOpen) this.#begin()
  }

  arrive(info) { this.#past?.arrive(info) }

  get #isOpen() { return !this.#at('past').hidden }

  #toggle() {
    this.#at('past').hidden = this.#isOpen
    this.#at('past-open').setAttribute('aria-expanded', String(this.#isOpen))
    if (this.#isOpen) return this.#begin()
    this.#past?.close()
    this.#past = undefined
  }

  #begin() {
    this.#past?.close()
    if (!this.#model) return
    this.#offer([])
    const chosen = ['past-field', 'past-writer'].map(name => [this.#at(name).value.trim()].filter(Boolean))
    const [fields, writers] = chosen, report = ({ list }) => this.#offer(list)
    this.#past = new Past(this.#link, this.#model, this.#aloud, { fields, writers, report })
    this.#at('past').append(this.#past.element)
  }

  /** Offers to narrow it to the fields and writers that are known. */
  #offer(list) {
    const select = this.#at('past-field'), options = select.options, model = this.#model
    const known = new Set([...options].map(({ value }) => value))
    const changed = list.flatMap(({ changes }) => changes.map(([field]) => listOf(field) ?? field))
    const fields = [...model.names(), ...changed]
    if (!known.has('')) select.append(new Option('all fields', ''))
    for (const field of new Set(fields)) if (!known.has(field)) select.append(new Option(field, field))
    const writers = new Set([...model.fields.values(), ...list].flatMap(({ writer, user }) => [writer, user]))
    const there = this.#at('past-writers'), names = [...writers].filter(Boolean).sort()
    if (names.join('\n') === [...there.options].map(({ value }) => value).join('\n')) return
    there.replaceChildren(...names.map(name => make('option', { value: name })))
  }
}
