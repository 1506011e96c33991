/** Values, without a document or a hub: what operations make of them, what was typed, and what no hub could read. */

import { letters } from './texts.js'

export * from './texts.js'

// Numbers that a double does not hold are { $int: '…' }.
const exact = value => Number.isSafeInteger(value) || value?.$int ? BigInt(value.$int ?? value) : NaN
const numberOf = value => typeof value === 'number' ? value : value?.$int ? Number(value.$int) : NaN
export const isNumber = value => Number.isFinite(numberOf(value))

/** A sum of numbers, or with -1 a difference: exact where both are integers of 64 bits. */
export function sum(one, other, sign = 1) {
  if ([one, other].some(value => typeof exact(value) === 'number')) return numberOf(one) + sign * numberOf(other)
  const total = exact(one) + BigInt(sign) * exact(other)
  const isDouble = Number.isSafeInteger(Number(total)) || BigInt.asIntN(64, total) !== total
  return isDouble ? Number(total) : { $int: `${total}` }
}

export const same = (one, other) => one === other || JSON.stringify(one) === JSON.stringify(other)

/** Whether an operation leaves what it says, whatever was there: sent twice it is as good as once. */
export const isSet = ([verb]) => /^(set|replace)$/.test(verb)

/** What is in a list, and neither known nor earlier in it. */
export const newIn = (list, known) =>
  list.filter((value, index) => ![...known, ...list.slice(0, index)].some(one => same(one, value)))

/** What `add`, `max`, `min` and `union` make of a value. */
export function merged(verb, value, operand) {
  if (verb === 'union') return Array.isArray(value) ? [...value, ...newIn(operand, value)] : value
  if (!isNumber(value)) return value
  if (verb === 'add') return sum(value, operand)
  return (verb === 'max' ? numberOf(operand) > numberOf(value) : numberOf(operand) < numberOf(value)) ? operand : value
}

/** What a set becomes by the policy of its field, if not itself: `there` is what shows without what is described. */
export function merging(policy, field, value, shown, there) {
  const areBoth = is => is(value) && (shown === undefined || is(shown))
  if (policy === 'add' && areBoth(isNumber)) return ['add', field, sum(value, there ?? 0, -1)]
  if (/^(max|min)$/.test(policy) && isNumber(value)) return [policy, field, value]
  if (policy === 'union' && areBoth(Array.isArray)) return ['union', field, newIn(value, there ?? [])]
}

/** What was typed, as a value of a type, or of that of what shows: { value }, { problem }, or {} for half a number. */
export function typed(words, type, shown) {
  if (type === 'string') return { value: words }
  const isNumber = type === 'number' || type === 'integer' || !type && typeof shown === 'number'
  const isBig = /^-?\d+$/.test(words) && !Number.isSafeInteger(+words)
  if (type === 'any' && !isBig) return OPENS.test(words) || isJSON(words) ? parsed(words) : { value: words }
  if (isNumber || type === 'any' || !type && shown?.$int) {
    if (isBig) return { value: { $int: `${BigInt(words)}` } }
    return /^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i.test(words) ? { value: Number(words) } : {}
  }
  if (type === 'boolean' || !type && typeof shown === 'boolean') return { value: words === 'true' }
  return type === 'array' || type === 'object' || shown && typeof shown === 'object' ? parsed(words) : { value: words }
}

function parsed(words) {
  try { return { value: JSON.parse(words) } } catch (error) { return { problem: error.message } }
}
const OPENS = /^\s*[[{"]/
const isJSON = words => 'value' in parsed(words)

/** A value of any type as it is typed: a text that one would take for something else is in quotes. */
export function shown(value, text) {
  const isMistakable = value === null || typeof value === 'string' && (isJSON(value) || OPENS.test(value))
  return isMistakable ? JSON.stringify(value) : text(value)
}

/** What was typed, held against the rule of its field. A person's letters count, as at the hub. */
export function checked(result, words, { maxLength, pattern }) {
  if (!('value' in result)) return result
  if (typeof result.value === 'string' && result.value.length > maxLength) {
    const count = letters(result.value).length
    if (count > maxLength) return { problem: `${count} of ${maxLength} characters` }
  }
  return pattern && isQuick(pattern, words.length) && !fits(pattern, words)
    ? { problem: `the text must match ${pattern}` } : result
}

function fits(pattern, value) { try { return RegExp(`^(?:${pattern})$`, 'u').test(value) } catch { return true } }

const MOST_WAYS = 1e6, GROUP = '\u0001'

/** Whether a pattern, which comes from whoever wrote the description, cannot keep the page busy: nothing that can go
 *  several ways is repeated, and the ways to divide a text are few enough to try all. Others are not asked. */
export function isQuick(pattern, length) {
  if (pattern.length > 500 || pattern.includes(GROUP)) return false
  let plain = pattern.replace(/\\[^1-9k]|\[(\\.|[^\]\\])*\]/gs, 'x').replace(/\(\?<?[:=!]/g, '('), before
  const repeats = plain.match(/[*+]|\{\d+,/g)?.length ?? 0, choices = plain.match(/[|?]/g)?.length ?? 0
  do {
    before = plain
    plain = plain.replace(/\(([^()]*)\)/g, (_, inner) => /[|*+?{\u0001]/.test(inner) ? GROUP : 'x')
  } while (plain !== before)
  return !/\u0001[*+{]|\\/.test(plain) && Math.max(2, length) ** repeats * 2 ** choices <= MOST_WAYS
}

// A hub reads 128 levels, some of them around the value; and so many bytes.
const MOST_DEPTH = 120, MOST_BYTES = 98_304

const isName = name => /^(@?[\w-]{1,64}|[\w-]{1,64}@[\w-]{1,40})$/.test(name)
/** Whether an operation takes a value. */
const VERBS = new Map([
  ...['set', 'setIfAbsent', 'add', 'max', 'min', 'union', 'insert', 'move', 'replace'].map(verb => [verb, true]),
  ['delete', false], ['clear', false]])

/** What becomes of a proposal that no hub could read: the page would lose its link, and all other writes on it. */
export function fault(operations, conditions, message) {
  if (!operations.length) return { kind: 'unchanged' }
  const refused = (code, text) => ({ kind: 'refused', code, text })
  if (new TextEncoder().encode(message).length > MOST_BYTES) return refused('proposalTooLarge', 'the write is too long')
  if (conditions.length > 255) return refused('proposalTooLarge', 'the write has more than 255 conditions')
  for (const operation of operations) {
    const [verb, name, value] = operation, takesValue = VERBS.get(verb)
    if (takesValue === undefined) return refused('malformedValue', `'${verb}' is not a verb`)
    if (verb !== 'clear' && !isName(name)) return refused('badName', `'${name}' is not a field name`)
    if (takesValue ? value === undefined : operation.length > 2) {
      return refused('malformedValue', `${verb} takes ${takesValue ? 'a' : 'no'} value`)
    }
    const why = unreadable(value)
    if (why) return refused('malformedValue', why)
  }
  const wrong = conditions.find(([name]) => !isName(name))
  if (wrong) return refused('badName', `'${wrong[0]}' is not a field name`)
}

function unreadable(value, depth = 0) {
  if (typeof value === 'string') return value.isWellFormed?.() === false ? 'it has half of a surrogate pair' : ''
  if (typeof value === 'number' && !isFinite(value)) return `JSON has no ${value}: write { $float: '${value}' }`
  if (value instanceof Map || value instanceof Set) return 'JSON has no Map and no Set'
  if (!value || typeof value !== 'object') return ''
  if (depth === MOST_DEPTH) return `the value has more than ${MOST_DEPTH} nested lists and objects`
  for (const [key, one] of Object.entries(value)) {
    const why = unreadable(key) || unreadable(one, depth + 1)
    if (why) return why
  }
  return ''
}

/** Why there was no commit, in words. `text` and `age` are those of bind.js.
 *  @param isSecret - a secret field is written: values are not for screens, and these codes come with some */
export function reason({ kind, text: words, code, version, name, value, age: ms }, text, age, isSecret) {
  if (isSecret && /doesNotFit|malformedValue/.test(code)) return 'the value does not fit the description'
  if (words || code || kind !== 'conflict') return words || code || kind
  if (!version) return 'the field no longer exists'
  const deed = value === undefined ? 'deleted it' : isSecret ? 'set it' : `set it to ${quoted(value, text)}`
  return `${name} ${deed}, ${age(ms)} ago`
}

/** The same of one value, which in a conflict is told too. */
export const reasonFor = (value, { kind }, why, text) =>
  kind === 'conflict' && value !== undefined ? `${quoted(value, text)} was not written: ${why}` : why

const quoted = (value, text) => {
  const words = typeof value === 'string' ? JSON.stringify(value) : value === null ? 'null' : text(value)
  return words.length > 60 ? `${words.slice(0, 59)}…` : words
}

/** Whether a hub may have decided something of this page's and forgotten it: it does not know who we are, and the first
 *  of our numbers in flight is too old for what it remembers (protocol.md, section 4.2, `identityMs`).
 *  @param first - when that left, by the page's clock and the hub's; nothing if none did */
export function isForgotten(before, { known, epoch, now: hub, limits }, [at, there] = [], now) {
  const remembered = limits?.identityMs ?? 0
  return before && !known && (remembered || before.epoch === epoch)
    && Math.max(now - at, Math.abs(hub - there)) >= remembered / 2
}

/** Notes when the first of the numbers in flight is given, by the page's clock and the hub's. */
export function noteFirst(link, now) {
  const isFirst = [...link.models.values()].every(model => model.unacknowledged() > model.lastNumber)
  if (isFirst) link.first = [now, link.hubNow]
}

/** The hub may have decided what a page sent about a model, and has forgotten it. */
export function forgetNumbers(model) {
  for (const write of model.writes.filter(write => write.number && !write.isDecided)) {
    if (!again(write, model)) model.end(write, { kind: 'unknown', text: 'the hub no longer has its outcome' })
  }
}

/** Has a write go again, under a new number, of which the hub cannot tell what became: on condition of what its writer
 *  saw. False if it may not.
 *  @param wasAsked - the hub has said so of this very write; else it has forgotten all */
export function again(write, { fields, epoch, version, writes }, wasAsked) {
  const { operations, rules, seen, isHidden } = write
  const areSets = operations.every(isSet)
  const isDefault = operations.every(([verb]) => verb === 'setIfAbsent')
  if (wasAsked ? !areSets || Object.keys(rules).length : isHidden || !isDefault && !areSets) return false
  if (operations.length > 255 && !isDefault) return false
  const names = other => other.operations.flatMap(([, field]) => field ?? [...fields.keys()])
  const conditions = isDefault ? [] : seen.map(({ field, value, version: then, epoch: its }) => {
    // That it was never written says too little: it may have been, and deleted. It had nothing at this version.
    if (!wasAsked) return then ? [field, its, then] : version && [field, epoch, version]
    const present = fields.get(field) ?? {}, there = present.version ?? 0
    const isSame = its === epoch ? there === then : JSON.stringify(present.value) === JSON.stringify(value)
      && (value !== undefined || !there)
    return isSame && writes.findLast(other => names(other).includes(field)) === write && [field, epoch, there]
  })
  if (!conditions.every(Boolean)) return false
  Object.assign(write, { conditions, number: 0, isPlain: false, isHidden: false, isSecondTry: true })
  return true
}

/** Has a write that was made before its model's description came use the stored names of its fields. */
export function rename(write, model) {
  const rules = Object.entries(write.rules)
  write.operations = model.named(write.operations, 1)
  write.conditions = model.named(write.conditions, 0)
  write.rules = Object.fromEntries(model.named(rules, 0))
  write.seen = write.seen.map(seen => ({ ...seen, field: model.stored(seen.field) }))
}

/** What went again may have been carried out the first time: that it was not, this time, says nothing. */
export const believed = ({ isSecondTry }, outcome) => !isSecondTry || outcome.kind === 'committed' ? outcome
  : {
    kind: 'unknown',
    text: `the hub does not have its outcome; sent again, it ended with: ${outcome.text ?? outcome.kind}`,
  }

/** Why a page may not write a field, by what the hub has told of its rights; undefined if it may. Those on a list are
 *  those on its elements. */
export function readOnly({ rights, link }, name) {
  const field = name.replace(/(?<=.)@.*/s, '')
  if (!rights || (field === '@description' ? rights.describe : rights.write.some(pattern => matches(pattern, field)))) {
    return
  }
  return `view only: ${link.welcome?.user ?? 'this page'} may not change it`
}

/** Whether a name matches a pattern, in which * stands for any characters. */
const matches = (pattern, name) => {
  const [first, ...rest] = pattern.split('*'), last = rest.pop()
  if (last === undefined) return name === first
  if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last)) return false
  let at = first.length
  for (const part of rest) {
    const found = name.indexOf(part, at)
    if (found < 0 || found + part.length > name.length - last.length) return false
    at = found + part.length
  }
  return true
}
