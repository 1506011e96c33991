/**
 * Keeps what is not confirmed yet, and what is half typed, over a reload and over the end of the browser: in IndexedDB,
 * by the hub's log. A page has it with <script src="/keep.js" type="module"></script>; it is about `bind.link()` alone.
 */

// Milliseconds: what is older is thrown away; after which an edit no longer overwrites what others wrote meanwhile;
// between two looks at what there is to keep.
const OLDEST = 30 * 86_400_000, OLD = 10_000, PAUSE = 250
const STORE = 'unsent'
const TYPED = /^(text|search|url|email|tel|number|textarea)$/

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
let kept = ''

function unsent() {
  return [...link.models.values()].flatMap(model => model.writes.filter(write => !write.isDecided).map(write => {
    const { operations, conditions, rules, seen, number, at } = write
    // Times are of the page's own clock, which ends with it.
    const made = Math.round(performance.timeOrigin + at)
    return { model: model.id, operations, conditions, rules, seen, wasSent: number > 0, at: made }
  }))
}

const typed = new Set()                  // controls that somebody has typed into
const place = control => {
  const [field, part] = control.dataset.bind.split('.')
  return { path: location.pathname, model: control.closest('[data-model]')?.dataset.model, field, part }
}

/** What stands in a control, differs from what the model shows, and is not on its way. */
function drafts() {
  return [...typed].flatMap(control => {
    const { model: of, field, part, path } = place(control), model = link.models.get(of)
    const value = model?.get(field), words = bind.text(part ? value?.[part] : value)
    // What came to nothing at the hub is not typed again: that would write it.
    const isOver = model?.refusals.get(field)?.outcome
    if (control.isConnected && model && control.value !== words && !model.pending(field) && !isOver) {
      return [{ path, model: of, bind: control.dataset.bind, words: control.value }]
    }
    if (!control.isConnected || control !== document.activeElement) typed.delete(control)
    return []
  })
}

async function keep() {
  if (!log) return
  const writes = unsent(), half = drafts(), now = JSON.stringify([writes, half])
  if (now === kept) return
  kept = now
  const store = await records('readwrite'), key = [log, id]
  await asked(writes.length || half.length ? store.put({ at: Date.now(), content: now }, key) : store.delete(key))
}

function keepSoon() { setTimeout(() => keep().catch(reportError)) }

document.addEventListener('input', ({ target }) => {
  if (target.dataset?.bind && TYPED.test(target.type)) typed.add(target)
  keepSoon()
}, true)
addEventListener('pagehide', () => { keep().catch(reportError) })
setInterval(keepSoon, PAUSE)

// Taking over.

/** Takes the records of pages that are no more, each once, whoever asks at the same time. */
async function takeOver() {
  const held = new Set(locks ? (await locks.query()).held.map(({ name }) => name) : [])
  const isFree = of => locks ? of !== id && !held.has(`bindbus-${of}`) : of === id
  const store = await records('readwrite'), found = []
  for (const key of await asked(store.getAllKeys())) {
    const [of, page] = key
    if (!isFree(page)) continue
    const record = await asked(store.get(key)), isOld = record.at < Date.now() - OLDEST
    if (of === log && !isOld) found.push(JSON.parse(record.content))
    if (of === log || isOld) store.delete(key)
  }
  return found
}

async function current(model) { while (model.state !== 'current') await wait(50) }

/** What is over, and may have been carried out or not. */
function tellUnknown(model, write) {
  const outcome = { kind: 'unknown' }, reason = 'the page was loaded anew before its outcome was known'
  for (const [verb, field, value] of write.operations) {
    model.refusals.set(field, { reason, outcome, ...verb === 'set' && { value } })
  }
  link.tell('outcome', { model, write, outcome, isRefused: true, reason })
  model.touch(...write.operations.map(([, field]) => field))
}

async function sendAgain(write) {
  const { operations, conditions, rules = {}, seen, wasSent, at } = write, model = link.model(write.model)
  await current(model)
  const isSet = operations.every(([verb]) => verb === 'set')
  // A description's default is proposed again by who wants it; what adds up must not be added twice.
  if (operations.every(([verb]) => verb === 'default')) return
  if (wasSent && !isSet) return tellUnknown(model, write)
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

/** Puts what was half typed back, as soon as there is such a control and nobody types elsewhere. */
async function typeAgain({ path, model, bind: field, words }) {
  if (path !== location.pathname) return
  const find = () => [...document.querySelectorAll(`[data-bind="${CSS.escape(field)}"]`)]
    .find(one => TYPED.test(one.type) && one.closest('[data-model]')?.dataset.model === model)
  const isBusy = () => document.activeElement?.matches('input:not([type=checkbox]), textarea, select')
  while (!find() || isBusy()) await wait(PAUSE)
  const control = find()
  control.focus()
  control.value = words
  control.dispatchEvent(new InputEvent('input', { bubbles: true }))
}

async function begin() {
  log = link.welcome.log
  // The page before this one may take a moment to end.
  for (const pause of [0, 300, 1000, 3000]) {
    await wait(pause)
    for (const [writes, half] of await takeOver()) {
      for (const write of writes) sendAgain(write).catch(reportError)
      for (const draft of half) typeAgain(draft).catch(reportError)
    }
  }
}

bind.ready.then(begin).catch(reportError)
link.on(what => {
  // What is unsent now is of the log that there is now: bind.js has ended the rest.
  if (what === 'state' && link.isLive && log && log !== link.welcome.log) {
    log = link.welcome.log
    kept = ''
  }
})
