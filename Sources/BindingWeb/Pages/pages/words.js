/** A model in the words of a shell and of Swift. */

// What a terminal or a reader could be misled by goes as an escape: control characters and marks of direction.
const MISLEADING = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

const escaped = json => json.replace(MISLEADING, one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
const quoted = word => /^[\w./:=,@%+-]+$/.test(word) ? word : `'${word.replaceAll('\'', '\'\\\'\'')}'`

/** `bindpeer set lamp.level=0.8 'lamp.name=desk lamp'`: sets these fields to these values, in one commit. Secret values
 *  are left out; where there is no other, the first is read from standard input. */
export function commandLine(model, fields, values, describe) {
  const open = fields.filter(field => !describe(field)?.secret)
  if (!open.length && fields.length) return `bindpeer set ${model}.${fields[0]}=-`
  const assignments = open.map(field => {
    const value = values(field), path = `${model}.${field}`, type = describe(field)?.type
    if (typeof value === 'string') {
      const isWords = type === 'string' || !isJSON(value)
      const isPlain = isWords && value !== '-' && value[0] !== '@' && value.search(MISLEADING) < 0
      return quoted(isPlain ? `${path}=${value}` : `${path}:=${escaped(JSON.stringify(value))}`)
    }
    return quoted(`${path}${typeof value === 'object' ? ':' : ''}=${escaped(JSON.stringify(value))}`)
  })
  return `bindpeer set ${assignments.join(' ')}`
}

function isJSON(words) {
  try { JSON.parse(words) } catch { return false }
  return true
}

/** Who wrote: the name that the writer chose, and in parentheses the user whom the hub had let in, if it has keys. */
export const attribution = ({ writer, user }) => user ? `${writer} (${user})` : writer

const KEYWORDS = new Set(`as associatedtype break case catch class continue default defer deinit do else enum extension
  false fallthrough fileprivate for func guard if import in init inout internal is let nil operator private protocol
  public repeat return self Self static struct subscript super switch throw throws true try typealias var where
  while`.split(/\s+/))

/** `struct Lamp: Model { … }` with a `@Field` for each described field, and the line that shares it. */
export function swiftModel(model, fields, values, describe) {
  const type = typeName(model)
  const lines = fields.map(field => `  ${declaration(field, describe(field) ?? {}, values(field))}`)
  const name = type[0].toLowerCase() + type.slice(1)
  return `struct ${type}: Model {\n${lines.join('\n')}\n}\n\n`
    + `let ${KEYWORDS.has(name) ? `\`${name}\`` : name} = try await peer.share(${type}.self, id: ${literal(model)})\n`
}

// What a model's type may not be called: the library's own names, and those of Swift that its fields have.
const TAKEN = /^(Model|Peer|Field|JSON|Write|Bool|Int|Double|String|Array|Optional|Any|Self|Type|Protocol)$/

/** `shop/kiosk-3` is a `Kiosk3`, `shop/model` a `ShopModel`. */
function typeName(model) {
  const parts = model.split('/').map(part => capital(identifier(part)))
  const name = parts.at(-1)
  return TAKEN.test(name) ? `${parts.length > 1 ? parts.at(-2) : 'My'}${name}` : name
}

function declaration(field, rule, value) {
  const name = identifier(field), isOptional = rule.default === null
  const type = typeOf(rule, rule.default ?? value), words = []
  // A secret does not belong into a program's text.
  const sample = rule.secret ? undefined : rule.default ?? value
  const range = rule.min !== undefined && rule.max !== undefined && /^(Int|Double)$/.test(type)
  if (range) words.push(`${number(rule.min, type)}...${number(rule.max, type)}`)
  if (name !== field) words.push(range ? `name: ${literal(field)}` : literal(field))
  if (!range && rule.maxLength !== undefined && type === 'String') words.push(`maximumLength: ${rule.maxLength}`)
  else {
    if (rule.unit) words.push(`unit: ${literal(rule.unit)}`)
    if (!range && rule.choices?.length) words.push(`choices: [${rule.choices.map(one => swift(one, type)).join(', ')}]`)
  }
  for (const name of ['title', 'help', 'group', 'widget']) {
    if (typeof rule[name] === 'string' && rule[name]) words.push(`${name}: ${literal(rule[name])}`)
  }
  if (hasStep(rule, type)) words.push(`step: ${rule.step}`)
  for (const name of ['readOnly', 'secret']) if (rule[name] === true) words.push(`${name}: true`)
  if (/^(compareAndSet|add|max|min|union|text)$/.test(rule.policy ?? '')) words.push(`policy: .${rule.policy}`)
  // A default outside of its range ends the program.
  const isOut = range && !(Number(number(sample, type)) >= rule.min && Number(number(sample, type)) <= rule.max)
  const start = rule.default === null ? 'nil' : swift(isOut ? rule.min : sample, type)
  // What its literal alone does not make clear.
  const isClear = !isOptional && (/^(Bool|String|Int)$/.test(type) || type === 'Double' && /\d[.e]/.test(start))
  const annotation = isClear ? '' : `: ${type}${isOptional ? '?' : ''}`
  const variable = KEYWORDS.has(name) ? `\`${name}\`` : name
  return `${rule.ephemeral ? '@Field(.ephemeral' + (words.length ? ', ' : '') : words.length ? '@Field(' : '@Field'}`
    + `${words.join(', ')}${words.length || rule.ephemeral ? ')' : ''} var ${variable}${annotation} = ${start}`
    + undeclared(rule, range, type)
}

/** A text with a limited length is declared without a step. */
const hasStep = ({ step }, type) => step > 0 && Number.isFinite(step) && type !== 'String'

/** What of a rule a field of this type cannot declare, for who reads it: the model's description holds it. */
function undeclared(rule, isRange, type) {
  const both = isRange ? ['choices'] : ['min', 'max'], length = type === 'String' ? [] : ['maxLength']
  const names = [...both, ...hasStep(rule, type) ? [] : ['step'], 'pattern', ...length]
  const left = names.filter(name => rule[name] !== undefined && String(rule[name]) !== '')
  const words = left.map(name => escaped(`${name} ${bind.text(rule[name])}`))
  return words.length ? `  // described: ${words.join(', ')}` : ''
}

function typeOf(rule, sample) {
  const known = { boolean: 'Bool', integer: 'Int', number: 'Double', string: 'String' }[rule.type]
  if (known) return known
  if (rule.type === 'array' && Array.isArray(sample) && sample.length && sample.every(one => typeof one === 'string')) {
    return '[String]'
  }
  if (rule.type === 'array' || rule.type === 'object') return 'JSON'
  if (sample?.$int || sample?.$float) return sample.$int ? 'Int' : 'Double'
  const whole = Number.isInteger(sample) ? 'Int' : 'Double'
  return { boolean: 'Bool', number: whole, string: 'String' }[typeof sample] ?? 'JSON'
}

function swift(value, type) {
  if (type === 'JSON') return json(value)
  const isNumber = typeof value === 'number' || value?.$int !== undefined || value?.$float !== undefined
  switch (type) {
    case 'Bool': return String(value === true)
    case 'String': return literal(typeof value === 'string' ? value : '')
    case '[String]': return `[${(Array.isArray(value) ? value : []).map(literal).join(', ')}]`
    // What is of another type cannot be its default.
    default: return isNumber ? number(value, type) : '0'
  }
}

function json(value) {
  if (value === undefined || value === null) return '.null'
  if (typeof value === 'boolean') return `.bool(${value})`
  if (typeof value === 'number') return Number.isInteger(value) ? `.integer(${value})` : `.number(${value})`
  if (typeof value === 'string') return `.string(${literal(value)})`
  if (Array.isArray(value)) return `.array([${value.map(json).join(', ')}])`
  return `.object([${Object.entries(value).map(([name, one]) => `.init(${literal(name)}, ${json(one)})`).join(', ')}])`
}

const FLOATS = { NaN: '.nan', Infinity: '.infinity', '-Infinity': '-.infinity' }
const number = (value, type) => value?.$int ?? FLOATS[value?.$float]
  ?? (type === 'Int' ? String(Math.trunc(value)) : String(value))
const literal = words => JSON.stringify(words)
  .replace(MISLEADING, one => `\\u{${one.charCodeAt(0).toString(16)}}`)
  .replace(/\\u([0-9a-f]{4})/g, '\\u{$1}').replace(/\\([bf])/g, (all, one) => one === 'b' ? '\\u{8}' : '\\u{c}')
const capital = words => words[0].toUpperCase() + words.slice(1)

/** `kiosk-3` becomes `kiosk3`, `warm white` is no name: a letter first, and capitals where words begin. */
function identifier(name) {
  const words = name.replace(/^@/, '').split(/[^A-Za-z0-9_]+/).filter(Boolean)
  const joined = words.map((word, index) => index ? capital(word) : word).join('')
  return /^[A-Za-z_]/.test(joined) ? joined : `_${joined}`
}
