/** The rows and columns of `/table/PREFIX`, with live controls when they are edited, for mouse and keyboard. */
import { controlFor, kindOf, make, namesOf, shown, wordsOf } from '/fields.js'
import { oncePerFrame } from '/frames.js'

const at = id => document.getElementById(id)
const drafts = () => bind.drafts()

export class Grid {
  models = []                            // that are shown, in the order of their ids
  columns = []                           // names of fields, in the order of the descriptions
  changed = () => {}                     // is called when there may be other models to show, or nothing to edit
  #prefix
  #forAll
  #rows = new Map()                      // id → { element, cells: Map of name → { key, element } }
  #order = []                            // ids, as the rows stand
  #sorted = null                         // { name, isDown } of the column by which they were sorted; '' is the model
  #dirty = new Set()                     // ids of rows whose cells may be others
  #isEdited = false
  #later = oncePerFrame(() => this.#draw())
  #current = null                        // the cell that the keyboard is in

  constructor({ prefix, forAll }) {
    this.#prefix = prefix
    this.#forAll = forAll
    at('table').addEventListener('keydown', event => this.#press(event))
    at('table').addEventListener('focusin', event => this.#enter(event.target.closest('th, td')))
    bind.link().on(what => { if (what === 'error') this.#all() })
  }

  /** Shows these models. Those that are new stand behind the others until the rows are sorted again. */
  show(models) {
    this.models = models
    const ids = new Set(models.map(({ id }) => id)), there = new Set(this.#order)
    const isSorted = this.#sorted !== null && this.#sorted.name !== ''
    this.#order = isSorted ? [...this.#order.filter(id => ids.has(id)), ...[...ids].filter(id => !there.has(id))]
      : this.#sorted?.isDown ? [...ids].reverse() : [...ids]
    for (const [id, { element }] of this.#rows) {
      if (ids.has(id)) continue
      element.remove()
      this.#rows.delete(id)
    }
    for (const id of ids) if (!this.#rows.has(id)) this.#dirty.add(id)
    this.#later()
  }

  /** What was told of a model. */
  take(id, changed) {
    const row = this.#rows.get(id)
    // A value alone is drawn by its binding.
    const isOther = !row || changed.some(name => name === '@description' || !row.cells.has(name)
      || row.cells.get(name).key !== this.#keyOf(this.#model(id), name))
    if (!isOther) return
    this.#dirty.add(id)
    this.#later()
    this.changed()
  }

  edit(isEdited) {
    this.#isEdited = isEdited
    this.#all()
  }

  /** Whether somebody is in a row, or has left something in it that is not written. */
  isHeld(id) {
    const element = this.#rows.get(id)?.element, active = document.activeElement
    return !!element && (element.contains(active) && active.matches('input, select, textarea')
      || drafts().some(one => element.contains(one)))
  }

  /** Why nothing here may be written; '': something may. */
  whyNot() {
    const why = this.models.flatMap(model => namesOf(model).map(name => model.info(name).readOnly ?? ''))
    return why.length && why.every(Boolean) ? why[0] : ''
  }

  /** The models that have a field, and in which it may be written. */
  writable(name) {
    return this.models.filter(model => isThere(model, name) && !model.info(name).readOnly
      && kindOf(model.describe(name), model.get(name)) !== 'fixed')
  }

  focusFirst() { this.#focus(at('rows').rows[0]?.cells[0]) }

  // Drawing.

  #model(id) { return bind.link().model(id) }

  #all() {
    for (const { id } of this.models) this.#dirty.add(id)
    this.#later()
  }

  #draw() {
    this.#findColumns()
    for (const id of this.#dirty) if (this.models.some(model => model.id === id)) this.#drawRow(this.#model(id))
    this.#dirty.clear()
    let before = null
    for (const id of this.#order) {
      const { element } = this.#rows.get(id) ?? {}
      if (!element) continue
      const isInPlace = element.isConnected && element.previousElementSibling === before
      if (!isInPlace) before ? before.after(element) : at('rows').prepend(element)
      before = element
    }
    if (!this.#current?.isConnected) this.#setCurrent(at('rows').rows[0]?.cells[0])
  }

  #findColumns() {
    const names = columnsOf(this.models.map(namesOf))
    const heads = [this.#sorted, this.#isEdited, ...names.map(name => [name, this.#ruleOf(name)])]
    const key = JSON.stringify(heads)
    if (at('heads').dataset.key === key) return
    at('heads').dataset.key = key
    if (names.join() !== this.columns.join()) for (const { id } of this.models) this.#dirty.add(id)
    this.columns = names
    const focused = document.activeElement?.closest?.('#heads button')
    at('heads').replaceChildren(this.#head('', 'Model'), ...names.map(name => this.#head(name)))
    if (focused) [...at('heads').querySelectorAll('button')].find(one => one.id === focused.id)?.focus()
  }

  /** What is described of a field by the first model that has it. */
  #ruleOf(name) {
    const model = this.models.find(model => model.describe(name))
    return model?.describe(name) ?? null
  }

  #head(name, words) {
    const rule = this.#ruleOf(name), { title, help } = wordsOf(rule)
    const isSorted = this.#sorted?.name === name
    const sort = make('button', { type: 'button', class: 'plain', id: `sort-${name}`, title: help || null },
      words ?? (title || name))
    sort.addEventListener('click', () => this.#sort(name))
    const unit = rule?.unit && make('span', { class: 'unit soft' }, ` ${rule.unit}`)
    const all = this.#isEdited && name && rule?.readOnly !== true && make('button', {
      type: 'button', class: 'all', id: `all-${name}`, 'aria-label': `Set ${title || name} of all models` }, 'All …')
    if (all) all.addEventListener('click', () => this.#forAll(name))
    return make('th', {
      scope: 'col', 'aria-sort': isSorted ? this.#sorted.isDown ? 'descending' : 'ascending' : null,
    }, sort, unit || null, all || null)
  }

  /** Rows are sorted when that is asked for, and not under somebody's hands. */
  #sort(name) {
    const isDown = this.#sorted?.name === name && !this.#sorted.isDown
    this.#sorted = { name, isDown }
    const value = model => name === '' ? model.id : model.isSecret(name) ? undefined : model.get(name)
    const sorted = [...this.models].sort((one, other) => {
      const [first, second] = [value(one), value(other)], areMissing = [first, second].map(each => each === undefined)
      if (areMissing[0] !== areMissing[1]) return areMissing[0] ? 1 : -1   // no value is last, either way
      return (isDown ? -1 : 1) * compared(first, second) || compared(one.id, other.id)
    })
    this.#order = sorted.map(({ id }) => id)
    this.#later()
  }

  #keyOf(model, name) {
    const rule = model.describe(name)
    if (!isThere(model, name)) return 'missing'
    return JSON.stringify([this.#isEdited && !model.info(name).readOnly, kindOf(rule, model.get(name)), rule ?? null])
  }

  #drawRow(model) {
    const { id } = model
    let row = this.#rows.get(id)
    if (!row) {
      const words = id.slice(this.#prefix.length)
      const head = make('th', { scope: 'row', role: 'rowheader', tabindex: -1 },
        make('a', { href: `/form/${id}`, title: id, tabindex: -1 }, words), make('span', { class: 'soft state' }))
      row = { element: make('tr', { 'data-model': id }, head), cells: new Map() }
      this.#rows.set(id, row)
    }
    const { blocked, state, link } = model
    const says = blocked ? ` ${blocked.text}` : state === 'current' || !link.isLive ? '' : ' loading …'
    row.element.querySelector('.state').textContent = says
    let before = row.element.firstElementChild
    for (const name of this.columns) {
      const cell = this.#drawCell(model, name, row)
      if (before.nextElementSibling !== cell) before.after(cell)
      before = cell
    }
    for (const [name, { element }] of row.cells) {
      if (!this.columns.includes(name)) element.remove(), row.cells.delete(name)
    }
  }

  #drawCell(model, name, row) {
    const key = this.#keyOf(model, name), old = row.cells.get(name)
    const isHeld = old && (old.element.contains(document.activeElement) && document.activeElement !== old.element
      || drafts().some(one => old.element.contains(one)))
    if (old && (old.key === key || isHeld)) return old.element
    const element = old?.element ?? make('td', { role: 'gridcell', tabindex: -1 })
    element.replaceChildren(...this.#contentOf(model, name))
    row.cells.set(name, { key, element })
    return element
  }

  #contentOf(model, name) {
    const rule = model.describe(name), value = model.get(name)
    if (!isThere(model, name)) return [make('span', { class: 'soft', title: 'This model has no such field' }, '·')]
    if (!this.#isEdited || model.info(name).readOnly) {
      return [rule?.secret ? make('span', { class: 'soft' }, '(secret)') : make('output', { 'data-bind': name })]
    }
    const reason = make('p', { 'data-reason': name, id: `reason-${model.id}-${name}` })
    // A slider has no room here; of a number as it is typed all digits are seen.
    const narrow = kindOf(rule, value) === 'range' ? { ...rule, widget: 'number' } : rule
    const label = `${wordsOf(rule).title || name} of ${model.id}`
    return [controlFor(name, narrow, value, { label, describedBy: reason.id }).element, reason]
  }

  // The keyboard: arrows lead from cell to cell, Enter into a control and below it, Escape back to its cell.

  #enter(cell) { if (cell?.closest('#rows')) this.#setCurrent(cell) }

  #setCurrent(cell) {
    if (this.#current) this.#current.tabIndex = -1
    this.#current = cell ?? null
    if (cell) cell.tabIndex = 0
  }

  #focus(cell, isInside) {
    if (!cell) return
    this.#setCurrent(cell)
    const control = isInside && cell.querySelector('input, select, textarea, a')
    ;(control || cell).focus()
    if (control?.select && control.type !== 'checkbox') control.select()
    cell.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }

  #press(event) {
    const { key, target } = event, cell = target.closest('#rows > tr > *')
    if (!cell || event.ctrlKey && !/Home|End/.test(key) || event.metaKey || event.altKey) return
    const row = cell.parentElement, { rows } = at('rows'), index = cell.cellIndex, place = row.sectionRowIndex
    const cellAt = (row, column) => rows[row]?.cells[column]
    if (target !== cell) {
      if (key === 'Escape') this.#focus(cell)
      else if (key === 'Enter' && target.matches('input, select')) {
        this.#focus(cellAt(place + (event.shiftKey ? -1 : 1), index) ?? cell, true)
      } else return
      return event.preventDefault()
    }
    const moves = {
      ArrowDown: () => cellAt(place + 1, index), ArrowUp: () => cellAt(place - 1, index),
      ArrowRight: () => cellAt(place, index + 1), ArrowLeft: () => cellAt(place, index - 1),
      Home: () => cellAt(event.ctrlKey ? 0 : place, 0),
      End: () => cellAt(event.ctrlKey ? rows.length - 1 : place, row.cells.length - 1),
      PageDown: () => cellAt(Math.min(place + 10, rows.length - 1), index),
      PageUp: () => cellAt(Math.max(place - 10, 0), index),
    }
    if (key === 'Enter' || key === 'F2') this.#focus(cell, true)
    else if (moves[key]) this.#focus(moves[key]())
    else return
    event.preventDefault()
  }
}

/** The fields of all models in their orders. One that only later models have stands behind the one that it follows in
 *  these, or else before the next one that others have. */
function columnsOf(orders) {
  const names = []
  for (const order of orders) {
    for (const [index, name] of order.entries()) {
      if (names.includes(name)) continue
      const next = order.slice(index).find(one => names.includes(one))
      const place = index > 0 ? names.indexOf(order[index - 1]) + 1 : next ? names.indexOf(next) : names.length
      names.splice(place, 0, name)
    }
  }
  return names
}

/** Whether a model has a field at all. */
const isThere = (model, name) => model.get(name) !== undefined || model.describe(name) !== undefined

/** By number where both are numbers, else as they are shown: `kiosk-2` is before `kiosk-10`. */
export function compared(one, other) {
  if (typeof one === 'number' && typeof other === 'number') return one - other
  return String(shown(one)).localeCompare(String(shown(other)), undefined, { numeric: true })
}
