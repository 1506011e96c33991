/**
 * Keeps what is not confirmed yet, and what is half typed, over a reload and over the end of the browser: in IndexedDB,
 * by the hub's log. A page has it with <script src="/keep.js" type="module"></script>; it is about `bind.link()` alone.
 */

// Milliseconds: what is older is thrown away; after which an edit no longer overwrites what others wrote meanwhile;
// between two looks at what there is to keep.
const OLDEST = 30 * 86_400_000, OLD = 10_000, PAUSE = 250
const STORE = 'unsent'

const link = bind.link()
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other)
const wait = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))
const asked = request => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result)
  request.onerror = () => reject(request.error)
})

let opening
function database() {
  if (opening) return opening
  const request = indexedDB.open('bindbus', 1)
  request.onupgradeneeded = () => request.result.createObjectStore(STORE)
  return opening = asked(request)
}
const records = async mode => (await database()).transaction(STORE, mode, { durability: 'relaxed' }).objectStore(STORE)

// Each page keeps a record of its own as long as it lives, and takes over those of pages that live no more. Where
// there are no locks, over plain http from elsewhere, a tab takes over its own alone.
const locks = navigator.locks
const id = (!locks && sessionStorage.bindbus) || crypto.getRandomValues(new Uint32Array(4)).join('-')
if (locks) locks.request(`bindbus-${id}`, () => new Promise(() => {}))
else sessionStorage.bindbus = id

let log                                  // whose writes are kept
let kept                                 // what is kept of this page; nothing before it has taken over what there was

/** Of pages that are no more: writes whose model is not here yet, and drafts whose control is not. */
const returning = new Set()
export const waiting = new Set()
let notifyWaiting = () => {}

/** Calls back when drafts of a page that is no more have come, which wait for their control. */
export function whenWaiting(call) {
  notifyWaiting = call
  if (waiting.size) call()
}

function unsent() {
  const here = [...link.models.values()].flatMap(model => model.writes.filter(write => !write.isDecided).map(write => {
    const { operations, conditions, rules, seen, number, at } = write
    // Times are of the page's own clock, which ends with it. With a link it may be sent before this is kept again.
    const made = Math.round(performance.timeOrigin + at), wasSent = number > 0 || link.isLive
    return { model: model.id, operations, conditions, rules, seen, wasSent, at: made }
  }))
  return [...here, ...returning]
}

/** The controls of this page for a field that may hold a draft of it. */
const alike = (model, field) => [...document.querySelectorAll(`[data-bind="${CSS.escape(field)}"]`)].filter(one => {
  const binding = bind.edits.controls.get(one)
  return binding?.isText && one.type !== 'password' && binding.model.link === link && binding.model.id === model
})

const since = new WeakMap()              // control → when a draft was first seen in it
function firstSeen(control) {
  if (!since.has(control)) since.set(control, Date.now())
  return since.get(control)
}

/** What is typed and not written, in its control or on its way into one. */
function drafts() {
  const here = bind.drafts().flatMap(control => {
    const { model, field, seen } = bind.edits.controls.get(control), bound = control.dataset.bind
    const nth = alike(model.id, bound).indexOf(control)
    return nth < 0 || !control.value ? [] : [{ path: location.pathname, model: model.id, bind: bound, nth, seen,
      words: control.value, reason: model.refusals.get(field)?.reason, at: firstSeen(control) }]
  })
  return [...here, ...waiting]
}

async function keep() {
  if (kept === undefined) return
  const now = JSON.stringify([unsent(), drafts()])
  if (now === kept) return
  kept = now
  await asked(put(await records('readwrite'), now))
}

const put = (store, content) => content === '[[],[]]' ? store.delete([log, id])
  : store.put({ at: Date.now(), content }, [log, id])

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
  putBack()
  keepNow()
}, PAUSE)

// Taking over.

/** Takes the records of pages that are no more, each once, whoever asks at the same time: drafts only of this place. */
async function takeOver() {
  const held = new Set(locks ? (await locks.query()).held.map(({ name }) => name) : [])
  const isFree = of => locks ? of !== id && !held.has(`bindbus-${of}`) : of === id
  const store = await records('readwrite'), writes = [], taken = []
  for (const key of await asked(store.getAllKeys())) {
    const [of, page] = key
    if (!isFree(page)) continue
    const { at, content } = await asked(store.get(key)), isOld = at < Date.now() - OLDEST
    if (isOld) store.delete(key)
    if (isOld || of !== log) continue
    // Where there are no locks, those of other pages go along with the tab.
    const [found, typed] = JSON.parse(content), isHere = ({ path }) => !locks || path === location.pathname
    writes.push(...found)
    taken.push(...typed.filter(draft => isHere(draft) && !(draft.at < Date.now() - OLDEST)))
    const left = typed.filter(draft => !isHere(draft))
    left.length ? store.put({ at, content: JSON.stringify([[], left]) }, key) : store.delete(key)
  }
  for (const write of writes) returning.add(write)
  for (const draft of taken) waiting.add(draft)
  // It changes hands in one step.
  kept = JSON.stringify([unsent(), drafts()])
  await asked(put(store, kept))
  return writes
}

async function current(model) { while (model.state !== 'current') await wait(50) }

/** What is over, and may have been carried out or not. */
function reportUnknown(model, write) {
  const outcome = { kind: 'unknown' }, reason = 'the page was reloaded before the outcome was known'
  for (const [verb, field, value] of write.operations) {
    model.refusals.set(field, { reason, outcome, ...verb === 'set' && { value } })
  }
  link.notify('outcome', { model, write, outcome, isRefused: true, reason })
  model.touch(...write.operations.map(([, field]) => field))
}

async function sendAgain(write) {
  const { operations, conditions, rules = {}, seen, wasSent, at } = write, model = link.model(write.model)
  await current(model)
  write.wasSent = true
  await keep().catch(reportError)
  // From here on it is a write of this page.
  if (!returning.delete(write)) return
  const isSet = operations.every(([verb]) => verb === 'set')
  // A description's default is proposed again by who wants it (`default`: kept by an earlier release); what adds up
  // must not be added twice.
  if (operations.every(([verb]) => verb === 'setIfAbsent' || verb === 'default')) return
  if (wasSent && !isSet) return reportUnknown(model, write)
  const [[, field, value]] = operations
  if (operations.length === 1 && rules[field] === 'text') return model.set(field, value, seen[0].value ?? '')
  const isOld = Date.now() - at > OLD
  const { kind } = await model.propose(operations, !wasSent && !isOld ? conditions
    : seen.slice(0, 255).map(({ field, epoch, version }) => [field, epoch, version]))
  // It was carried out before the page went: what stands is what it wrote.
  const stands = ([, field, value]) => same(model.fields.get(field)?.value, value)
  if (kind !== 'conflict' || !operations.every(stands)) return
  for (const [, field] of operations) if (model.refusals.delete(field)) model.touch(field)
}

/** Puts drafts back into their controls, with what was said of them. Nothing is written by that. */
function putBack() {
  const { controls, isDraft, read, refuse } = bind.edits
  for (const draft of waiting) {
    const control = draft.path === location.pathname && alike(draft.model, draft.bind)[draft.nth]
    const binding = controls.get(control)
    // Where somebody types, it waits.
    if (binding?.model.state !== 'current' || isDraft(binding) || control === document.activeElement) continue
    waiting.delete(draft)
    if (control.value === draft.words) continue
    control.value = draft.words
    since.set(control, draft.at)
    Object.assign(binding, { isDirty: true, shown: undefined, seen: draft.seen })
    refuse(binding, draft.reason ?? 'not written yet', 'value' in read(binding))
    binding.model.touch(binding.field)
  }
}

async function begin() {
  log = link.welcome.log
  // The page before this one may take a moment to end.
  for (const pause of locks ? [0, 300, 1000, 3000] : [0]) {
    await wait(pause)
    const writes = await takeOver()
    bind.isKept = true
    for (const write of writes) sendAgain(write).catch(reportError)
    putBack()
    if (waiting.size) notifyWaiting()
  }
}

bind.ready.then(begin).catch(reportError)
link.on(what => {
  // What is unsent now is of the log that there is now: bind.js has ended the rest.
  if (what === 'state' && link.isLive && log && log !== link.welcome.log) {
    log = link.welcome.log
    kept = ''
    returning.clear()
    waiting.clear()
  }
  // A link that is there again sends at once.
  if (what === 'state') keepNow()
  if (what === 'outcome') keepSoon()
})
