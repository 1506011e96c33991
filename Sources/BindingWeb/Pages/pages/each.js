/**
 * Rows for the elements of a list: <template data-each="cues"> with one element inside, and buttons that insert, move
 * and remove. A row is the same element of the document as long as its id is in the list, wherever it moves to: focus,
 * caret, selection and scroll positions in it stay.
 */
import { doubt } from './elements.js'
import { idOf, longestRun } from './list-steps.js'

const BUTTONS = '[data-insert], [data-remove], [data-move]'
const everywhere = new Set()             // the Rows of all templates

/** Somebody types in it. */
const isHeld = row => row.contains(document.activeElement) && !!bind.edits.controls.get(document.activeElement)?.isText

/** Puts a row elsewhere, with the scroll positions in it where the browser does not keep them. */
function place(parent, row, next) {
  if (row.isConnected && parent.moveBefore) return parent.moveBefore(row, next)
  const scrolled = [row, ...row.querySelectorAll('textarea')].map(one => [one, one.scrollTop])
  parent.insertBefore(row, next)
  for (const [one, top] of scrolled) if (top) one.scrollTop = top
}

class Rows {
  #template
  #rows = new Map()                      // key → row
  #gone = new Set()                      // rows of removed elements, in which somebody types
  #keys                                  // as drawn last
  #why                                   // why nothing may be written, as drawn last
  #wanted                                // the key of the row that gets the focus once it is there

  constructor({ element, model, field }) {
    Object.assign(this, { model, field })
    this.#template = element
    if (element.content.childElementCount === 1) return
    console.warn('bind.js: a template with data-each has one element', element)
  }

  get keys() { return this.model.lists?.keys(this.field) ?? [] }
  has(row) { return this.#rows.get(row.bindRow?.key) === row }
  rowAt(key) { return this.#rows.get(key) }

  /** Makes the rows what the list shows. `scan` binds new ones. */
  draw(scan) {
    const { keys } = this, why = this.model.info(this.field).readOnly, isLockDue = why !== this.#why
    if (keys === this.#keys && !isLockDue && [...this.#gone].every(isHeld)) return
    this.#keys = keys
    this.#why = why
    const wanted = new Set(keys)
    for (const [key, row] of this.#rows) if (!wanted.has(key)) this.#remove(key, row)
    const added = keys.filter(key => !this.#rows.has(key)).map(key => this.#add(key))
    for (const row of this.#gone) if (wanted.has(row.bindRow.key)) this.#setGone(row, false)
    this.#arrange(keys.map(key => this.#rows.get(key)))
    if (isLockDue) this.#lock([...this.#rows.values()])
    else if (why) this.#lock(added)
    if (added.length) scan(added)
    if (this.#rows.has(this.#wanted)) this.#rows.get(this.#wanted).querySelector('input, textarea, select')?.focus()
    this.#wanted = undefined
  }

  #add(key) {
    const row = this.#template.content.firstElementChild.cloneNode(true)
    row.dataset.row = key
    row.bindRow = { field: `${this.field}@${key}`, key, isGone: false, title: row.title }
    this.#rows.set(key, row)
    return row
  }

  /** A row in which somebody types stays until the focus leaves it: what is typed is not to go elsewhere. */
  #remove(key, row) {
    if (isHeld(row)) return this.#setGone(row, true)
    this.#gone.delete(row)
    this.#rows.delete(key)
    row.remove()
  }

  #setGone(row, isGone) {
    row.bindRow.isGone = isGone
    this.#gone[isGone ? 'add' : 'delete'](row)
    row.toggleAttribute('data-removed', isGone)
    row.title = isGone ? 'removed by another writer' : row.bindRow.title
    for (const control of row.querySelectorAll('input, textarea')) {
      if (!control.bindGiven?.includes('readonly')) control.readOnly = isGone
    }
  }

  /** Moves the fewest rows, and never the one that has the focus. */
  #arrange(rows) {
    const parent = this.#template.parentNode, places = new Map([...parent.children].map((one, index) => [one, index]))
    const held = rows.findIndex(row => row.contains(document.activeElement)), at = places.get(rows[held])
    const stays = longestRun(rows.map((row, index) => {
      const place = places.get(row)
      return at === undefined || index === held || index < held === place < at ? place : undefined
    }))
    let before = this.#template
    rows.forEach((row, index) => {
      if (!stays[index]) place(parent, row, before.nextSibling)
      before = row
    })
  }

  /** Buttons of what may not be written are off, and say why. */
  #lock(rows) {
    const container = this.#template.closest('[data-model]')
    const inserts = [...container?.querySelectorAll(`[data-insert="${CSS.escape(this.field)}"]`) ?? []]
      .flatMap(one => one.matches('form') ? [...one.querySelectorAll('button')] : one)
    for (const button of [...rows.flatMap(row => [...row.querySelectorAll(BUTTONS)]), ...inserts]) {
      button.disabled = !!this.#why
      button.title = this.#why ?? ''
    }
  }

  /** The row of an element that is about to be inserted gets the focus. */
  focusLater(key) { this.#wanted = key }

  end() {
    for (const row of this.#rows.values()) row.remove()
    this.#rows.clear()
    everywhere.delete(this)
  }
}

/** Shows a row an element from now on; returns its end. `binding.draw` makes them what they are to be. */
export function follow(binding) {
  const { element, row } = binding
  if (row) return console.warn(`bind.js: data-each in a row: a list in an element is plain JSON`, element)
  const all = new Rows(binding)
  everywhere.add(all)
  binding.draw = scan => {
    doubt(binding)
    all.draw(scan)
  }
  return () => all.end()
}

const rowsOf = row => [...everywhere].find(one => one.has(row))

// Buttons.

function remove(button, row, { model, field, keys }) {
  // The focus goes on to the same button of the next row, or of the one before.
  const neighbour = row.nextElementSibling?.bindRow ? row.nextElementSibling : row.previousElementSibling
  if (button === document.activeElement) neighbour?.querySelector?.('[data-remove]')?.focus()
  if (keys.includes(row.bindRow.key)) model.lists.remove(field, row.bindRow.key)
}

function move(button, row, { model, field, keys }) {
  const { key } = row.bindRow, index = keys.indexOf(key), last = keys.length - 1
  const after = { up: keys[index - 2] ?? null, down: keys[index + 1], first: null, last: undefined }
  const { move: where } = button.dataset
  if (!(where in after)) return console.warn(`bind.js: data-move="${where}": up, down, first or last`, button)
  if (index < 0 || index === (/up|first/.test(where) ? 0 : last)) return
  model.lists.move(field, key, after[where])
}

/** An id of its own: of the kind of those that there are, else of the kind that is wanted. Other pages make theirs at
 *  the same time, so it is random. */
export function freshId(elements, wanted = 'number') {
  const ids = elements.map(element => element?.id).filter(id => id !== undefined)
  const areTexts = ids.length ? ids.every(id => typeof id === 'string') : wanted !== 'number'
  const areUUIDs = ids.length ? ids.every(id => /^[\dA-F]{8}-/.test(id)) : wanted === 'uuid'
  const [high, low, ...more] = crypto.getRandomValues(new Uint32Array(4))
  if (!areTexts) return (high & 0x1fffff) * 2 ** 32 + low
  const digits = [high, low, ...more].map(one => one.toString(16).padStart(8, '0')).join('')
  const uuid = `${digits.slice(0, 12)}4${digits.slice(13, 16)}8${digits.slice(17)}`
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-').toUpperCase()
  return areUUIDs ? uuid : digits.slice(0, 16)
}

/** What the named controls of a form say. */
function valuesOf(form) {
  const values = {}
  for (const { name, type, value, checked, valueAsNumber, selectedOptions } of form.elements) {
    if (!name || /button|submit|reset|file|image/.test(type) || type === 'radio' && !checked) continue
    if (type === 'checkbox') values[name] = checked
    else if (type === 'select-multiple') values[name] = [...selectedOptions].map(option => option.value)
    else if (!/number|range/.test(type)) values[name] = value
    else if (!isNaN(valueAsNumber)) values[name] = valueAsNumber
  }
  return values
}

/** Inserts an element: at the end, or after the row that the button is in. */
function insert(source) {
  const row = source.closest('[data-row]'), { insert: name, value = '{}', newId } = source.dataset
  const [all] = [...everywhere].filter(one => row ? one.has(row)
    : one.field === name && one.model.id === source.closest('[data-model]')?.dataset.model
      && one.model.link === bind.link(source.closest('[data-link]')?.dataset.link))
  if (!all) return console.warn(`bind.js: data-insert="${name}": there is no template with data-each for it`, source)
  const { model, field } = all, before = all.keys, isForm = source.matches('form')
  const given = isForm ? valuesOf(source) : JSON.parse(value)
  const isKnown = typeof given !== 'object' || given === null || before[0]?.startsWith('#') || idOf(given) !== undefined
  const element = isKnown ? given : { ...given, id: freshId(model.get(field) ?? [], newId) }
  model.lists.insert(field, element, row?.bindRow.key)
  // It shows at once, unless it cannot be inserted.
  if (all.keys === before) return
  if (isForm) source.reset()
  else all.focusLater(idOf(element) ?? all.keys.find(key => !before.includes(key)))
}

document.addEventListener('click', event => {
  const button = event.target.closest?.(BUTTONS)
  if (!button || button.disabled || button.matches('form')) return
  if ('insert' in button.dataset) return insert(button)
  const row = button.closest('[data-row]'), all = row && rowsOf(row)
  if (!all) return
  if ('remove' in button.dataset) remove(button, row, all)
  else move(button, row, all)
})
document.addEventListener('submit', event => {
  if (!event.target.matches('form[data-insert]')) return
  event.preventDefault()
  insert(event.target)
})
// What had stayed for the focus goes with it.
document.addEventListener('focusout', event => {
  const row = event.target.closest?.('[data-removed]'), all = row && rowsOf(row)
  if (all) setTimeout(() => all.model.touch(all.field))
})
