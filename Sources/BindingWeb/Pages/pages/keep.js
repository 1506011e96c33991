/**
 * Keeps what is not confirmed yet, what is half typed, and the last known values, over a reload and over the end of the
 * browser: in IndexedDB, by the hub's log. A page has it with <script src="/keep.js" type="module"></script>; it is
 * about `bind.link()` alone.
 */
import { OLD } from '/conflicts.js'
import { drafts, putBack, takeDrafts, waiting } from '/drafts.js'
import {
  OLDEST, announceKept, dropReplicas, forgetRestored, last, lookUp, replicas, restoreOnce, restored,
} from '/kept-models.js'
import { forgetPages, keepPage } from '/kept-pages.js'
import { asked, deadPages, finished, hasLocks, noteHub, page, records } from '/kept-store.js'
import {
  conditionsOf, forgive, isKeepable, placeOf, replicaOf, reportUnknown, revive, show,
} from '/replicas.js'
import { isSet } from '/values.js'

export { waiting, whenWaiting } from '/drafts.js'
export { whenKept } from '/kept-models.js'

// Milliseconds: between two looks at what there is to keep, and how long of these replicas are written; how long the
// hub is not asked until what was kept is read.
const PAUSE = 250, BUSY = 12, LONGEST = 500
// A model is written again only when so many times what it took has passed.
const REST = 20

const link = bind.link()
const wait = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))

let { log } = last                       // whose writes and values are kept; without a hub, those of the last one
let kept                                 // what is kept of this page; nothing before it has taken over what there was
let times = 0                            // how often it was kept

/** Writes of pages that are no more, whose model is not here yet. */
const returning = new Set()

const isShown = model => model.state === 'current' || model.version > 0

// Keeping.

/** What is kept of a write. Times are of the page's own clock, which ends with it. */
const entryOf = (model, { operations, conditions, rules, seen, number, at }) => ({
  model: model.id, operations, conditions, rules, seen, number, tag: link.tag,
  // With a link it may be sent before this is kept again.
  wasSent: number > 0 || link.isLive, at: Math.round(performance.timeOrigin + at),
})

function unsent() {
  const here = [...link.models.values()].flatMap(model =>
    model.writes.filter(write => !write.isDecided).map(write => entryOf(model, write)))
  return [...here, ...committed.values(), ...returning]
}

const versions = new Map()               // model → epoch and version of what is kept of it, longest ago first
const committed = new Map()              // write → what is kept of it, until its model is kept with it
let isFull = false                       // the browser gives no more room: only writes are kept

/** Of the models that have changed as many as there is time for, those first that were kept longest ago. */
function changedReplicas() {
  const began = performance.now(), found = new Map(), order = [...versions.keys()]
  const isDue = (model, { epoch, version, until } = { until: 0 }) =>
    (epoch !== model.epoch || version !== model.version) && began >= until
  const changed = [...link.models.values()].filter(model => isKeepable(model) && isDue(model, versions.get(model)))
  for (const model of isFull ? [] : changed.sort((one, other) => order.indexOf(one) - order.indexOf(other))) {
    const time = performance.now()
    if (found.size && time - began > BUSY) break
    found.set(model, replicaOf(model))
    const until = time + REST * (performance.now() - time)
    versions.delete(model)
    versions.set(model, { epoch: model.epoch, version: model.version, until })
  }
  return found
}

/** A committed write stays until a replica is kept that contains it: both change in one transaction. */
function dropContained() {
  for (const [write, { model: id, epoch, version }] of committed) {
    const model = link.models.get(id), has = versions.get(model)
    const isIn = has && (has.epoch !== epoch || has.version >= version)
    if (isIn || isFull || model.state === 'left') committed.delete(write)
  }
}

async function keep() {
  if (kept === undefined) return
  const of = log, changed = changedReplicas()
  dropContained()
  const now = JSON.stringify([unsent(), drafts()])
  if (now === kept && !changed.size) return
  kept = now
  times++
  try {
    const store = await records('readwrite'), done = finished(store.transaction)
    put(store, of, now)
    for (const [{ id }, replica] of changed) {
      // Those of pages that live no more are older, and nobody else throws them away.
      for (const { key, isDead } of replicas.get(id) ?? []) if (isDead) store.delete(key)
      replicas.delete(id)
      if (replica) store.put({ at: Date.now(), replica }, [of, page, id])
    }
    await done
  } catch (error) {
    if (!changed.size) throw error
    isFull = true
    console.warn('keep.js: the last known values are not kept:', error)
    put(await records('readwrite'), of, now)
  }
}

const put = (store, of, content) => content === '[[],[]]' ? store.delete([of, page])
  : store.put({ at: Date.now(), content }, [of, page])

/** bind.js asks before what is typed goes with the page, unless it is kept. */
function keepNow() {
  keep().catch(error => {
    bind.isKept = false
    reportError(error)
  })
}

let soon
function keepSoon() {
  soon ??= setTimeout(() => {
    soon = undefined
    keepNow()
  })
}

document.addEventListener('input', keepSoon, true)
addEventListener('pagehide', keepNow)
setInterval(() => {
  putBack(isShown)
  keepNow()
}, PAUSE)

// Taking over.

/** Before the hub is asked. */
async function begin() {
  await lookUp(log)
  if (!log) return
  for (const model of link.models.values()) restoreOnce(model)
  await Promise.all(restored.values())
  await adopt()
  announceKept()
  adoptLater().catch(reportError)
}

const start = () => Promise.race([begin().catch(reportError), wait(LONGEST)])
if (link.tag) start()
else link.loading = start

/** Takes the records of pages that are no more, each once, whoever asks at the same time: drafts only of this place. */
async function takeOver() {
  const isDead = await deadPages(), mine = log, before = times
  const store = await records('readwrite'), writes = [], typed = []
  for (const key of await asked(store.getAllKeys())) {
    const [of, one, model] = key
    if (model || !isDead(one)) continue
    const { at, content } = await asked(store.get(key)), isOld = at < Date.now() - OLDEST
    if (isOld) store.delete(key)
    if (isOld || of !== mine) continue
    // Where there are no locks, those of other pages go along with the tab.
    const [found, words] = JSON.parse(content), isHere = ({ path }) => !hasLocks || path === location.pathname
    writes.push(...found)
    typed.push(...words.filter(draft => isHere(draft) && !(draft.at < Date.now() - OLDEST)))
    const left = words.filter(draft => !isHere(draft))
    left.length ? store.put({ at, content: JSON.stringify([[], left]) }, key) : store.delete(key)
  }
  for (const write of writes) returning.add(write)
  for (const draft of typed) waiting.add(draft)
  // It changes hands in one step.
  kept = JSON.stringify([unsent(), drafts()])
  put(store, mine, kept)
  await finished(store.transaction)
  // What was kept meanwhile was written after it, without what was taken over.
  if (times !== before) kept = ''
  if (mine === log) return { writes, typed }
  // Meanwhile the page has met another hub: they stay where they are.
  for (const one of [...writes, ...typed]) returning.delete(one), waiting.delete(one)
  kept = ''
  return { writes: [], typed: [] }
}

let adopted                              // the log of what was taken over

async function adopt() {
  // Without locks it is the tab's own record, which is taken over once.
  if (!hasLocks && adopted === log) return
  adopted = log
  const { writes, typed } = await takeOver()
  bind.isKept = true
  for (const write of writes) bringBack(write).catch(reportError)
  takeDrafts(typed, isShown)
}

/** The page before this one may take a moment to end, also where no hub is. */
async function adoptLater() {
  for (const pause of hasLocks ? [300, 1000, 3000] : []) {
    await wait(pause)
    await adopt()
  }
}

async function current(model) { while (model.state !== 'current') await wait(50) }

/** A write of a page that is no more: it lies over its model at once, and goes to the hub once that is current. */
async function bringBack(write) {
  const { operations, isOver } = write, model = link.model(write.model), replica = await restored.get(model)
  // A description's default is proposed again by who wants it (`default`: kept by an earlier release).
  const isDefault = operations.every(([verb]) => verb === 'setIfAbsent' || verb === 'default')
  let hide = () => {}
  if (replica && model.state !== 'current' && !isDefault && placeOf(write, replica) === 'over') {
    const isUnsent = !isOver && (!write.wasSent || operations.every(isSet))
    if (isUnsent && returning.delete(write)) return forgive(model, write, await revive(model, write))
    hide = show(model, write)
  }
  await current(model)
  hide()
  if (isOver || isDefault) returning.delete(write)
  else await sendAgain(model, write)
}

async function sendAgain(model, write) {
  const { operations, conditions, rules = {}, seen, wasSent, at } = write
  write.wasSent = true
  await keep().catch(reportError)
  // From here on it is a write of this page.
  if (!returning.delete(write)) return
  // What adds up must not be added twice.
  if (wasSent && !operations.every(isSet)) return reportUnknown(model, write)
  const [[, field, value]] = operations
  if (operations.length === 1 && rules[field] === 'text') return model.set(field, value, seen[0].value ?? '')
  const isOld = Date.now() - at > OLD
  forgive(model, write, await model.propose(operations, !wasSent && !isOld ? conditions : conditionsOf(seen)))
}

// The hub.

link.on((what, detail) => {
  if (what === 'model') restoreOnce(detail)
  if (what === 'welcome') welcome(detail)
  if (what === 'heartbeat') noteHub({ log, user: link.welcome.user })
  // What may not be read is not kept either.
  if (what === 'error' && detail.code === 'notPermitted' && detail.model) {
    dropReplicas(([of, , model]) => of === log && model === detail.model).catch(reportError)
  }
  if (what === 'state' && detail === 4006) {
    Promise.all([dropReplicas(([of]) => of === log), forgetPages()]).catch(reportError)
  }
  if (what === 'outcome' && detail.outcome.kind === 'committed' && detail.write.number) {
    const { model, write, outcome: { version } } = detail
    committed.set(write, { ...entryOf(model, write), isOver: true, epoch: model.epoch, version })
  }
  // A link that is there again sends at once.
  if (what === 'state') keepNow()
  if (what === 'outcome') keepSoon()
})

/** Before anything of this page goes to a hub: it may have another log than the one of what is kept. */
function welcome({ log: its, user }) {
  if (log && its !== log) {
    // What is kept of this page stays for a page that meets the former hub.
    keepNow()
    if (!link.welcome) for (const model of link.models.values()) model.changeLog()
    for (const all of [returning, waiting, committed, versions, replicas]) all.clear()
    kept = kept === undefined ? kept : ''
  } else if (last.user !== user && log) {
    // What another member of this browser has read is not this one's.
    last.user = user
    forgetRestored()
    dropReplicas(([of], { replica }) => of === its && JSON.parse(replica).user !== user).catch(reportError)
  }
  log = its
  noteHub({ log, user })
}

// The hub may have come before this file.
if (link.welcome) welcome(link.welcome)

bind.ready.then(async () => {
  if (!replicas.size) await lookUp(log)
  await adopt()
  await adoptLater()
  await dropReplicas((key, { at }) => at < Date.now() - OLDEST)
}).catch(reportError)
// Where a browser does not keep pages, in a private window, this one opens with the hub alone.
bind.ready.then(keepPage).catch(error => console.info('keep.js: the page itself is not kept:', error))
