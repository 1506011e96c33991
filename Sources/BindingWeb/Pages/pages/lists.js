/**
 * Lists, as scripts and controls write them. An element is known by its `id`: cues[id=7], whose field is cues@7. Of a
 * plain array, elements are found in the same way, or by their index, and each write is one of the whole.
 */
import { idOf, isId, ListError, stepsBetween } from './list-steps.js'
import { listOf, ListValues, plainKeys, split, stored } from './list-values.js'
import { same } from './values.js'

const PLACES = /^(insert|move|delete)$/
const unchanged = () => Promise.resolve({ kind: 'unchanged' })

/** The place directly after an element; null: the front, undefined: the end. */
function anchors(ids, after = ids.at(-1)) {
  const key = after === null || after === undefined ? undefined : String(after)
  const behind = key === undefined || ids.includes(key) ? ids[ids.indexOf(key) + 1] : undefined
  return { ...key !== undefined && { after: key }, ...behind !== undefined && { before: behind } }
}

/** The lists of one model of bind.js. */
export class Lists extends ListValues {
  /** Divides what is to be written into the operations of lists, and the values of other fields. { fault } is what ends
   *  it, if it cannot be. */
  divide(values) {
    const others = {}, operations = [], elements = new Map()
    try {
      for (const [path, value] of Object.entries(values)) {
        const { list, id, part } = split(path), isWhole = id === undefined
        const isOther = path[0] === '@' || isWhole && !this.isDescribed(list) && !this.isList(list)
        if (isOther || isWhole && value === undefined && this.isStoredAsArray(list)) others[path] = value
        else if (this.isStoredAsArray(list)) throw new ListError(list, 'storedAsArray')
        else if (isWhole) operations.push(...this.#assigned(list, value))
        else {
          const field = `${list}@${id}`, now = elements.has(field) ? elements.get(field) : this.get(field)
          if (now === undefined && (value !== undefined || part)) throw new ListError(list, 'noElement', id)
          elements.set(field, part ? { ...now, [part]: value } : value)
        }
      }
      for (const [field, element] of elements) this.#write(field, element, operations, others)
    } catch (error) {
      if (!(error instanceof ListError)) throw error
      return { fault: error }
    }
    return { others, operations }
  }

  #assigned(list, value) {
    if (value === undefined) return [['delete', list]]
    const { ids, values } = this.shown(list)
    return stepsBetween(list, ids, values, value)
  }

  /** The operations after which a list is what it was: `values` has what the fields of elements had that were others
   *  then, with their places; undefined where there was none. */
  back(list, values) {
    const all = new Map([...this.model.fields].map(([field, { value }]) => [field, value]))
    for (const [field, value] of values) all.set(field, value)
    const then = [...all]
      .flatMap(([field, value]) => listOf(field) === list && stored(value) ? { field, ...value } : [])
      .sort((one, other) => one.at - other.at || (one.field < other.field ? -1 : 1))
    return this.#assigned(list, then.map(({ is }) => is))
  }

  /** The whole element is written; of a plain array, the whole array. */
  #write(field, element, operations, others) {
    const { list, id } = split(field)
    if (!this.isList(list)) {
      const shown = this.model.get(list) ?? [], array = [...others[list] ?? shown], index = plainKeys(shown).indexOf(id)
      if (index >= 0) array.splice(index, 1, ...element === undefined ? [] : [element])
      others[list] = array
    } else if (element === undefined) operations.push(['delete', field])
    else if (idOf(element) !== id) throw new ListError(list, 'otherId', id, idOf(element))
    else if (!same(element, this.get(field))) operations.push(['replace', field, element])
  }

  /** @param seen - the list that its writer had in sight, if that may be older than what shows. */
  set(path, value, seen) {
    const { model } = this, home = this.home(path)
    if (same(value, model.get(path))) {
      if (model.refusals.delete(home)) model.touch(home)
      return unchanged()
    }
    const ids = Array.isArray(seen) && seen.map(idOf)
    if (!ids || !ids.every(isId) || !this.isList(path)) return model.change({ [path]: value })
    try {
      const operations = stepsBetween(path, ids, seen, value)
      return operations.length ? model.propose(operations) : unchanged()
    } catch (error) {
      if (error instanceof ListError) return this.refuse(error, { [path]: value })
      throw error
    }
  }

  /** What cannot be written ends at once, and says why. */
  refuse({ message: text }, values) {
    const outcome = { kind: 'refused', code: 'malformedValue', text }
    const operations = Object.entries(values).map(([path, value]) => ['', this.home(path), value])
    this.model.end({ operations, resolve() {} }, outcome, false)
    return Promise.resolve(outcome)
  }

  /** Until the model is here it is not known whether the field is a list. */
  #known() {
    const { model } = this
    return new Promise(resolve => {
      const end = model.on(null, () => {
        if (model.epoch === '0') return
        end()
        resolve()
      })
    })
  }

  /** A write that shows at once; a promise of its outcome.
   *  @param steps - `check` throws what is wrong; `operation` makes one of a list's ids, `change` changes a plain array
   *    with these keys. */
  #step(name, steps) {
    const { model } = this
    if (model.epoch === '0') return this.#known().then(() => this.#step(name, steps))
    const keys = this.keys(name)
    try {
      if (this.isStoredAsArray(name)) throw new ListError(name, 'storedAsArray')
      steps.check?.(keys)
      if (this.isList(name)) return model.propose([steps.operation(keys)])
      const array = [...model.get(name) ?? []]
      steps.change(array, keys)
      return model.set(name, array)
    } catch (error) {
      if (error instanceof ListError) return this.refuse(error, { [name]: undefined })
      throw error
    }
  }

  /** Inserts an element directly after another one; null: at the front; undefined: at the end. An id that is there is a
   *  conflict. */
  insert(name, element, after) {
    const id = idOf(element)
    return this.#step(name, {
      check: () => {
        if (this.isList(name) && id === undefined) throw new ListError(name, 'missingId')
        if (this.isList(name) && !isId(id)) throw new ListError(name, 'badId', id)
      },
      operation: ids => ['insert', `${name}@${id}`, { ...anchors(ids, after), is: element }],
      change: (array, keys) =>
        array.splice(after === undefined ? array.length : keys.indexOf(String(after)) + 1, 0, element),
    })
  }

  /** Moves an element directly after another one; null: to the front; undefined: to the end. */
  move(name, id, after) {
    const key = String(id), without = keys => keys.filter(one => one !== key)
    return this.#step(name, {
      check: keys => {
        if (!keys.includes(key) || String(after) === key) throw new ListError(name, 'noElement', key)
      },
      operation: ids => ['move', `${name}@${key}`, anchors(without(ids), after)],
      change: (array, keys) => {
        const [element] = array.splice(keys.indexOf(key), 1)
        array.splice(after === undefined ? array.length : without(keys).indexOf(String(after)) + 1, 0, element)
      },
    })
  }

  /** Removes an element; of one that is gone it ends as unchanged. */
  remove(name, id) {
    return this.#step(name, {
      operation: () => ['delete', `${name}@${id}`],
      change: (array, keys) => { if (keys.includes(String(id))) array.splice(keys.indexOf(String(id)), 1) },
    })
  }

  // How writes are sent, and end.

  /** Whether a write has to wait for an earlier one to be sent: their places build on each other. */
  waits(write, earlier) {
    const places = ({ operations }) =>
      operations.flatMap(([verb, field]) => PLACES.test(verb) ? listOf(field) ?? field : [])
    const lists = places(write)
    return lists.length > 0 && earlier.some(other => !other.number && places(other).some(name => lists.includes(name)))
  }

  /** What of a refused write is told where: of an element that is not there, at its list too. */
  refused({ operations }) {
    return operations.flatMap(([verb, field, operand]) => {
      const list = listOf(field), isOfValue = verb === 'replace' || !verb
      if (!list) return [[verb, field, operand]]
      const value = verb === 'insert' ? operand.is : isOfValue ? operand : undefined
      if (isOfValue && this.get(field) !== undefined) return [[verb && 'set', field, value]]
      return [[verb, field, value], [verb, list, value]]
    })
  }
}

export const listsOf = model => new Lists(model)
