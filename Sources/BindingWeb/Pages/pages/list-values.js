/** What the lists of a model show: each is one array, made of a field an element (protocol.md, section 6.5). */
import { idOf, isId } from './list-steps.js'
import { same } from './values.js'

const NONE = Object.freeze([])

/** What `cues`, `cues@7`, `cues[id=7]` and `cues[id=7].name` are of: { list, id, part }. */
export function split(path) {
  const [, list, id, key, part] = /^(.[^@[]*)(?:@(.*)|\[id=([^\]]*)\](?:\.(.+))?)$/s.exec(path) ?? [, path]
  return { list, id: id ?? key, part }
}

/** The list of an element's field; undefined: it is none. */
export const listOf = field => field?.indexOf('@') > 0 ? field.slice(0, field.indexOf('@')) : undefined
const isHead = value => Number.isInteger(value?.$list) && Object.keys(value).length === 1

/** The value of an element's field; undefined: it is no element, and every reader passes over it. */
export const stored = value =>
  Number.isSafeInteger(value?.at) && value.at > 0 && value.is !== undefined ? value : undefined

/** The keys of a plain array's elements: their ids if each has one of its own, else their indices. */
const keysOfPlain = new WeakMap()
export function plainKeys(array) {
  if (!Array.isArray(array)) return NONE
  if (!keysOfPlain.has(array)) {
    const ids = array.map(idOf), areIds = ids.every(isId) && new Set(ids).size === ids.length
    keysOfPlain.set(array, areIds ? ids : array.map((_, index) => `#${index}`))
  }
  return keysOfPlain.get(array)
}

/** The name of a field for people: of an element as cues[id=7]. */
export const titleOf = field => /.@/.test(field) ? field.replace(/@(.*)/s, '[id=$1]') : field

/** Changes of a feed for people: an element as cues[id=7], without its place; the count of a list only by itself. */
export function readableChanges(changes) {
  const lists = new Set(changes.map(({ field }) => listOf(field)))
  return changes.filter(({ field }) => !lists.has(field)).map(change => {
    const { field, from, to } = change, list = listOf(field)
    if (isHead(to)) return { ...change, isKnown: false, to: `${to.$list} elements` }
    if (!list) return change
    const isMoved = stored(from) && stored(to) && from.at !== to.at && same(from.is, to.is)
    return { ...change, field: titleOf(field), from: from?.is,
      // What was there is not written back as a field.
      isKnown: false, to: isMoved ? 'moved' : to?.is ?? to }
  })
}

/** Changes of an earlier commit for people, each [field, value, isRemoved]: of an element without its place, of a list
 *  the number of elements only by itself. */
export function readablePast(changes) {
  const lists = new Set(changes.map(([field]) => listOf(field)))
  return changes.filter(([field]) => !lists.has(field)).map(([field, value, isRemoved]) =>
    [field, isHead(value) ? `${value.$list} elements` : listOf(field) ? stored(value)?.is ?? value : value, isRemoved])
}

/** Puts an element where the hub would (protocol.md, 6.5-3). */
function put(ids, id, { after, before }) {
  const former = ids.indexOf(after), behind = ids.indexOf(before)
  ids.splice(former >= 0 ? former + 1 : behind >= 0 ? behind : ids.length, 0, id)
}

export class ListValues {
  // name → what is committed: members, order, stale, isStale; what shows: ids, values, byId, newest; over, isPlaced: by
  // which pending operations.
  #all = new Map()
  #described                             // names that the description calls lists; undefined: to be looked up

  /** @param model - of bind.js, with its `fields`, `writes`, `observers` and `link`. */
  constructor(model) {
    this.model = model
    this.touch(model.fields.keys())
    this.touch(model.writes.flatMap(({ operations }) => operations.map(([, name]) => name)))
  }

  /** The fields may be others now, or pending writes of them. */
  touch(fields) {
    for (const field of fields) {
      const name = listOf(field)
      if (field === '@description') this.#described = undefined
      else if (name) {
        const list = this.#of(name)
        list.stale.add(field.slice(name.length + 1))
        list.isStale = true
      } else if (field === undefined) for (const list of this.#all.values()) list.isStale = true
      else if (this.#all.has(field)) this.#all.get(field).isStale = true
    }
  }

  #of(name) {
    let list = this.#all.get(name)
    if (!list) {
      list = { members: new Map(), order: [], stale: new Set(), isStale: true,
        ids: NONE, values: NONE, byId: new Map(), over: new Map(), isPlaced: false }
      this.#all.set(name, list)
    }
    return list
  }

  // What is a list.

  isDescribed(name) {
    const { id, link: { welcome } } = this.model
    // A hub that knows no lists holds an array; so does an ephemeral model.
    if (id[0] === '@' || welcome && !welcome.lists) return false
    if (!this.#described) {
      const rules = Object.entries(this.model.get('@description')?.fields ?? {})
      this.#described = new Set(rules.filter(([, rule]) => rule?.policy === 'list').map(([field]) => field))
    }
    return this.#described.has(name)
  }

  /** Whether the hub holds one array where elements should be: it shows, and nothing is written. */
  isStoredAsArray(name) {
    const value = this.model.fields.get(name)?.value
    return value !== undefined && !isHead(value) && !(Array.isArray(value) && !value.length) && this.isDescribed(name)
  }

  isList(name) {
    const isDescribed = this.isDescribed(name)
    if (!isDescribed && !this.#all.has(name) || this.isStoredAsArray(name)) return false
    return isDescribed || this.shown(name).ids.length > 0 || isHead(this.model.fields.get(name)?.value)
  }

  /** Whether a name is that of a list, or of a part of one or of a plain array. */
  has(path) { return path[0] !== '@' && (/[@[]/.test(path) || this.isList(path)) }

  /** The field that holds a part: of a plain array the whole. */
  home(path) {
    if (path?.[0] === '@' || !/[@[]/.test(path)) return path
    const { list, id } = split(path)
    return this.isList(list) ? `${list}@${id}` : list
  }

  // Reading.

  /** What shows; undefined: nothing is written. The arrays and elements are kept, and frozen. */
  get(path) {
    const { list, id, part } = split(path)
    if (id === undefined) {
      const { ids, values } = this.shown(list)
      return ids.length || this.model.fields.get(list)?.value !== undefined ? values : undefined
    }
    const element = this.isList(list) ? this.shown(list).byId.get(id)
      : this.model.get(list)?.[plainKeys(this.model.get(list)).indexOf(id)]
    return part ? element?.[part] : element
  }

  /** What a list shows that was never written; undefined: it is none. */
  none(path) { return this.isList(path) ? NONE : undefined }

  /** By what the elements of a list, or of a plain array, are known, in order. It is the same array while they stay. */
  keys(name) { return this.isList(name) ? this.shown(name).ids : plainKeys(this.model.get(name)) }

  /** Version, writer and time of what was last committed in a list; undefined: it is none. */
  newest(name) {
    if (!this.isList(name)) return
    const list = this.shown(name), { fields } = this.model
    return list.newest ??= [name, ...list.order.map(id => `${name}@${id}`)].map(field => fields.get(field))
      .reduce((last, field) => field?.version > (last?.version ?? 0) ? field : last, undefined)
  }

  /** The first write without an outcome of a list's elements; undefined: there is none, or it is no list. */
  pending(name) {
    return this.isList(name) && this.model.writes.find(write =>
      !write.isDecided && write.operations.some(([, field]) => listOf(field) === name)) || undefined
  }

  /** Which fields observers and elements have to look at, of those that were touched. */
  concerned(touched) {
    const fields = new Set(touched)
    for (const field of touched) if (listOf(field)) fields.add(listOf(field))
    for (const { field } of this.model.observers) {
      if (/.[@[]/.test(field ?? '') && fields.has(this.home(field))) fields.add(field)
    }
    return [...fields]
  }

  /** A list for people, an element a line; still JSON. Undefined: it is none. */
  text(path, value) {
    if (!Array.isArray(value) || value.length < 2 || !this.isList(path)) return
    return `[${value.map(element => JSON.stringify(element)).join(',\n ')}]`
  }

  /** What a list shows: `ids`, `values` and `byId`, all in order. */
  shown(name) {
    const list = this.#of(name), { members } = list
    if (!list.isStale) return list
    list.isStale = false
    const { stale } = list, added = []
    let isMoved = false
    for (const id of stale) {
      const now = stored(this.model.fields.get(`${name}@${id}`)?.value), old = members.get(id)
      if (now?.at !== old?.at) isMoved = true
      if (now && !old) added.push(id)
      if (now) members.set(id, now)
      else members.delete(id)
    }
    list.stale = new Set()
    if (isMoved) {
      list.order = [...list.order, ...added].filter(id => members.has(id)).sort((one, other) =>
        members.get(one).at - members.get(other).at || (one < other ? -1 : 1))
    }
    this.#show(name, list, isMoved ? undefined : stale)
    return list
  }

  /** Makes anew what shows: the committed elements under the pending operations of this page, as the hub will apply
   *  them. What says the same stays the same object.
   *  @param stale - the only elements that may be others, in an order that is the same; undefined: all may be */
  #show(name, list, stale) {
    const { ids, over, isPlaced } = this.#overlaid(name, list)
    const shown = id => {
      const value = over.has(id) ? over.get(id) : list.members.get(id).is, former = list.byId.get(id)
      return former !== undefined && same(value, former) ? former : Object.freeze(value)
    }
    if (stale && !isPlaced && !list.isPlaced) {
      const changed = [...new Set([...stale, ...list.over.keys(), ...over.keys()])].filter(id =>
        list.byId.has(id) && list.byId.get(id) !== shown(id))
      if (changed.length) list.values = [...list.values]
      for (const id of changed) {
        list.byId.set(id, shown(id))
        list.values[list.ids.indexOf(id)] = list.byId.get(id)
      }
      Object.freeze(list.values)
    } else {
      const byId = new Map(ids.map(id => [id, shown(id)])), values = [...byId.values()]
      const isSame = ids.length === list.ids.length && ids.every((id, index) => list.ids[index] === id)
      if (!isSame) list.ids = Object.freeze(ids)
      if (!isSame || values.some((value, index) => value !== list.values[index])) list.values = Object.freeze(values)
      list.byId = byId
    }
    Object.assign(list, { over, isPlaced, newest: undefined })
  }

  /** The order with the pending operations of this page, the elements that they write, and whether any is about the
   *  order. */
  #overlaid(name, list) {
    const over = new Map()
    let ids = list.order, isPlaced = false
    for (const { isHidden, operations } of this.model.writes) {
      for (const [verb, field, operand] of isHidden ? [] : operations) {
        const isAll = verb === 'clear' || verb === 'delete' && field === name
        if (!isAll && listOf(field) !== name) continue
        if (verb !== 'replace' && !isPlaced) [ids, isPlaced] = [[...ids], true]
        if (isAll) ids.length = 0
        else apply(verb, field.slice(name.length + 1), operand, ids, over)
      }
    }
    return { ids, over, isPlaced }
  }
}

/** Nobody's element is to be frozen before it is committed. */
const copy = value => value && typeof value === 'object' && !Array.isArray(value) ? { ...value } : value

function apply(verb, id, operand, ids, over) {
  const index = ids.indexOf(id)
  if (verb === 'insert' && index < 0) {
    put(ids, id, operand)
    over.set(id, copy(operand.is))
  } else if (verb === 'replace' && index >= 0) over.set(id, copy(operand))
  else if (/move|delete/.test(verb) && index >= 0) {
    ids.splice(index, 1)
    if (verb === 'move') put(ids, id, operand)
  }
}
