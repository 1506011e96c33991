/** Controls for fields, chosen by the description of a model, or by what is there. They are bound by bind.js. */

/** An element: make('p', { class: 'soft' }, 'text', otherElement). */
export function make(name, attributes = {}, ...content) {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, '')
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(key, value)
  }
  element.append(...content.filter(part => part !== undefined && part !== null))
  return element
}

/** What kind of control a field is shown with: switch, range, number, choice, text, long or json; fixed: none. */
export function kindOf(rule = {}, value) {
  if (value?.$bytes !== undefined) return 'fixed'
  if (rule.choices?.length) return 'choice'
  if (rule.type === 'any') return 'json'
  if (rule.type === 'boolean' || !rule.type && typeof value === 'boolean') return 'switch'
  const sample = value ?? rule.default
  const isNumber = typeof sample === 'number' || (sample?.$int ?? sample?.$float) !== undefined
  if (['number', 'integer'].includes(rule.type) || isNumber && !rule.type) {
    return Number.isFinite(rule.min) && Number.isFinite(rule.max) ? 'range' : 'number'
  }
  if (['array', 'object'].includes(rule.type) || sample !== null && typeof sample === 'object') return 'json'
  return rule.maxLength > 120 || String(sample ?? '').length > 60 || /\n/.test(sample ?? '') ? 'long' : 'text'
}

/** A model's fields in the order in which they are described, then the others; without those of the system. */
export function namesOf(model) {
  const described = Object.keys(model.get('@description')?.fields ?? {})
  const order = new Map(described.map((name, index) => [name, index]))
  return model.names().filter(name => name[0] !== '@')
    .sort((one, other) => (order.get(one) ?? Infinity) - (order.get(other) ?? Infinity) || 0)
}

/** What a description says of a field to people: a `title` in the place of its name, and `help`. */
export function wordsOf(rule) {
  const words = value => typeof value === 'string' ? value.trim() : ''
  return { title: words(rule?.title), help: words(rule?.help) }
}

let serial = 0

/**
 * The control of a field, bound to it, and what belongs to it.
 * @param {object} how - `label`: its name for who cannot see it; `isLarge`: a few choices become radio buttons.
 * @returns {{ element: HTMLElement, id: string, kind: string }} the element may hold more than the control.
 */
export function controlFor(field, rule, value, how = {}) {
  const kind = kindOf(rule, value), id = `field-${++serial}`
  const common = { id, 'data-bind': field, 'aria-label': how.label, 'aria-describedby': how.describedBy }
  switch (kind) {
    case 'switch': return { kind, id, element: make('input', { ...common, type: 'checkbox', role: 'switch' }) }
    case 'range': return { kind, id, element: make('span', { class: 'pair' },
      make('input', { ...common, type: 'range' }),
      make('input', { type: 'number', 'data-bind': field, 'aria-label': `${how.label ?? field} as a number` })) }
    case 'number': return { kind, id, element: make('input', { ...common, type: 'number' }) }
    case 'choice': return how.isLarge && rule.choices.length <= 5
      ? { kind: 'group', id, element: radios(field, rule.choices, id, how) }
      : { kind, id, element: make('select', common) }
    case 'fixed': return { kind, id, element: make('output', { id, 'data-bind': field }) }
    case 'json': return { kind, id, element: make('textarea', {
      ...common, 'data-bind-on': 'change', rows: how.isLarge ? 4 : 2, class: 'mono', spellcheck: 'false' }) }
    case 'long': return { kind, id, element: make('textarea', { ...common, rows: how.isLarge ? 4 : 2 }) }
    default: return { kind, id, element: make('input', { ...common, type: 'text', autocomplete: 'off' }) }
  }
}

function radios(field, choices, id, how) {
  const named = how.label ? { 'aria-label': how.label } : { 'aria-labelledby': `${id}-label` }
  return make('div', { class: 'choices', role: 'radiogroup', id, ...named }, ...choices.map(choice => {
    const words = bind.text(choice)
    const radio = make('input', { type: 'radio', name: id, value: words, 'data-bind': field })
    return make('label', {}, radio, words === '' ? '(empty)' : words)
  }))
}

/** A value for people, in one line: text as it is, or in quotes where one would take it for something else. */
export function shown(value, most = 60) {
  if (value === undefined) return 'no value'
  const words = typeof value === 'string' ? JSON.stringify(value) : value === null ? 'null' : bind.text(value)
  return words.length > most ? `${words.slice(0, most - 1)}…` : words
}

/** Marks a field that programs declare otherwise than the model's description, with what each of them says. */
export function markOtherwise(mark, hub, model, field) {
  const words = (hub.get('disagreements') ?? []).filter(entry => entry.model === model && entry.fields[field])
    .map(({ peer, fields: { [field]: { declared, described } } }) =>
      `${peer} declares it as ${declared}; it is described as ${described}`).join('\n')
  mark.hidden = !words
  if (mark.title === words) return
  mark.title = words
  mark.setAttribute('aria-label', words)
}

export const otherwiseMark = () => make('span', { class: 'otherwise', role: 'img', hidden: '' }, '≠')
