/** What bind.js asks for beside values: attributes, reasons with what may be done, and what a page seems to mistype. */
import { changes, moved } from './texts.js'
import { checked, same, shown, typed } from './values.js'
import './undo.js'

// Only what cannot run anything.
const ATTRIBUTES = /^(title|alt|placeholder|value|href|src|min|max|step|disabled|readonly|open|lang|dir|aria-[a-z]+)$/

/** Shows a value as an attribute; addresses only of the web. A meter goes as far as the field's description says. */
export function paintAttribute({ element, attribute }, value, rule) {
  const name = attribute.toLowerCase()
  if (!ATTRIBUTES.test(name)) return
  for (const end of name === 'value' ? ['min', 'max'] : []) {
    if (end in element && !element.bindGiven.includes(end) && rule[end] !== undefined) {
      element.setAttribute(end, bind.text(rule[end]))
    }
  }
  if ((name === 'href' || name === 'src') && !isOfTheWeb(value)) value = null
  const isFlag = typeof value === 'boolean' && !name.startsWith('aria')
  if ((value ?? null) === null || isFlag && !value) element.removeAttribute(name)
  else element.setAttribute(name, isFlag ? '' : bind.text(value))
}

function isOfTheWeb(value) {
  try { return /^https?:$/.test(new URL(bind.text(value), location.href).protocol) } catch { return false }
}

// Controls.

/** The description becomes a control's rules, where the page gave none. `bindings`: all of the page. */
export function describe(binding, rule, bindings) {
  const { element, type, model, field } = binding, { type: kind, step, choices } = rule, { text } = bind
  // The slider of what shows as a percent goes from 0 to 1, where nobody says otherwise.
  const isShare = type === 'range' && [...bindings].some(other =>
    other.model === model && other.field === field && /^percent/.test(other.element.dataset.format))
  const { min, max } = isShare ? { min: 0, max: 1, ...rule } : rule
  const give = (name, value) => {
    if (element.bindGiven.includes(name) || (element.getAttribute(name) ?? '') === text(value)) return
    value === undefined ? element.removeAttribute(name) : element.setAttribute(name, text(value))
    binding.shown = undefined
  }
  if (type === 'number' || type === 'range') {
    give('min', min)
    give('max', max)
    give('step', step ?? (kind === 'integer' ? 1 : 'any'))
  } else if (type.startsWith('select')) {
    const isOther = JSON.stringify(element.bindChoices) !== JSON.stringify(choices)
    if (choices && isOther && (element.bindChoices || !element.options.length)) {
      element.replaceChildren(...choices.map(choice => new Option(text(choice), text(choice))))
      element.bindChoices = choices
      binding.shown = undefined
    }
  }
}

/** Changes only what differs of a control's text; caret and selection stay on their letters. */
function replaceText(element, text) {
  const { value, selectionStart: start, selectionEnd: end, selectionDirection } = element
  const hunks = changes(value, text), [first] = hunks, last = hunks.at(-1)
  try {
    element.setRangeText(text.slice(first[2], last[3]), first[0], last[1])
    const from = moved(start, hunks, value, start < end)
    const to = start < end ? moved(end, hunks, value) : from
    element.setSelectionRange(from, Math.max(from, to), selectionDirection)
  } catch { element.value = text }
}

/** Shows a value in a control, unless somebody is at work there.
 *  @param info - of its field, `rule` the description. @param edits - of bind.js */
export function paintControl(binding, value, info, { isDraft, read }, rule) {
  const { element, type, isText, model, field } = binding, { text } = bind
  const isFocused = element === document.activeElement
  const words = /number|range/.test(type) ? isFinite(text(value)) ? text(value) : ''
    : model.lists?.text(field, value) ?? (isText && rule.type === 'any' ? shown(value, text) : text(value))
  if (type === 'color' && !/^#\w{6}$/.test(words) || type === 'range' && !words) return
  // What is being typed, was refused, or says the same otherwise is let alone.
  if (isDraft(binding) || isFocused && binding.isComposing) return
  if (!info.state) binding.isMine = false
  binding.seen = value
  if (isFocused && isText && same(read(binding).value, value)) return
  if (type === 'checkbox') element.checked = value === true
  else if (type === 'radio') element.checked = element.value === words
  else if (type === 'select-multiple') {
    const chosen = (Array.isArray(value) ? value : []).map(text)
    for (const option of element.options) option.selected = chosen.includes(option.value)
  } else if (element.value !== words && binding.shown !== words) {
    if (isText && isFocused) replaceText(element, words)
    else element.value = words
    binding.shown = words
  }
}

// Reasons.

function remedy(words, call) {
  const button = document.createElement('button')
  return Object.assign(button, { type: 'button', textContent: words, onclick: call })
}

/**
 * Says why something is not written, and what may be done about it: it is written after all, or given up.
 * @param edits - of bind.js: the bound `controls`, which of them hold a draft, and what ends one.
 */
export function paintReason({ element, model, field }, { reason = '', refusal }, edits) {
  const { controls, isDraft, edited, dropEdit } = edits
  const drafts = () => [...controls.values()].filter(one => one.model === model && one.field === field && isDraft(one))
  const offers = refusal && reason === refusal.reason, isWhole = offers && (refusal.isWhole || 'value' in refusal)
  const words = `${offers} ${isWhole} ${reason}`
  // A button that somebody is on stays.
  if (element.bindReason === words) return
  element.bindReason = words
  element.replaceChildren(reason)
  if (isWhole) element.append(' ', remedy('Write mine', () => {
    const [draft] = drafts()
    if (draft) edited(draft)
    else if (model.refusals.has(field)) model.set(field, model.refusals.get(field).value)
  }))
  if (offers) element.append(' ', remedy('Take theirs', () => {
    model.refusals.delete(field)
    for (const draft of drafts()) dropEdit(draft)
    model.touch(field)
  }))
}

// What is mistyped.

const WHEN = /^(input|change|blur|enter)$/

/** Says once in the console what of an element's attributes is likely to be a slip. */
export function doubt(binding) {
  const { element, model, attribute } = binding, { format, bindOn } = element.dataset, { formats } = bind
  if (binding.isDoubted || model.state !== 'current') return
  binding.isDoubted = true
  const warn = words => console.warn(`bind.js: ${words}`, element)
  const name = format?.split(':')[0]
  if (name && !formats[name]) warn(`data-format="${format}": the formats are ${Object.keys(formats).join(', ')}`)
  if (bindOn && !WHEN.test(bindOn)) warn(`data-bind-on="${bindOn}": the events are input, change, blur, enter`)
  if (attribute && !ATTRIBUTES.test(attribute.toLowerCase())) warn(`data-bind-attr="${attribute}" cannot be bound`)
  doubtField(binding)
}

/** The same of the field that an element names. */
export function doubtField({ element, model, field, part }) {
  const warn = words => console.warn(`bind.js: ${words}`, element)
  if (part?.includes('.')) warn(`${field}.${part}: only a direct member of an object can be bound`)
  if (model.get(field) !== undefined || model.describe(field)) return
  // What is not described is free; but one of these was probably meant.
  const described = Object.keys(model.get('@description')?.fields ?? {})
  const near = described.find(other => isNear(field.toLowerCase(), other.toLowerCase()))
  if (near) warn(`${model.id} describes no field '${field}'; did you mean '${near}'?`)
}

/** Whether a letter of three is wrong, missing, too many, or in its neighbour's place. */
function isNear(one, other) {
  let before = [], row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < other.length; j++) {
      const isSwapped = i > 0 && j > 0 && one[i] === other[j - 1] && one[i - 1] === other[j]
      next.push(Math.min(row[j] + (one[i] !== other[j]), row[j + 1] + 1, next[j] + 1,
        isSwapped ? before[j - 1] + 1 : Infinity))
    }
    [before, row] = [row, next]
  }
  return row[other.length] <= Math.max(1, Math.floor(one.length / 3))
}

// What it says.

/** What a control says, but for a checkbox: { value }, { problem }, or {} for what is half typed.
 *  @param rule - of its field. @param old - what shows there */
export function read({ element, type }, rule, old) {
  if (type === 'radio' && !element.checked) return {}
  if (type === 'select-multiple') return { value: [...element.selectedOptions].map(option => option.value) }
  const { validity, value } = element
  if (validity.badInput) return {}
  const choice = rule.choices?.find(choice => bind.text(choice) === value)
  const result = choice !== undefined ? { value: choice } : value === '' && rule.default === null ? { value: null }
    : typed(value, /number|range/.test(type) ? 'number' : rule.type, old)
  if ('value' in result && !validity.valid) return { problem: element.validationMessage }
  return checked(result, value, rule)
}

// How it stands.

/** What is the case with the value of an element: pending, refused and why, not to be written. What was typed for
 *  another member of an object does not concern it. */
export function mark(binding, info) {
  const { element, title, isControl, isDirty } = binding
  const { part, model, field } = binding, isOfOther = (info.refusal?.part ?? part) !== part && !model.pending(field)
  let { state = isDirty ? 'draft' : undefined, readOnly, reason } = isOfOther ? { readOnly: info.readOnly } : info
  if (isControl) reason ??= readOnly
  if (isControl && !element.bindGiven.includes('disabled')) element.disabled = !!readOnly
  if ((element.dataset.state ?? '') === (state ?? '') && (element.title || '') === (reason ?? title ?? '')) return
  state ? element.dataset.state = state : delete element.dataset.state
  if (isControl) element.ariaInvalid = state === 'refused' ? 'true' : null
  reason ?? title ? element.title = reason ?? title : element.removeAttribute('title')
}

let soon

/** The lights of links. @param linkOf - the link of an element. @param paintLater - of bind.js */
export function paintLights(linkOf, paintLater) {
  clearTimeout(soon)
  for (const light of document.querySelectorAll('[data-light]')) {
    const link = linkOf(light), { count, age: waiting } = link.unconfirmed(), writes = count && `${count} unconfirmed`
    const blind = [...link.models.values()].filter(model => model.blocked && model.id !== '@hub')
    const state = !link.isLive ? 'offline' : blind.length ? 'blocked' : waiting > 150 ? 'pending' : 'live'
    if (light.dataset.state !== state) light.dataset.state = state
    const words = state === 'live' ? 'live'
      : state === 'blocked' ? `live, without ${blind.length === 1 ? blind[0].id : `${blind.length} models`}`
      : state === 'pending' ? `${writes}, ${bind.age(waiting)}`
      : [`offline ${bind.age(performance.now() - link.since)}`, writes, link.problem].filter(Boolean).join(', ')
    if (light.textContent !== words) light.textContent = words
    if (count && link.isLive) soon = setTimeout(paintLater, 160)
  }
}

/** A socket that was refused does not say why; the page does. */
export async function askWhy(link) {
  try {
    const { status } = await fetch(location.pathname, { method: 'HEAD', cache: 'no-store' })
    link.problem = /401|403/.test(status) ? 'not signed in: run bindhub web and open the address' : ''
  } catch { link.problem = '' }
  link.notify('state')
}
