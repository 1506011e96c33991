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

// What a description may ask for as a field's `widget`, the kind of control that this is, and for which other kinds it
// may stand.
const WIDGETS = new Map([
  ['switch', 'switch', ['switch']], ['checkbox', 'checkbox', ['switch']],
  ['slider', 'range', ['range']], ['range', 'range', ['range']], ['number', 'number', ['range', 'number']],
  ['select', 'select', ['choice']], ['radio', 'radio', ['choice']],
  ...['text', 'email', 'url', 'color', 'date', 'time'].map(name => [name, name, ['text', 'long']]),
  ['textarea', 'long', ['text', 'long']],
].map(([name, kind, fits]) => [name, { kind, fits }]))

// These controls cannot show every text.
const ONLY = { color: /^#[\da-f]{6}$/i, date: /^(\d{4,}-\d\d-\d\d)?$/, time: /^(\d\d:\d\d(:\d\d(\.\d+)?)?)?$/ }

/** What kind of control a field is shown with: switch, range, number, choice, text, long or json, or that of a widget;
 *  secret: what is typed is hidden; fixed and hidden: none. */
export function kindOf(rule = {}, value) {
  if (value?.$bytes !== undefined || rule.readOnly === true) return rule.secret === true ? 'hidden' : 'fixed'
  if (rule.secret === true) return 'secret'
  const kind = plainKindOf(rule, value), widget = WIDGETS.get(rule.widget)
  const isFit = widget?.fits.includes(kind) && (ONLY[widget.kind]?.test(value ?? rule.default ?? '') ?? true)
  return isFit ? widget.kind : kind
}

function plainKindOf(rule, value) {
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

/** A model's fields by their `order`, those without one last, by name; where none has one in the order in which they
 *  are described, then the others. Without those of the system. */
export function namesOf(model) {
  const rules = Object.entries(model.get('@description')?.fields ?? {})
  const isOrdered = rules.some(([, rule]) => Number.isFinite(rule?.order))
  const order = new Map(rules.map(([name, rule], index) => [name, isOrdered ? rule?.order : index]))
  const place = name => Number.isFinite(order.get(name)) ? order.get(name) : Infinity
  return model.names().filter(name => name[0] !== '@').sort((one, other) => place(one) - place(other) || 0)
}

/** The same for a form: [group, names], the fields of a group where its first one stands; those without one, as '', by
 *  themselves. */
export function groupsOf(model) {
  const entries = [], groups = new Map()
  for (const name of namesOf(model)) {
    const { group } = wordsOf(model.describe(name)), names = groups.get(group)
    if (names && group) names.push(name)
    else entries.push([group, groups.set(group, [name]).get(group)])
  }
  return entries
}

/** What a description says of a field to people: a `title` in the place of its name, `help`, and its `group`. */
export function wordsOf(rule) {
  const words = value => typeof value === 'string' ? value.trim() : ''
  return { title: words(rule?.title), help: words(rule?.help), group: words(rule?.group) }
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
    case 'checkbox': return { kind, id, element: make('input', { ...common, type: 'checkbox' }) }
    case 'range': return { kind, id, element: make('span', { class: 'pair' },
      make('input', { ...common, type: 'range' }),
      make('input', { type: 'number', 'data-bind': field, 'aria-label': `${how.label ?? field} as a number` })) }
    case 'number': return { kind, id, element: make('input', { ...common, type: 'number' }) }
    case 'choice': case 'radio': case 'select': {
      const areOpen = how.isLarge && (kind === 'radio' || kind === 'choice' && rule.choices.length <= 5)
      return areOpen ? { kind: 'group', id, element: radios(field, rule.choices, id, how) }
        : { kind, id, element: make('select', common) }
    }
    case 'fixed': return { kind, id, element: make('output', { id, 'data-bind': field }) }
    case 'hidden': return { kind, id, element: make('output', { id, class: 'soft' }, '(secret)') }
    // Browsers fill in passwords of their own, but for new ones.
    case 'secret': return { kind, id, element: make('input', { ...common, type: 'password', 'data-bind-on': 'change',
      autocomplete: 'new-password', spellcheck: 'false', pattern: rule.type === 'boolean' ? 'true|false' : null }) }
    case 'json': return { kind, id, element: make('textarea', {
      ...common, 'data-bind-on': 'change', rows: how.isLarge ? 4 : 2, class: 'mono', spellcheck: 'false' }) }
    case 'long': return { kind, id, element: make('textarea', { ...common, rows: how.isLarge ? 4 : 2 }) }
    default: return { kind, id, element: make('input', { ...common, type: kind, autocomplete: 'off' }) }
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

/** The same of a field's value, unless its description calls it secret: that is not for screens. */
export const readable = (model, field, value, most) =>
  value !== undefined && model?.isSecret(field) ? '(secret)' : shown(value, most)

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
