/**
 * One step of undo: what it did to each field, whether it can be taken back, and by which operations. A field of a step
 * is { name, kind, before, isKnown, beforeAt, at, left, sum, after, isLost }: `kind` `set`, `add` or `text`; `before`
 * the committed value just before the step, if `isKnown`, and `beforeAt` where that was committed; `at` where the
 * step's last value was; `left` that value, in an object; `sum` what it added; of a text `before` and `after` without
 * and with the step's edits. Of an element of a list `before` is { at, is }, its rank and what it is; `place` the
 * elements between which it stood when the step was made; `isMoved` says that the step moved it.
 */
import { deletedBy, elementsBack, isElement } from './element-steps.js'
import { titleOf } from './list-values.js'
import { isNumber, merge, same, sum } from './values.js'
import { attribution } from './words.js'

// A write joins the last step of the same fields within so many milliseconds. Each field comes back on a condition, of
// which a proposal has so many.
const JOINS = 1000, MOST_FIELDS = 255

/** What a write does to each field; undefined if it cannot be undone. `left`: the value that it leaves, where that does
 *  not depend on the one before; `isPlacing`: an element of a list comes, goes or moves. */
export function partsOf({ operations, rules }, model, isRestoring) {
  const parts = []
  for (const operation of operations) {
    const [verb, field, value] = operation
    if (verb === 'clear' || verb === 'delete') {
      const deleted = deletedBy(operation, model)
      parts.push(...deleted.map(field => ({ field, kind: 'set', left: {}, isPlacing: isElement(field) })))
      continue
    }
    if (verb === 'set' && rules[field] === 'text') parts.push({ field, kind: 'text', operand: value })
    else if (verb === 'set') parts.push({ field, kind: 'set', left: { value } })
    else if (verb === 'max' || verb === 'min') parts.push({ field, kind: 'set' })
    else if (verb === 'add') parts.push({ field, kind: 'add', operand: value })
    else if (/^(insert|move|replace)$/.test(verb)) addPlacing(parts, verb, field)
    else return
    // The protocol's own fields return only with a model that was removed.
    if (field[0] === '@' && !isRestoring) return
  }
  return parts.length && parts.length <= MOST_FIELDS ? parts : undefined
}

/** An element may be moved and replaced by one write. */
function addPlacing(parts, verb, field) {
  let part = parts.find(part => part.field === field)
  if (!part) parts.push(part = { field, kind: 'set' })
  if (verb !== 'replace') part.isPlacing = true
  if (verb === 'move') part.isMoved = true
}

/** Whether a write joins a step: it is in the same group or editing session, or sets the same fields soon after. */
export function joins(step, parts, group, edit, now) {
  const { fields, writtenAt } = step
  // A text has its edits, other fields what was committed: the two do not mix.
  const areAlike = parts.every(({ field, kind }) => !fields.has(field)
    || (fields.get(field).kind === 'text') === (kind === 'text'))
  if (!areAlike || writtenAt === undefined) return false
  if (group || step.group) return group === step.group
  const areSame = fields.size === parts.length && parts.every(({ field, kind }) => kind !== 'add' && fields.has(field))
  if (!areSame || [...fields.values()].some(({ kind }) => kind === 'add') || edit !== step.edit) return false
  return edit !== 0 || now < writtenAt + JOINS
}

/** Adds an edit of a text. What others wrote since the last one is no edit of this page. */
export function noteEdit(field, base, text) {
  if (field.after === undefined) field.before = base
  else if (field.after !== base) field.before = merge(field.after, base ?? '', field.before ?? '')
  Object.assign(field, { after: text, isKnown: true })
}

/** One more commit. What a foreign commit overwrote in between cannot be taken back: the value before the last one
 *  counts. */
export function replaced(field, { kind, operand }, value, beforeAt) {
  const isFirst = !field.at
  if (kind === 'text') {
    if (isFirst) field.beforeAt = beforeAt
  } else if (!isFirst && field.kind === 'add' && kind === 'add') field.sum = sum(field.sum, operand)
  // An addition and a set in one group: the value before both comes back.
  else if (!isFirst && same(field.at, beforeAt)) Object.assign(field, { kind: 'set', sum: undefined })
  else {
    const added = kind === 'add' ? operand : undefined
    Object.assign(field, { kind, sum: added, before: value, beforeAt, isKnown: true })
  }
}

/** One more commit, of which only the result is known. */
export function folded(field, { kind, operand }) {
  if (kind === 'text') return
  if (kind === 'add' && (!field.at || field.kind === 'add')) {
    const total = field.at ? sum(field.sum, operand) : operand
    return Object.assign(field, { kind, sum: total, beforeAt: undefined })
  }
  Object.assign(field, { kind: 'set', sum: undefined, beforeAt: undefined, isKnown: false })
}

const hasEffect = ({ at, kind }) => !!at || kind === 'text'

/** Whether nothing of a step has taken effect, and nothing is under way. */
export const isEmpty = ({ fields, writes }) => !writes.size && ![...fields.values()].some(hasEffect)

/** How much memory a step takes, in bytes, nearly. */
export const sizeOf = ({ fields }) => [...fields.values()].reduce((all, { name, before, left, sum, after }) =>
  all + 96 + name.length + JSON.stringify([before, left, sum, after]).length, 64)

/** Whether a commit is in a model, or of an epoch before its own. */
export const isOver = ({ epoch, version }, model) => epoch === model.epoch ? version <= model.version
  : BigInt(epoch) < BigInt(model.epoch)

/** The version since which a field is known to be unchanged; of one without a value that of the model. */
export const unchangedSince = (model, { version, value } = {}) =>
  value === undefined || !version ? model.version : version

/** Whether a field is as a step left it. When a field without a value was deleted a snapshot does not say: the
 *  condition finds out. */
export const isUnchanged = ({ at, left }, { value, version = 0 } = {}, epoch) => at.epoch === epoch
  && (value === undefined ? same(left, {}) && version <= at.version : version === at.version)

/** Why a step cannot be taken back, in words, as far as it is known here; undefined: nothing stands in the way.
 *  @param isPending - whether a write of this page over a field has no commit yet, by its name: that is waited for. */
export function obstacle({ fields }, model, isPending) {
  for (const field of fields.values()) {
    const { name, kind, at, isKnown, isLost } = field, present = model.fields.get(name)
    if (kind === 'text') continue
    if (isLost) {
      const isOthers = kind === 'set' && present?.value !== undefined && present.tag !== model.link.tag
      return sentence(model, name, isOthers ? present : { isLost })
    }
    // Before a hub was seen nothing can be compared.
    if (kind !== 'set' || !at || model.epoch === '0' || isPending(name)) continue
    if (!isUnchanged(field, present, model.epoch)) return sentence(model, name, present)
    if (!isKnown) return sentence(model, name, { isUnknown: true })
  }
}

/** What stands in the way of an undo, as a sentence with names: a writer and the value, or what is not known. */
export function sentence(model, name, { tag, writer, user, value, isLost, isUnknown } = {}) {
  const title = model.describe(name)?.title || titleOf(name)
  if (isUnknown) {
    return `what ${title} was before that write is not known here: its commit arrived together with others`
  }
  if (isLost) return `the hub's log has begun a new epoch, and ${title} is not what that write left`
  const by = tag === model.link.tag ? ' by this page, in a write that is not undoable,'
    : writer ? ` by ${attribution({ writer, user })}` : ''
  return `${title} was ${value === undefined ? 'deleted' : 'changed'}${by} since`
}

/** The operations that take a step back, as they show now, with their rules. What `restore`s gets its value and its
 *  condition when it is sent.
 *  @param added - what the step has added to a field in all; undefined: nothing. */
export function restoration({ fields }, model, added) {
  const operations = [], rules = {}
  for (const field of fields.values()) {
    if (isElement(field.name)) continue
    const { name, kind, before, after } = field, now = model.get(name), amount = added(field)
    if (kind === 'set') operations.push(before === undefined ? ['delete', name] : ['set', name, before])
    else if (kind === 'add') {
      if (!isNumber(amount)) continue
      operations.push(['add', name, sum(0, amount, -1)])
    } else {
      if (now !== undefined && typeof now !== 'string') continue
      operations.push(['set', name, merge(after, now ?? '', before ?? '')])
    }
    rules[name] = kind === 'text' ? kind : 'restore'
  }
  // Elements come last: the description of their list may come back before them.
  for (const operation of elementsBack([...fields.values()].filter(({ name }) => isElement(name)), model)) {
    operations.push(operation)
    rules[operation[1]] = 'restore'
  }
  return { operations, rules }
}

/** The fields whose undo may be rounded, because fractions were added. */
export const inexact = ({ fields }) => [...fields.values()].filter(({ kind, sum }) =>
  kind === 'add' && typeof sum === 'number' && !Number.isInteger(sum)).map(({ name }) => name)
