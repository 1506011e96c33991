/**
 * Buttons that write when they are pressed, without a script: data-set="on=true level=0.5", data-add="count=1",
 * data-toggle="on", data-delete="note". All that one button writes is one commit, and one step of undo.
 */
import { doubtField } from './elements.js'
import { checked, isNumber, same, sum, typed } from './values.js'

const BUTTONS = 'button, input:is([type=button], [type=submit], [type=image])'
const pressed = new Map()                // element → its Button

// What an attribute says.

/** Where a value ends: a text in quotes, a list and an object where their JSON does, any other at the next space. */
function endOfValue(words, start) {
  if (!/["[{]/.test(words[start] ?? '')) return start + words.slice(start).search(/\s|$/)
  let depth = 0, isQuoted = false
  for (let index = start; index < words.length; index++) {
    const letter = words[index]
    if (isQuoted && letter === '\\') index++
    else if (letter === '"') isQuoted = !isQuoted
    else if (!isQuoted && /[[{]/.test(letter)) depth++
    else if (!isQuoted && /[\]}]/.test(letter)) depth--
    if (!isQuoted && depth === 0) return index + 1
  }
  throw Error(`${words.slice(start)} does not end`)
}

/** The names of an attribute and their values, as text: [{ name, words }]. Throws what is mistyped. */
function assignments(what, attribute) {
  const found = []
  for (let at = 0; (at += attribute.slice(at).search(/\S|$/)) < attribute.length;) {
    const [name] = /^(\[[^\]]*\]|[^\s=[])*/.exec(attribute.slice(at)), isAssigned = attribute[at + name.length] === '='
    if (!name) throw Error(`${attribute.slice(at)} does not begin with the name of a field`)
    at += name.length
    if (isAssigned && /toggle|delete/.test(what)) throw Error(`${name} takes no value`)
    if (!isAssigned && what === 'set') {
      throw Error(`${name} has no value; a field is followed by = and its value, and a text with spaces is in quotes`)
    }
    const start = isAssigned ? at + 1 : at, end = isAssigned ? endOfValue(attribute, start) : at
    const rest = attribute.slice(end)
    if (/^\S/.test(rest)) throw Error(`a space is missing before ${rest}`)
    found.push({ name, words: isAssigned ? attribute.slice(start, end) : '1' })
    at = end
  }
  if (!found.length) throw Error('it names no field')
  return found
}

/** What is written of a value: as the type that the description declares, else as JSON, else as text. { value } or
 *  { problem }. */
export function valueOf(words, rule) {
  const { type, choices, default: unset } = rule, choice = choices?.find(choice => bind.text(choice) === words)
  if (choice !== undefined) return { value: choice }
  if (words === 'null' && unset === null) return { value: null }
  if (type === 'boolean') return /^(true|false)$/.test(words) ? { value: words === 'true' }
    : { problem: `${words} is neither true nor false` }
  if (type === 'number' || type === 'integer') return numberOf(words)
  const isText = type === 'string', isQuoted = words[0] === '"'
  const result = isText && !isQuoted ? { value: words } : typed(words, isText ? 'any' : type ?? 'any')
  return checked(result, bind.text(result.value), rule)
}

function numberOf(words) {
  const result = typed(words, 'number')
  return 'value' in result ? result : { problem: `${words} is not a number` }
}

/** One field that a button writes. */
class Target {
  /** @param binding - of bind.js. @param assignment - { name, words } */
  constructor({ element, model, row, what }, { name, words }) {
    const [, path, , member] = /^((?:\[[^\]]*\]|[^.[])*)(\.(.*))?$/s.exec(name)
    Object.assign(this, { element, model, what, words })
    this.name = row?.field ?? path.replace(/\[id=(.*)\]$/, '@$1')
    this.part = row ? [path, member].filter(Boolean).join('.') : member
  }

  get field() { return this.model.stored(this.name) }
  /** The field under which refusals are noted. */
  get home() { return this.model.lists?.home(this.field) ?? this.field }
  get rule() { return !this.part && this.model.describe(this.field) || {} }
  get shown() {
    const value = this.model.get(this.field)
    return this.part ? value?.[this.part] : value
  }

  /** Says once what is likely to be a slip. */
  doubt() {
    if (this.isDoubted || this.model.state !== 'current') return
    this.isDoubted = true
    doubtField(this)
    const { problem } = this.what === 'set' ? valueOf(this.words, this.rule) : {}
    if (problem) console.warn(`bind.js: data-set of ${this.name}: ${problem}`, this.element)
  }

  /** What becomes of it: { value }, { operation } where the hub calculates, or { problem }. */
  get result() {
    const { what, words, shown, field } = this
    if (what === 'set') return valueOf(words, this.rule)
    if (what === 'toggle') return { value: !shown }
    if (what === 'delete') return { value: undefined }
    const { value, problem } = numberOf(words)
    if (problem) return { problem }
    // An element is written whole, and so is an object.
    if (!this.part && !/.@/.test(field)) return { operation: ['add', field, this.#addend(value)] }
    if (shown !== undefined && !isNumber(shown)) return { problem: `${bind.text(shown)} is not a number` }
    return { value: sum(shown ?? 0, value) }
  }

  /** The hub adds to nothing where a described default shows. */
  #addend(value) {
    const { default: unset } = this.rule
    return this.model.undescribed(this.field) === undefined && isNumber(unset) ? sum(unset, value) : value
  }
}

// Buttons.

class Button {
  bindings = new Set()
  waiting = 0                            // writes without an outcome
  refusals = []                          // [field, refusal] of the last write

  constructor({ element, title, model }) { Object.assign(this, { element, title, model }) }

  get targets() { return [...this.bindings].flatMap(({ targets }) => targets) }

  draw() {
    const { element, model, targets, waiting } = this, { bind: isBound, bindAttr } = element.dataset
    const isOurs = name => !element.bindGiven.includes(name) && bindAttr !== name
    for (const binding of this.bindings) binding.fields = binding.targets.map(({ home }) => home)
    for (const target of targets) target.doubt()
    const readOnly = targets.map(({ field }) => model.info(field).readOnly).find(Boolean)
    const [, refusal] = this.refusals.find(([field, refusal]) => model.refusals.get(field) === refusal) ?? []
    const why = refusal?.reason ?? model.blocked?.text
    const state = waiting ? model.link.isLive ? 'pending' : 'offline' : why && 'refused'
    if (isOurs('disabled')) element.disabled = !!readOnly
    element.ariaInvalid = state === 'refused' ? 'true' : null
    const isToggle = targets.length === 1 && targets[0].what === 'toggle'
    if (isToggle && isOurs('aria-pressed')) element.ariaPressed = String(!!targets[0].shown)
    // What it shows besides has a state of its own.
    if (isBound !== undefined) return
    state ? element.dataset.state = state : delete element.dataset.state
    const words = readOnly ?? why ?? this.title
    words === null ? element.removeAttribute('title') : element.title = words
  }

  /** Writes all in one commit, or nothing. */
  async press() {
    const { model, targets } = this
    if ([...this.bindings].some(({ row }) => row?.isGone)) return
    const values = {}, operations = []
    for (const target of targets) {
      const { field, part, result } = target, { value, problem, operation } = result
      const whole = field in values ? values[field] : model.get(field)
      if (problem) return this.#refuse(target, problem)
      if (part && whole && typeof whole !== 'object') return this.#refuse(target, `${target.name} has no members`)
      if (operation) operations.push(operation)
      else values[field] = part ? { ...whole, [part]: value } : value
    }
    for (const field of Object.keys(values)) {
      // What is there is not written again.
      const there = values[field] === undefined ? model.undescribed(field) : model.get(field)
      if (!same(values[field], there)) continue
      delete values[field]
      if (model.refusals.delete(field)) model.touch(field)
    }
    if (!operations.length && !Object.keys(values).length) return
    const write = () => model.change(values, { operations })
    await this.#follow(model.steps ? model.steps.group(write) : write())
  }

  #refuse({ model, home, part }, reason) {
    model.refusals.set(home, { reason, part })
    this.#note()
    model.touch(home)
  }

  async #follow(outcome) {
    this.waiting++
    this.refusals = []
    this.draw()
    const { kind } = await outcome
    this.waiting--
    if (/refused|conflict|expired|unknown/.test(kind)) this.#note()
    this.draw()
  }

  #note() {
    const { refusals } = this.model
    this.refusals = this.targets.flatMap(({ home }) => refusals.has(home) ? [[home, refusals.get(home)]] : [])
  }

  /** The element is as the page gave it. */
  end() {
    const { element, title } = this
    pressed.delete(element)
    if (!element.bindGiven.includes('disabled')) element.disabled = false
    if (!element.bindGiven.includes('aria-pressed')) element.ariaPressed = null
    element.ariaInvalid = null
    delete element.dataset.state
    title === null ? element.removeAttribute('title') : element.title = title
  }
}

/** Has a button write what an attribute says; returns its end. */
export function follow(binding) {
  const { element, what } = binding, attribute = element.dataset[what]
  const warn = words => console.warn(`bind.js: data-${what}="${attribute}": ${words}`, element)
  if (!element.matches(BUTTONS)) return warn('only buttons write when they are pressed')
  try {
    binding.targets = assignments(what, attribute).map(assignment => new Target(binding, assignment))
  } catch (error) { return warn(error.message) }
  const button = pressed.get(element) ?? new Button(binding)
  pressed.set(element, button)
  button.bindings.add(binding)
  binding.draw = () => button.draw()
  return () => {
    button.bindings.delete(binding)
    if (!button.bindings.size) button.end()
  }
}

document.addEventListener('click', ({ target, defaultPrevented }) => {
  const button = pressed.get(target.closest?.(BUTTONS))
  if (button && !defaultPrevented) button.press()
})
