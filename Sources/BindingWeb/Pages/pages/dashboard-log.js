/** What is committed and refused, as it comes: folded in time, sifted, and still under a hand. */
import { make, readable } from '/fields.js'
import { timeOfDay } from '/dashboard-history.js'
import { titleOf } from '/list-values.js'
import { Revert } from '/dashboard-revert.js'
import { attribution } from '/words.js'

// Rows that are kept, and of them shown; how long one writer's commits of a model make one row: with no longer a pause
// than the first, and no longer in all than the second. Times in milliseconds.
const KEPT = 400, SHOWN = 150, QUIET = 5000, LONGEST = 60_000
// Between two redrawings.
const PAUSE = 250
const MOST_FIELDS = 6

const at = id => document.getElementById(id)

/** Who is a person: pages and terminals, by what they call themselves. */
const isPerson = ({ own, writer }) => own || /^(page|shell)(-|$)/.test(writer)

export class Log {
  #list = at('log')
  #link
  #aloud
  #view                                  // what is looked at: its `id` is that of the model
  #rows = []                             // newest first, more than are shown
  #byWriter = new Map()                  // model and writer → the row that the next commit goes into
  #dirty = new Set()                     // rows whose element says less than they know
  #seen = new Map()                      // model → the version up to which it is in the log
  #drawn
  #timer
  #isPaused = false
  #revert

  constructor(link, view, aloud) {
    this.#link = link
    this.#aloud = aloud
    this.#view = view
    this.#revert = new Revert(link, aloud, row => this.#write(row))
    link.on((what, detail) => { if (what === 'outcome' && detail.isRefused) this.#refuse(detail) })
    at('clear-log').addEventListener('click', () => {
      this.#rows = []
      this.#byWriter.clear()
      this.#dirty.clear()
      this.#draw(true)
    })
    for (const chip of document.querySelectorAll('#chips [aria-pressed]')) {
      chip.addEventListener('click', () => {
        chip.setAttribute('aria-pressed', String(chip.getAttribute('aria-pressed') !== 'true'))
        this.#draw(true)
      })
    }
    at('find-commit').addEventListener('input', () => this.#draw(true))
    at('new-commits').addEventListener('click', () => this.#draw(true))
    at('edit').addEventListener('change', () => at('log').classList.toggle('can-edit', at('edit').checked))
    for (const event of ['pointerleave', 'focusout']) this.#list.addEventListener(event, () => this.#later())
  }

  /** While it is paused nothing moves; what comes is kept and counted. */
  set isPaused(isPaused) {
    this.#isPaused = isPaused
    this.#draw()
  }

  /** The model that is looked at is another one. */
  viewChanged() { if (this.#isOn('model')) this.#draw(true) }

  /** @param commits - `id` of a model, its epoch, and of each commit: version, count, tag, writer, user, own,
   *    changes. */
  take(id, epoch, commits) {
    for (const commit of commits) {
      const { version, count = 1, tag, writer, user = '', own, changes } = commit
      if (version <= this.#seen.get(id)?.version && epoch === this.#seen.get(id).epoch) continue
      this.#seen.set(id, { version, epoch })
      const time = Date.now(), key = `${id}\n${tag}\n${user}`
      let row = this.#byWriter.get(key)
      const isOver = !row || row.epoch !== epoch || time - row.last > QUIET || time - row.first > LONGEST
      if (isOver || row.isAsked || row.isDone) {
        row = { id, epoch, tag, writer, user, own, count: 0, first: time, fields: new Map() }
        this.#byWriter.set(key, row)
        this.#add(row)
      }
      Object.assign(row, { version, last: time, count: row.count + count })
      for (const { field, to, ...was } of changes) {
        const from = row.fields.get(field) ?? was
        row.fields.delete(field)         // What changed last stands last.
        row.fields.set(field, { ...from, to, version })
      }
      this.#dirty.add(row)
    }
    this.#later()
  }

  #refuse({ model, write, outcome, reason }) {
    const what = write.operations.map(([verb, field, value]) =>
      `${model.id}.${titleOf(field)} = ${readable(model, field, verb === 'insert' ? value.is : value)}`).join(', ')
    const row = { id: model.id, own: true, last: Date.now(), refusal: { what, reason, kind: outcome.kind } }
    this.#add(row)
    this.#dirty.add(row)
    this.#later()
    this.#aloud(`${outcome.kind}: ${what}. ${reason}`)
  }

  #add(row) {
    this.#rows.unshift(row)
    for (const old of this.#rows.splice(KEPT)) {
      this.#dirty.delete(old)
      const key = `${old.id}\n${old.tag}`
      if (this.#byWriter.get(key) === old) this.#byWriter.delete(key)
    }
  }

  // Sifting and holding.

  #isOn(name) { return at(`only-${name}`).getAttribute('aria-pressed') === 'true' }

  #wanted() {
    const model = this.#isOn('model') && this.#view.id, isPeople = this.#isOn('people')
    const isRefusals = this.#isOn('refusals'), words = at('find-commit').value.trim().toLowerCase()
    return this.#rows.filter(row => (!model || row.id === model) && (!isPeople || isPerson(row))
      && (!isRefusals || row.refusal) && (!words || this.#text(row).includes(words))).slice(0, SHOWN)
  }

  #text({ id, writer, user, refusal, fields }) {
    const said = ([field, { to }]) => `${field} ${this.#said(id, field, to)}`
    const changes = refusal ? refusal.what : [...fields].map(said).join(' ')
    return `${id} ${attribution({ writer: writer ?? '', user })} ${changes}`.toLowerCase()
  }

  /** Of a model that the page does not follow it knows no description. */
  #said(id, field, value, most) { return readable(this.#link.models.get(id), field, value, most) }

  /** Nothing moves under a pointer, or where the focus is. */
  get #isHeld() {
    return this.#isPaused || this.#list.matches(':hover') || this.#list.contains(document.activeElement)
  }

  #later() {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      if (document.hidden) return
      this.#draw()
    }, PAUSE)
  }

  /** @param isAsked - somebody asked for it: then it is drawn wherever the pointer is. */
  #draw(isAsked = false) {
    const waiting = this.#rows.filter(row => !row.element).length, isHeld = this.#isHeld && !isAsked
    at('new-commits').hidden = !isHeld || !waiting
    at('new-commits').textContent = `${waiting} new ↑`
    if (isHeld) return this.#dirty.size && this.#later()
    const wanted = this.#wanted()
    for (const row of this.#rows) row.element ??= make('li', { class: row.refusal ? 'refused' : null })
    for (const row of wanted) if (this.#dirty.delete(row)) this.#write(row)
    const elements = wanted.map(row => row.element), keep = new Set(elements)
    for (const child of [...this.#list.children]) if (!keep.has(child)) child.remove()
    elements.forEach((element, index) => {
      if (this.#list.children[index] !== element) this.#list.insertBefore(element, this.#list.children[index] ?? null)
    })
    at('no-log').hidden = this.#rows.length > 0
    at('not-in-log').hidden = !this.#rows.length || wanted.length > 0
  }

  #write(row) {
    if (row.isAsked) return
    const { element, id, last, refusal } = row, when = new Date(last)
    const time = make('time', { class: 'mono soft', datetime: when.toISOString() }, timeOfDay(when))
    if (refusal) {
      element.replaceChildren(time, make('span', { class: 'what' }, make('strong', {}, refusal.kind), ' ',
        make('span', { class: 'mono' }, refusal.what)), make('span', { class: 'why' }, refusal.reason))
      return
    }
    const said = (field, value) => this.#said(id, field, value, 30)
    const all = [...row.fields].map(([field, { from, isKnown, to }]) =>
      ({ field, from: isKnown ? `${said(field, from)} ` : '', to: said(field, to) }))
    // Who writes many fields each time tells most by those that differ.
    const differ = all.filter(({ from, to }) => from !== `${to} `), some = (differ.length ? differ : all).reverse()
    const changes = some.slice(0, MOST_FIELDS).flatMap(({ field, from, to }, index) =>
      [index ? ', ' : '', make('b', {}, field), ` ${from}→ ${to}`])
    const more = some.length > MOST_FIELDS ? `, ${some.length - MOST_FIELDS} more` : ''
    element.replaceChildren(time,
      make('span', { class: 'what mono' }, make('a', { href: `#${id}` }, id), ' ', ...changes, more),
      make('span', { class: 'who soft' }, row.own ? 'this page' : attribution(row),
        row.count > 1 ? ` · ${row.count.toLocaleString('en')} commits` : '', ` · ${row.version}`),
      ...this.#revert.parts(row))
  }
}
