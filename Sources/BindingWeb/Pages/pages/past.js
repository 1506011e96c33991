/** Earlier commits of a model, a page at a time, from the hub's history (docs/reference/protocol.md, 5.5 and 10.2). */

// The hub answers one request of a page at a time. Milliseconds: after which one without an answer is repeated; for how
// long one is waited for in all; between two looks whether its model is current.
const AGAIN = 3000, LONGEST = 10_000, PAUSE = 100

const queues = new WeakMap()             // link → Queue

class Queue {
  #link
  #waiting = []                          // the first one is the open one
  #serial = 0
  #timer

  constructor(link) {
    this.#link = link
    link.on((what, detail) => {
      if (what === 'past') this.#answer(detail)
      if (what === 'state') this.#send()
    })
  }

  ask(model, query) {
    return new Promise(resolve => {
      this.#waiting.push({ model, query, resolve, request: ++this.#serial })
      if (this.#waiting.length === 1) this.#send()
    })
  }

  #send() {
    clearTimeout(this.#timer)
    const [first] = this.#waiting
    if (!first) return
    const time = performance.now(), { model, query, request } = first, isCurrent = model.state === 'current'
    first.until ??= time + LONGEST
    if (time > first.until) return this.#end({ end: 'noAnswer' })
    if (model.blocked) return this.#end({ end: 'notJoined' })
    if (isCurrent) this.#link.sendJSON({ kind: 'history', model: model.id, request, ...query })
    this.#timer = setTimeout(() => this.#send(), isCurrent ? AGAIN : PAUSE)
  }

  #answer(message) {
    // Not joined: the question overtook the answer to a join, and is asked again.
    if (message.request === this.#waiting[0]?.request && message.end !== 'notJoined') this.#end(message)
  }

  #end(answer) {
    this.#waiting.shift().resolve(answer)
    this.#send()
  }
}

/**
 * Asks for earlier commits. `query` has the members of `history` in the protocol.
 * @returns the message `past`; `end` is `noAnswer` where no hub answered within 10 s.
 */
export function past(model, query) {
  const { link } = model
  if (!queues.has(link)) queues.set(link, new Queue(link))
  return queues.get(link).ask(model, query)
}

/** The committed value of a field just before a version of this log: { value, version }; undefined where the hub no
 *  longer has it. */
export async function valueBefore(model, field, version) {
  let through = version - 1, begins = true
  while (through > 0) {
    const { end, commits = [], reason, next } = await past(model, { fields: [field], through, count: 1 })
    if (commits.length) {
      const [{ version, changes: [[, value, isRemoved]] }] = commits
      return isRemoved ? undefined : { value, version }
    }
    if (end !== 'more' && end !== 'all') return
    begins = reason === 'beginning'
    through = end === 'more' ? next : 0
  }
  return begins ? { value: undefined, version: 0 } : undefined
}
