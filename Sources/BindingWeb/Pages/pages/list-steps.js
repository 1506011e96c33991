/** From one list to another, as ListDifference finds it in Swift: the least insertions, moves, removals and changes. */
import { same } from './values.js'

/** The most operations of one write; the hub's own limit may be lower. */
const MOST = 1000

/** The id of an element, as text: its member `id`, a text or a whole number; undefined: it has none. */
export function idOf(element) {
  const id = element?.id
  if (typeof id === 'string') return id || undefined
  return Number.isInteger(id) ? String(id) : id?.$int
}

/** Whether an element can have this id. */
export const isId = id => typeof id === 'string' && /^[\w-]{1,40}$/.test(id)

const WORDS = {
  noArray: () => 'a list takes an array',
  missingId: index => `the element${index === undefined ? '' : ` at ${index}`} has no id; give each element of a list `
    + 'an id of its own',
  badId: id => `no element can have the id '${id.slice(0, 60)}'; an id is 1 to 40 of A-Z a-z 0-9 _ -`,
  duplicateId: id => `two elements have the id ${id}; give each element of a list an id of its own`,
  otherId: (id, other) => `element ${id} cannot become one with the id ${other}; remove it and insert the other`,
  noElement: id => `there is no element ${id}; it was removed, or never inserted`,
  tooMany: count => `the new array differs from the list by ${count} elements, and one write has at most ${MOST}; `
    + 'assign it in parts',
  storedAsArray: () => 'the hub holds one array here, written by a program without the policy list; delete the field '
    + "and the model's @description, share the model again, and assign the elements",
}

/** Why something cannot be written to a list, and the cure. */
export class ListError extends Error {
  constructor(field, fault, ...details) { super(`${field}: ${WORDS[fault](...details)}`) }
}

/**
 * The operations that make an array of a list, each with its anchors there when it is needed.
 * @param ids, values - of the list's elements, in order.
 */
export function stepsBetween(list, ids, values, array) {
  if (!Array.isArray(array)) throw new ListError(list, 'noArray')
  const next = array.map((element, index) => {
    const id = idOf(element)
    if (id === undefined) throw new ListError(list, 'missingId', index)
    if (!isId(id)) throw new ListError(list, 'badId', id)
    return id
  })
  const wanted = new Set()
  for (const id of next) {
    if (wanted.has(id)) throw new ListError(list, 'duplicateId', id)
    wanted.add(id)
  }
  const places = new Map(ids.map((id, index) => [id, index])), field = id => `${list}@${id}`
  const operations = ids.filter(id => !wanted.has(id)).map(id => ['delete', field(id)])
  const former = next.map(id => places.get(id)), isKept = longestRun(former), behind = Array(next.length)
  for (let index = next.length - 1, anchor; index >= 0; index--) {
    behind[index] = anchor
    if (isKept[index]) anchor = next[index]
  }
  next.forEach((id, index) => {
    const place = { ...index && { after: next[index - 1] }, ...behind[index] && { before: behind[index] } }
    if (former[index] === undefined) return operations.push(['insert', field(id), { ...place, is: array[index] }])
    if (!isKept[index]) operations.push(['move', field(id), place])
    if (!same(values[former[index]], array[index])) operations.push(['replace', field(id), array[index]])
  })
  if (operations.length > MOST) throw new ListError(list, 'tooMany', operations.length)
  return operations
}

/** Which of the numbers form a longest rising sequence (Schensted, 1961); undefined is in none. */
export function longestRun(numbers) {
  const ends = [], before = Array(numbers.length), isKept = numbers.map(() => false)
  numbers.forEach((number, index) => {
    if (number === undefined) return
    let low = 0, high = ends.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (numbers[ends[middle]] < number) low = middle + 1
      else high = middle
    }
    before[index] = ends[low - 1]
    ends[low] = index
  })
  for (let index = ends.at(-1); index !== undefined; index = before[index]) isKept[index] = true
  return isKept
}
