/**
 * The commits of a model: the hub's history, page by page backwards, and before it those that arrive meanwhile, each
 * once and none left out. Knows no document.
 */
import { past, valueBefore } from '/past.js'
import { listOf, titleOf } from '/list-values.js'
import { same } from '/values.js'

// Commits that one page asks for, and that are kept beyond what a person has asked for; pages without a commit that are
// read in a row, because the hub bounds what it looks through for one; milliseconds between two requests for what
// arrived without being told.
const COUNT = 100, KEPT = 1000, MOST_EMPTY = 20, PAUSE = 250

const wait = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))

/** Whether a writer is one of those, as the hub decides it: by name, by user, by tag, by name and the tag's begin. */
const isBy = ({ writer, user, tag }, writers) => writers.some(one =>
  one === writer || one === user || one === tag || one === `${writer}-${tag.slice(0, 4)}`)

export class Commits {
  /** Newest first: { epoch, version, time, tag, writer, user, own, changes }. Of `changes` only the wanted fields. */
  list = []
  /** Why it cannot be read: the hub's word (`end` of `past`), `noAnswer`, or nothing. */
  problem
  isReading = false
  /** Whether nothing older is there; `horizon` is the first version that is, `reason` why. */
  isAll = false
  horizon = 0
  reason = ''
  #model
  #query
  #asks                                  // what the hub is asked: it does not know which elements a list had
  #changed
  #head                                  // up to this version all is in the list; nothing before the first answer
  #epoch
  #next = 0                              // up to this version what is older is read next
  #asked = 0                             // how many a person has asked for
  #arrived = []                          // commits that wait for those before them
  #isFilling = false
  #filledAt = 0
  #turn = 0                              // answers to requests of an earlier one come too late

  /** @param query - `fields` and `writers`, both lists; empty: all.
   *  @param changed - is called at each change. */
  constructor(model, { fields = [], writers = [] }, changed) {
    this.#model = model
    this.#query = { fields, writers }
    this.#asks = fields.some(field => model.lists?.isList(field)) ? { fields: [], writers } : this.#query
    this.#changed = changed
    this.#begin()
  }

  /** Ends it: what the hub still answers is dropped. */
  close() { this.#turn++ }

  /** The version up to which it was looked for older commits. */
  get searched() { return this.#next }

  /** Asks for the next older page. */
  older() {
    if (!this.isReading && !this.isAll && !this.problem) this.#read(this.#turn)
  }

  /** Asks again for what could not be read. */
  again() {
    this.problem = undefined
    if (this.#head === undefined) return this.#begin()
    this.#merge()
    this.#changed()
  }

  #begin() {
    const turn = ++this.#turn
    Object.assign(this, { list: [], problem: undefined, isAll: false, horizon: 0, reason: '' })
    this.#head = undefined
    this.#next = this.#asked = 0
    this.#arrived = []
    this.#isFilling = false
    this.#read(turn)
  }

  async #read(turn) {
    this.isReading = true
    this.#changed()
    for (let pages = 0, found = 0; pages < MOST_EMPTY && !found && !this.isAll; pages++) {
      const answer = await past(this.#model, { ...this.#asks, through: this.#next, count: COUNT })
      if (turn !== this.#turn) return
      if (!this.#take(answer)) break
      if (this.#head === undefined) {
        this.#head = answer.head
        this.#epoch = this.#model.epoch
      }
      const commits = answer.commits.flatMap(commit => this.#shaped(commit) ?? [])
      found = commits.length
      this.list.push(...commits)
      this.#next = answer.next
      this.isAll = answer.end === 'all'
    }
    this.isReading = false
    this.#asked = this.list.length
    if (!this.problem) this.#merge()
    this.#changed()
  }

  /** What an answer says beside its commits. False if there are none. */
  #take({ end, horizon, reason }) {
    if (end === 'more' || end === 'all') {
      Object.assign(this, { horizon, reason, problem: undefined })
      return true
    }
    this.problem = end
    // Of what may not be read any more nothing stays.
    if (end !== 'noAnswer' && end !== 'unreadable') {
      this.list = []
      this.#head = undefined
    }
    return false
  }

  /** A commit of an answer, or nothing if nothing of it is wanted. */
  #shaped({ name: writer, tag, ...commit }) {
    const shaped = { ...commit, writer, tag, own: tag === this.#model.link.tag }
    return this.#asks === this.#query ? shaped : this.#wanted(shaped)
  }

  // What arrives.

  /** What was told of the model: its commits, if each was told, and its version in any case. */
  arrive({ version, epoch, commits }) {
    const { blocked } = this.#model
    if (blocked) {
      if (this.problem === 'notJoined') return
      this.#turn++
      this.isReading = false
      this.#take({ end: 'notJoined' })
      return this.#changed()
    }
    if (this.problem === 'noAnswer' || this.problem === 'notJoined') return this.again()
    if (this.#head === undefined || this.problem) return
    if (epoch !== this.#epoch) return this.#begin()
    if (version <= this.#head) return
    this.#arrived.push(...commits)
    this.#arrived.splice(0, this.#arrived.length - KEPT)
    if (this.#merge()) this.#changed()
  }

  /** Puts what arrived before the list, as far as nothing is missing between; the rest is asked for. */
  #merge() {
    const merged = []
    for (const commit of this.#arrived.splice(0)) {
      if (commit.version === this.#head + 1 && commit.epoch === this.#epoch) {
        this.#head++
        merged.push(commit)
      } else if (commit.version > this.#head) this.#arrived.push(commit)
    }
    this.#prepend(merged.flatMap(commit => this.#wanted(commit) ?? []))
    if (this.#model.version > this.#head && this.#model.epoch === this.#epoch) this.#fill(this.#turn)
    return merged.length > 0
  }

  /** A commit as the hub would answer it, or nothing if it would not. */
  #wanted({ changes, before, hops, ...commit }) {
    const { fields, writers } = this.#query
    const wanted = fields.length
      ? changes.filter(([field]) => fields.includes(field) || fields.includes(listOf(field))) : changes
    return !wanted.length && fields.length || writers.length && !isBy(commit, writers) ? undefined
      : { ...commit, changes: wanted }
  }

  /** @param commits - oldest first. */
  #prepend(commits) {
    this.list.unshift(...commits.reverse())
    const most = Math.max(KEPT, this.#asked)
    if (this.list.length <= most) return
    this.list.length = most
    this.#next = this.list.at(-1).version - 1
    this.isAll = false
  }

  /** Asks for what was committed and not told, because the page was slow or away. */
  async #fill(turn) {
    if (this.#isFilling) return
    this.#isFilling = true
    await wait(Math.max(0, this.#filledAt + PAUSE - performance.now()))
    if (turn !== this.#turn) return
    if (this.#model.version - this.#head > KEPT) return this.#begin()
    const answer = await past(this.#model, { ...this.#asks, after: this.#head, oldest: true })
    if (turn !== this.#turn) return
    this.#isFilling = false
    this.#filledAt = performance.now()
    if (this.#take(answer)) {
      // Some of them are no longer kept: then the list begins anew.
      if (answer.horizon > this.#head + 1) return this.#begin()
      this.#prepend(answer.commits.flatMap(commit => this.#shaped(commit) ?? []))
      this.#head = Math.max(this.#head, answer.end === 'more' ? answer.next : answer.head)
      this.#merge()
    }
    this.#changed()
  }
}

/** Why no history can be read, in a sentence. */
export function problemWords(problem, { id, blocked, link }) {
  const who = link.welcome?.user ?? 'This page'
  return {
    none: 'The hub keeps no history that a page can read: it is of an earlier release.',
    notPermitted: `${who} may not read the history of ${id}.`,
    notJoined: `${id} cannot be read: ${blocked?.text ?? 'it is not joined'}.`,
    unreadable: 'The hub cannot read its history now.',
    noAnswer: link.isLive ? 'The hub has not answered.' : 'Without the hub, nothing older can be read.',
  }[problem] ?? `The hub answered: ${problem}.`
}

/** Where the history begins, and why, in a sentence. */
export const horizonWords = (horizon, reason) => ({
  beginning: 'The model begins here.',
  notKept: `Commits before version ${horizon} are no longer kept.`,
  renumbered: `Commits before version ${horizon} cannot be shown: names of deleted fields were given back then.`,
  start: `The hub keeps its models in memory: the history begins with its start, at version ${horizon}.`,
}[reason] ?? `The history begins at version ${horizon}.`)

/**
 * What brings a model's fields back to a version: { epoch, fields: [{ field, from, to, version }] }, `to` being the
 * present value and `from` that of then; or a sentence that says why nobody can tell.
 * @param only - these fields; without any: all that changed since.
 */
export async function stepsTo(model, version, only = []) {
  const isList = field => model.lists?.isList(field), lists = only.filter(isList)
  const changed = new Set(only.filter(field => !isList(field)))
  const isWanted = field => !only.length || lists.includes(listOf(field))
  for (let after = version, end = only.length && !lists.length ? 'all' : 'more'; end === 'more';) {
    const answer = await past(model, { after, oldest: true })
    if (!['more', 'all'].includes(answer.end)) return problemWords(answer.end, model)
    if (answer.horizon > version + 1) return `The commits after version ${version} are no longer all kept.`
    for (const [field] of answer.commits.flatMap(({ changes }) => changes)) {
      // A list is what its elements are.
      if (field[0] !== '@' && !isList(field) && isWanted(field)) changed.add(field)
    }
    after = answer.next
    end = answer.end
  }
  const { epoch } = model, fields = []
  for (const field of changed) {
    const then = await valueBefore(model, field, version + 1)
    if (!then) return `The value that ${titleOf(field)} had at version ${version} is no longer in the history.`
    const { value, version: now = 0 } = model.fields.get(field) ?? {}
    if (!same(value, then.value)) fields.push({ field, from: then.value, to: value, version: now || model.version })
  }
  return model.epoch === epoch ? { epoch, fields } : 'The hub has begun a new epoch meanwhile.'
}
