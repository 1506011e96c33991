/**
 * A model as it was, for a page that is opened without a hub: what is kept of it, and how it comes back. Knows no
 * document and no database.
 *
 * A replica is one model at one version, with the own numbers that are in it: a write that is kept beside it lies over
 * it exactly if its number is not (docs/guide/pages.md, A start without a hub).
 */
import { isSet, same } from '/values.js'

// What is longer, in characters, is not kept.
const LONGEST = 4_000_000

/** Whether a model is worth keeping as it is: the hub's own and what is ephemeral are not. */
export const isKeepable = ({ id, state, version, blocked }) =>
  id[0] !== '@' && state === 'current' && version > 0 && !blocked

/**
 * A model as text; nothing if it is too long. Values that its description calls secret are left out: a browser's
 * database can be read by everybody who uses the browser.
 */
export function replicaOf(model) {
  const { id, epoch, version, fields, writes, link } = model
  const rows = [...fields].filter(([name]) => !model.isSecret(name))
  // What earlier pages wrote stays in it within an epoch.
  const before = model.keptOwn?.epoch === epoch ? model.keptOwn.own : {}
  let own = 0
  for (const { tag, number } of fields.values()) if (tag === link.tag) own = Math.max(own, number)
  for (const { number, isHidden } of writes) if (isHidden) own = Math.max(own, number)
  const text = JSON.stringify({
    model: id, epoch, version, user: link.welcome?.user, own: { ...before, [link.tag]: own },
    isPartial: rows.length < fields.size || undefined,
    fields: rows.map(([name, { value, ...origin }]) => [name, value ?? null, value !== undefined, origin]),
  })
  return text.length <= LONGEST ? text : undefined
}

/** The newer of two replicas: by epoch, then by version. */
export function newer(one, other) {
  if (!one || !other) return one ?? other
  const [its, others] = [BigInt(one.epoch), BigInt(other.epoch)]
  return its > others || its === others && one.version >= other.version ? one : other
}

/** Shows a model as it was, until the hub tells how it is. False if that is known already. */
export function restore(model, { epoch, version, own, isPartial, fields }) {
  if (model.version || model.state === 'current' || model.blocked) return false
  for (const [name, value, isThere, origin] of fields) {
    model.fields.set(name, { ...origin, value: isThere ? value : undefined })
  }
  Object.assign(model, { epoch, version, isPartial, keptOwn: { epoch, own } })
  model.touch(...model.fields.keys())
  return true
}

/**
 * Whether a kept write is in a replica: `in`, `over` it, or `unknown`, if the replica is another page's, which does not
 * know the numbers of this one, and others have written since.
 */
export function placeOf({ tag, number, isOver, epoch, version, wasSent, operations }, replica) {
  if (isOver) return replica.epoch !== epoch || replica.version >= version ? 'in' : 'over'
  if (!wasSent) return 'over'
  if (tag in replica.own) return number && number <= replica.own[tag] ? 'in' : 'over'
  const last = new Map(replica.fields.map(([name, , , origin]) => [name, origin]))
  if (operations.every(([, field]) => last.get(field)?.tag === tag && last.get(field).number >= number)) return 'in'
  // A set that lies over itself changes nothing; a sum would.
  return operations.every(isSet) ? 'over' : 'unknown'
}

/** Lays a kept write over a model for people to see; nothing is sent. Returns what ends that. */
export function show(model, { operations, isOver, version, at }) {
  const write = {
    operations, conditions: [], rules: {}, seen: [], isPlain: false, number: 0, hops: 0, isDecided: true,
    at: at - performance.timeOrigin, reachedAt: isOver ? version : undefined,
  }
  const names = operations.map(([, name]) => name)
  model.writes.push(write)
  model.touch(...names)
  return () => {
    const index = model.writes.indexOf(write)
    if (index >= 0) model.writes.splice(index, 1)
    model.touch(...names)
  }
}

// How a set stands to what others write, as far as a page can tell it of a write that another one has made.
const isRule = rule => rule === 'text' || rule === 'compareAndSet'

/** Makes a kept write one of this page, as if it had been made here at its time. A promise of its outcome. */
export function revive(model, { operations, conditions, rules = {}, seen, wasSent, at }) {
  const isText = operations.length === 1 && rules[operations[0][1]] === 'text'
  // What was sent may have been carried out: it goes again on condition of what its writer saw.
  const outcome = wasSent && !isText ? model.propose(operations, conditionsOf(seen))
    : model.propose(operations, wasSent ? [] : conditions, Object.values(rules).every(isRule) ? rules : {})
  Object.assign(model.writes.at(-1), { seen, at: at - performance.timeOrigin })
  return outcome
}

/** The condition that nobody has written since its writer looked. */
export const conditionsOf = seen => seen.slice(0, 255).map(({ field, epoch, version }) => [field, epoch, version])

/** What is over, and may have been carried out or not. */
export function reportUnknown(model, write) {
  const outcome = { kind: 'unknown' }, reason = 'the page was reloaded before the outcome was known'
  for (const [verb, field, value] of write.operations) {
    model.refusals.set(field, { reason, outcome, ...verb === 'set' && { value } })
  }
  model.link.notify('outcome', { model, write, outcome, isRefused: true, reason })
  model.touch(...write.operations.map(([, field]) => field))
}

/** What was sent, and is committed by now, may have been so before the page went: what stands is what it wrote. */
export function forgive(model, { operations }, { kind }) {
  const stands = ([verb, field, value]) =>
    same(verb === 'replace' ? model.get(field) : model.fields.get(field)?.value, value)
  if (kind !== 'conflict' || !operations.every(stands)) return
  for (const [, field] of operations) if (model.refusals.delete(field)) model.touch(field)
}
