/** When a model's values are current, and updates that read a value and write what it becomes, for bind.js. */
import { listOf } from './list-values.js'
import { same } from './values.js'

// An update is tried so often; after a conflict it pauses so many milliseconds at most, longer with each.
const MOST_ATTEMPTS = 20, PAUSE = 5

/** Waits until something holds of a model: it is asked now and at each change. */
function until(model, holds) {
  return new Promise(resolve => {
    let isOver = holds(), end
    if (isOver) return resolve()
    end = model.on(null, () => {
      if (isOver || !holds()) return
      isOver = true
      end?.()
      resolve()
    })
    if (isOver) end()
  })
}

/** Resolves with the model as soon as its values are those of the hub; rejects if it cannot be followed. */
export async function ready(model) {
  if (model.state === 'left') model.join()
  await until(model, () => model.blocked || model.state === 'current')
  if (model.blocked) throw Error(`${model.id}: ${model.blocked.text}`)
  return model
}

/** The fields that hold what is updated: of a list all its elements. */
function homesOf(model, field) {
  const { lists } = model
  return lists.isList(field) ? [field, ...lists.keys(field).map(id => `${field}@${id}`)] : [lists.home(field)]
}

/** Waits until nothing of this page's is on its way there, and what stood in the way of the last attempt is here. */
function isFree(model, field, conflict) {
  if (model.blocked) return true
  if (model.state !== 'current' || conflict?.epoch === model.epoch && conflict.version > model.version) return false
  const homes = homesOf(model, field)
  return !model.writes.some(({ operations }) => operations.some(([verb, name]) =>
    verb === 'clear' || homes.includes(name) || listOf(name) === field))
}

/** The operations that write a value: { operations }, or { fault }. */
function operationsOf(model, field, value) {
  const { others, operations, fault } = model.lists.divide({ [field]: value })
  if (fault) return { fault }
  const sets = Object.entries(others).map(([name, one]) => one === undefined ? ['delete', name] : ['set', name, one])
  return { operations: [...sets, ...operations] }
}

/** A conflict that is tried again is not shown. */
function forget(model, outcome) {
  for (const [name, refusal] of [...model.refusals]) {
    if (refusal.outcome !== outcome) continue
    model.refusals.delete(name)
    model.touch(name)
  }
}

/**
 * Writes what `change` makes of a field's current value, on condition that nobody writes it meanwhile; if somebody did,
 * `change` is called again with the newer value. Promises the outcome, with the number of `attempts` and the `value`
 * that was written.
 * @param change - gets a copy of the value and returns the new one, or a promise of it; undefined deletes the field.
 */
export async function update(model, path, change) {
  if (model.state === 'left') model.join()
  let conflict
  for (let attempts = 1; ; attempts++) {
    await until(model, () => isFree(model, model.stored(path), conflict))
    if (model.blocked) return { ...model.blocked, attempts }
    const field = model.stored(path), { epoch } = model, before = model.get(field)
    const versionOf = name => model.fields.get(name)?.version || model.version
    const conditions = homesOf(model, field).map(name => [name, epoch, versionOf(name)])
    let value = change(structuredClone(before))
    // Without a promise nothing comes in between.
    if (typeof value?.then === 'function') value = await value
    if (same(value, before)) return { kind: 'unchanged', attempts, value }
    const { operations, fault } = operationsOf(model, field, value)
    if (fault) return { ...await model.lists.refuse(fault, { [field]: value }), attempts }
    const outcome = await model.propose(operations, conditions)
    if (outcome.kind === 'committed') return { ...outcome, attempts, value }
    if (outcome.kind !== 'conflict' || attempts === MOST_ATTEMPTS) return { ...outcome, attempts }
    forget(model, outcome)
    conflict = { epoch, version: outcome.version }
    await new Promise(resolve => setTimeout(resolve, Math.random() * attempts * PAUSE))
  }
}
