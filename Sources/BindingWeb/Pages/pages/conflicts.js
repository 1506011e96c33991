/** How a write of this page stands to what others write meanwhile, as ConflictResolver decides it in Swift. */
import { rebased as rebasedText, same } from './values.js'

// Milliseconds after which an edit no longer overwrites what others wrote meanwhile.
export const OLD = 10_000

/** A text that was written while others wrote, over what they made of it. */
export function rebased(model, write, [, field, mine], value) {
  const seen = write.seen.find(seen => seen.field === field)
  return same(value, seen.value) || isUntouched(model, seen, value) ? mine : rebasedText(seen, value, mine)
}

/** Nothing was there and is: its writer saw what is described. Or nobody ever wrote there, in this epoch. */
function isUntouched(model, { field, isOwn, isUnset }, value) {
  return value === undefined && !isOwn && (isUnset || !model.fields.get(field)?.version)
}

/** Brings a write with rules up to what is committed now; it goes on condition of that. False if it may not. */
export function isReady(model, write) {
  const { waitsFor } = write
  if (waitsFor?.epoch === model.epoch && waitsFor.version > model.version) return false
  // An undo that outlived its page has none to finalize it: it keeps the conditions that it was made with.
  const isKept = ([field]) => !write.finalize && write.rules[field] === 'restore'
  write.conditions = write.conditions.filter(isKept)
  if (write.finalize?.(write) === false) return false
  for (const operation of write.operations) {
    const field = operation[1], rule = write.rules[field], seen = write.seen.find(seen => seen.field === field)
    if (!rule || rule === 'restore') continue
    const { value, version = 0, tag, writer: name, user, time } = model.fields.get(field) ?? {}
    const isAsSeen = isUntouched(model, seen, value)
    if (rule === 'compareAndSet' && !isAsSeen && !same(value, seen.value)) {
      const age = Math.max(0, Date.now() - time)
      model.end(write, { kind: 'conflict', field, version, tag, name, user, age, value })
      return false
    }
    if (rule === 'text') operation[2] = rebased(model, write, operation, value)
    if (!isAsSeen) seen.value = value
    seen.isUnset = value === undefined
    write.conditions.push([field, model.epoch, version || model.version])
  }
  return true
}

/** What waited long, while others wrote, is sent on condition of what its writer saw. */
export function yieldToOthers(model, write) {
  if (!write.isPlain || performance.now() - write.at < OLD) return
  const changed = write.seen.find(seen => {
    const { value, version = 0, tag } = model.fields.get(seen.field) ?? {}
    return tag !== model.link.tag && (seen.epoch === model.epoch ? version > seen.version : !same(value, seen.value))
  })
  if (changed) write.conditions = [[changed.field, changed.epoch, changed.version]]
}
