/** The fields of a model as rows of a table: of very many only those in view are there. */
import { controlFor, kindOf, make, markOtherwise, namesOf, otherwiseMark, readable, wordsOf } from '/fields.js'
import { Past, whenWords } from '/dashboard-past.js'
import { attribution, commandLine } from '/words.js'
import { plot } from '/plot.js'
import { same } from '/values.js'
import { Axes } from '/dashboard-history.js'
import { changesOf } from '/dashboard-edit.js'

// So many rows are all made; of more only those in view, and so many beyond. So many fields are found without a search.
const ALL = 300, MARGIN = 15, FEW = 12
const SECRET = 'Its description calls this field secret: its values are not shown here, but while it is edited.'

const at = id => document.getElementById(id)
/** A control that somebody is in, or has left something in that is not written, stays wherever it is. */
const isHeld = element => element.contains(document.activeElement) || bind.drafts().some(one => element.contains(one))
const put = (cell, words) => { if (cell.textContent !== words) cell.textContent = words }

export class Rows {
  #link
  #aloud
  #model
  #hub                                   // the model `@hub`, which says who declares a field otherwise
  #histories
  #copy
  #names = []                            // of all fields that are to be seen, in their order
  #known = new Set()                     // of all fields
  #isStale = true                        // whether the names have to be looked up again
  #dirty = new Set()
  #rows = new Map()                      // field → { key, element, its cells, past … }
  #open = new Set()                      // fields whose history is shown
  #height = 39                           // of a row, as far as seen
  #isDue = false
  #spaces = ['above', 'below'].map(() =>
    make('tr', { class: 'space', 'aria-hidden': 'true' }, make('td', { colspan: 7 })))

  constructor(link, histories, copy, aloud) {
    this.#link = link
    this.#aloud = aloud
    this.#hub = link.model('@hub')
    this.#histories = histories
    this.#copy = copy
    at('edit').addEventListener('change', () => this.later())
    at('find-field').addEventListener('input', () => {
      this.#isStale = true
      this.later()
    })
    // Whatever it is that scrolls.
    document.addEventListener('scroll', () => { if (this.#names.length > ALL) this.later() }, true)
    addEventListener('resize', () => this.later())
    setInterval(() => {
      if (at('find-field').value) this.#isStale = true
      for (const name of this.#rows.keys()) this.#dirty.add(name)
      this.later()
    }, 1000)
  }

  show(model) {
    this.#model = model
    this.#isStale = true
    this.#known.clear()
    for (const row of this.#rows.values()) row.past?.close()
    this.#rows.clear()
    this.#open.clear()
    this.#dirty.clear()
    at('find-field').value = ''
    at('rows').replaceChildren()
    this.later()
  }

  /** What was told of the model: these fields are others, or have another state. */
  take(info) {
    const { changed: fields } = info
    for (const { past } of this.#rows.values()) past?.arrive(info)
    for (const name of fields) {
      if (this.#rows.has(name)) this.#dirty.add(name)
      const isNew = !this.#known.has(name), isGone = !isNew && this.#model.get(name) === undefined
      if (isNew || isGone || name === '@description') this.#isStale = true
    }
    this.later()
  }

  later() {
    if (this.#isDue || document.hidden) return
    this.#isDue = true
    requestAnimationFrame(() => {
      this.#isDue = false
      if (this.#model) this.#draw()
    })
  }

  #draw() {
    if (this.#isStale) this.#look()
    const names = this.#names, [first, last] = this.#inView(), wanted = names.slice(first, last), keep = new Set(wanted)
    for (const [name, row] of this.#rows) {
      if (keep.has(name) || this.#known.has(name) && isHeld(row.element)) continue
      row.element.remove()
      this.#closeHistory(row)
      this.#rows.delete(name)
    }
    this.#lock()
    const isEdited = at('edit').checked
    let before = this.#space(0, first)
    for (const [index, name] of wanted.entries()) {
      const row = this.#rowOf(name, isEdited)
      if (names.length > ALL) row.element.setAttribute('aria-rowindex', String(first + index + 2))
      const isInPlace = row.element.isConnected && row.element.previousElementSibling === before
      if (!isInPlace) before ? before.after(row.element) : at('rows').prepend(row.element)
      if (row.history && row.element.nextElementSibling !== row.history) row.element.after(row.history)
      before = row.history ?? row.element
    }
    this.#space(1, names.length - last)
    if (names.length > ALL) this.#measure()
  }

  /** Where nothing may be written nothing is edited, and the switch says why. */
  #lock() {
    const [reason] = this.#names, why = reason && this.#names.slice(0, ALL).every(name => this.#whyNot(name))
      ? this.#whyNot(reason) : ''
    at('edit').disabled = !!why
    if (why) at('edit').checked = false
    at('view-only').hidden = !why
    put(at('view-only'), why)
  }

  #whyNot(name) { return this.#model.info(name).readOnly }

  /** Looks up which fields there are, and which of them are to be seen. */
  #look() {
    this.#isStale = false
    const all = namesOf(this.#model), words = at('find-field').value.trim().toLowerCase()
    this.#known = new Set(all)
    const model = this.#model, said = name =>
      `${name}\n${wordsOf(model.describe(name)).title}\n${readable(model, name, model.get(name), 500)}`.toLowerCase()
    this.#names = !words ? all : all.filter(name => said(name).includes(words))
    at('find-field').hidden = all.length <= FEW && !words
    at('more-fields').hidden = all.length <= ALL && !words
    put(at('more-fields'), words ? `${this.#names.length} of ${all.length} fields` : `${all.length} fields`)
    at('fields').hidden = !all.length
    if (this.#names.length > ALL) at('fields').setAttribute('aria-rowcount', String(this.#names.length + 1))
    else at('fields').removeAttribute('aria-rowcount')
    this.#showEmpty(all.length)
  }

  #showEmpty(count) {
    const { state, blocked, id, link } = this.#model, hasAnswer = state === 'current' || !link.isLive
    at('no-fields').hidden = count > 0
    at('no-fields').replaceChildren(...blocked ? ['Cannot join the model: ', blocked.text, '. Trying again.']
      : hasAnswer ? ['This model has no fields. In a terminal: ', make('code', {}, `bindpeer set ${id}.on=true`)]
        : ['Loading its fields …'])
  }

  /** The model may be followed now, or not any more. */
  stateChanged() {
    this.#isStale = true
    this.later()
  }

  #inView() {
    const count = this.#names.length
    if (count <= ALL) return [0, count]
    const top = Math.max(0, at('fields').closest('section').getBoundingClientRect().top)
    const above = top - at('rows').getBoundingClientRect().top, seen = Math.ceil(innerHeight / this.#height)
    const first = Math.min(Math.max(0, Math.floor(above / this.#height) - MARGIN), Math.max(0, count - seen))
    return [first, Math.min(count, first + seen + 2 * MARGIN)]
  }

  /** Stands for rows that are not there. */
  #space(index, count) {
    const space = this.#spaces[index]
    if (!count) {
      space.remove()
      return null
    }
    space.firstChild.style.height = `${count * this.#height}px`
    if (!space.isConnected) index ? at('rows').append(space) : at('rows').prepend(space)
    else if (index && space.nextElementSibling) at('rows').append(space)
    return space
  }

  #measure() {
    const rows = [...this.#rows.values()].filter(row => !row.history).slice(0, 20)
    const sum = rows.reduce((all, { element }) => all + element.getBoundingClientRect().height, 0)
    if (rows.length) this.#height = Math.max(20, sum / rows.length)
  }

  // One row.

  #rowOf(name, isWanted) {
    const isEdited = isWanted && !this.#whyNot(name)
    const rule = this.#model.describe(name), value = this.#model.get(name)
    let row = this.#rows.get(name)
    if (row && !this.#dirty.delete(name) && row.isEdited === isEdited) return row
    const key = JSON.stringify([isEdited, kindOf(rule, value), rule ?? null])
    if (row?.key !== key && !(row && isEdited && isHeld(row.element))) {
      const made = this.#row(name, rule, value, isEdited)
      row?.element.replaceWith(made.element)
      const { history, axes, past, seen } = row ?? {}
      this.#rows.set(name, row = { ...made, key, isEdited, history, axes, past, seen })
      if (this.#open.has(name) && !row.history) this.#openHistory(row, name)
    }
    this.#fill(row, name, value)
    return row
  }

  #row(name, rule, value, isEdited) {
    const mark = otherwiseMark()
    const { title, help } = wordsOf(rule), about = [title, help].filter(Boolean).join('. ')
    const label = make('th', { scope: 'row' }, make('span', { class: 'mono', title: about || null }, name), ' ', mark,
      title && make('div', { class: 'soft title' }, title))
    const cell = make('td', { class: 'value' })
    const unit = rule?.unit && make('span', { class: 'unit soft' }, rule.unit)
    if (isEdited) {
      const reason = make('p', { 'data-reason': name, id: `reason-${name}` })
      const label = title ? `${title}, ${name}` : name
      const { element } = controlFor(name, rule, value, { label, describedBy: reason.id })
      cell.append(make('span', { class: 'control' }, element, unit), reason)
    } else if (rule?.secret) {
      cell.append(make('span', { class: 'soft', title: SECRET }, '(secret)'))
    } else {
      const isList = rule?.policy === 'list'
      cell.append(make('output', { 'data-bind': name, class: isList ? 'list' : null }), ...unit ? [unit] : [])
    }
    if (help) cell.append(make('div', { class: 'soft help' }, help))
    const canvas = typeof value === 'number' && !rule?.secret ? make('canvas', { class: 'spark' }) : null
    const version = make('td', { class: 'number version' }), age = make('td', { class: 'number age' })
    const writer = make('td', { class: 'writer' })
    const toggle = make('button', { type: 'button', class: 'plain', 'aria-expanded': String(this.#open.has(name)),
      'aria-label': `History of ${name}` }, 'History')
    toggle.addEventListener('click', () => this.#toggle(name, toggle))
    const cli = make('button', { type: 'button', class: 'plain', 'aria-label': `Copy ${name} as CLI` }, 'CLI')
    cli.addEventListener('click', () => this.#copy(commandLine(this.#model.id, [name],
      one => this.#model.get(one), one => this.#model.describe(one))))
    const { reset, remove } = isEdited ? changesOf(this.#model, name, rule, this.#aloud) : {}
    const element = make('tr', {}, label, cell, make('td', { class: 'lately' }, canvas), version, writer, age,
      make('td', { class: 'more' }, reset, remove, toggle, cli))
    return { element, mark, version, writer, age, canvas, reset, remove }
  }

  #fill(row, name, value) {
    const { id } = this.#model, { version, writer, user, time, own } = this.#model.info(name)
    markOtherwise(row.mark, this.#hub, id, name)
    put(row.version, version ? String(version) : '')
    const who = own ? 'this page' : attribution({ writer, user })
    put(row.writer, version ? who : value === undefined ? '' : 'described')
    row.writer.title = version ? `${who}, at version ${version}, ${whenWords(time)}` : ''
    put(row.age, version ? bind.age(Math.max(0, this.#histories.hubTime() - time)) : '')
    // What is only described has nothing that could be deleted.
    if (row.remove) row.remove.hidden = this.#model.undescribed(name) === undefined
    if (row.reset) row.reset.hidden = same(value, this.#model.describe(name)?.default)
    if (row.canvas) plot(row.canvas, () => this.#histories.points(id, name))
    if (!row.history) return
    const isSecret = !!this.#model.describe(name)?.secret
    // Where the hub has no history for this page, what the page itself has seen is what there is.
    row.seen.hidden = !row.past.isNone || isSecret
    if (!row.seen.hidden) this.#histories.fill(row.seen.tBodies[0], id, name)
    row.axes.fill(isSecret ? [] : this.#histories.points(id, name))
  }

  #toggle(name, button) {
    const row = this.#rows.get(name), isOpen = !this.#open.delete(name)
    if (isOpen) this.#open.add(name)
    button.setAttribute('aria-expanded', String(isOpen))
    isOpen ? this.#openHistory(row, name) : this.#closeHistory(row)
    this.#dirty.add(name)
    this.later()
  }

  #openHistory(row, name) {
    const head = ['When', 'Value', 'Version', 'Written by'].map(words => make('th', { scope: 'col' }, words))
    row.axes = new Axes(name, this.#model.describe(name)?.unit)
    row.past = new Past(this.#link, this.#model, this.#aloud, { field: name, report: () => {
      this.#dirty.add(name)
      this.later()
    } })
    row.seen = make('table', { hidden: true }, make('caption', {}, `${name}, since this page was opened`),
      make('thead', {}, make('tr', {}, ...head)), make('tbody'))
    row.history = make('tr', { class: 'history' },
      make('td', { colspan: 7 }, row.axes.element, row.past.element, row.seen))
  }

  #closeHistory(row) {
    row.past?.close()
    row.history?.remove()
    row.past = row.history = undefined
  }
}
