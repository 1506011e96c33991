/**
 * Undo of what this page did to elements of lists: each returns to where it stood, among those that are there now, as
 * ElementRestoration brings it back in Swift.
 */
import { listOf, stored } from './list-values.js'
import { same } from './values.js'

export const isElement = field => listOf(field) !== undefined

const idOf = field => field.slice(listOf(field).length + 1)

/** An element as it shows: { at, is }, its rank as far as it has one; undefined: it is not there. */
export function shownElement({ fields, lists }, field) {
  const is = lists.shown(listOf(field)).byId.get(idOf(field))
  return is === undefined ? undefined : { at: stored(fields.get(field)?.value)?.at, is }
}

/** The elements between which one stands that shows; undefined: it is not there. */
export function placeOf({ lists }, field) {
  const { ids } = lists.shown(listOf(field)), index = ids.indexOf(idOf(field))
  return index < 0 ? undefined : { after: ids[index - 1], before: ids[index + 1] }
}

/** The fields that a `delete` or a `clear` deletes: with a list all of its elements. */
export function deletedBy([verb, field], { fields, lists }) {
  if (verb === 'delete') return lists?.isList(field) ? lists.shown(field).ids.map(id => `${field}@${id}`) : [field]
  const present = [...fields].filter(([, { value }]) => value !== undefined).map(([name]) => name)
  // The head of a list comes back with its elements.
  return present.filter(name => isElement(name) || !lists?.isList(name))
}

/**
 * The operations that give elements what they had before a step: one that stood behind another comes back after it.
 * @param fields - of the step.
 * @param isCommitted - whether what is committed counts, or what shows.
 */
export function elementsBack(fields, model, isCommitted) {
  const orders = new Map(), rest = [...fields], names = new Set(fields.map(({ name }) => name)), operations = []
  const orderOf = list => orders.get(list) ?? model.lists.shown(list)[isCommitted ? 'order' : 'ids']
  const rankOf = field => stored(model.fields.get(field)?.value)?.at
  const now = field => isCommitted ? stored(model.fields.get(field)?.value) : shownElement(model, field)

  // While its commit is under way it may be about to move. What the step moved may have its rank again.
  const moves = ({ before, at, isMoved }, present) => before !== undefined && present !== undefined
    && (!at || isMoved || before.at !== present.at)
  // Elements that are there and go elsewhere: where they are now says nothing about where others go.
  const moving = new Set(fields.filter(field => moves(field, now(field.name))).map(({ name }) => name))

  /** Where the rank of an element is, among ranks as they are now. */
  const indexOfRank = ({ before }, order, list) => {
    const index = order.findIndex(id => rankOf(`${list}@${id}`) > before?.at)
    return index < 0 ? order.length : index
  }

  /** Behind the element that it followed; else before the first that is there of those that it preceded; else where its
   *  rank is. */
  const indexOf = (field, order, list) => {
    const { place } = field
    if (!place) return indexOfRank(field, order, list)
    const former = place.after === undefined ? -1 : order.indexOf(place.after)
    if (former >= 0) return former + 1
    // Two steps in one may name each other.
    for (let { before } = place, count = 0; count <= rest.length; count++) {
      if (before === undefined) return order.length
      const name = `${list}@${before}`, index = moving.has(name) ? -1 : order.indexOf(before)
      const next = rest.find(field => field.name === name)
      if (index >= 0) return index
      if (!next?.place) break
      before = next.place.before
    }
    return place.after === undefined ? 0 : indexOfRank(field, order, list)
  }

  /** Puts an element back into the order of its list. */
  const put = (field, list, id) => {
    const order = orderOf(list).filter(one => one !== id), index = indexOf(field, order, list)
    orders.set(list, [...order.slice(0, index), id, ...order.slice(index)])
    return { ...index > 0 && { after: order[index - 1] }, ...index < order.length && { before: order[index] } }
  }

  const back = field => {
    const { name, before } = field, list = listOf(name), id = idOf(name), present = now(name)
    if (before === undefined) {
      orders.set(list, orderOf(list).filter(one => one !== id))
      return present === undefined ? [] : [['delete', name]]
    }
    if (present === undefined) return [['insert', name, { ...put(field, list, id), is: before.is }]]
    return [
      ...moves(field, present) ? [['move', name, put(field, list, id)]] : [],
      ...same(present.is, before.is) ? [] : [['replace', name, before.is]],
    ]
  }

  while (rest.length) {
    const index = rest.findIndex(({ name, place }) => !names.has(`${listOf(name)}@${place?.after}`))
    // Two steps in one may name each other.
    const [field] = rest.splice(Math.max(index, 0), 1)
    names.delete(field.name)
    operations.push(...back(field))
    moving.delete(field.name)
  }
  return operations
}
