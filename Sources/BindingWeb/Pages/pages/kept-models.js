/** The models that a browser keeps for pages that are opened without a hub: which there are, and showing them. */
import { asked, deadPages, lastHub, records } from '/kept-store.js'
import { newer, restore } from '/replicas.js'

// Milliseconds: what is older is thrown away.
export const OLDEST = 30 * 86_400_000

const link = bind.link()
/** The hub of the page before this one: what is shown is of its log, and was read by its member. */
export const last = lastHub()

/** Model → a promise of the replica that it shows, if any. */
export const restored = new Map()
/** A model's id → { key, isDead } of the replicas that there were when it was looked for them. */
export const replicas = new Map()

let hasLooked
const looked = new Promise(resolve => hasLooked = resolve)

/** Looks up of which models there are replicas of a log; of none, none. */
export async function lookUp(log) {
  try {
    const isDead = await deadPages(), keys = log ? await asked((await records('readonly')).getAllKeys()) : []
    replicas.clear()
    for (const key of keys) {
      const [of, page, id] = key
      if (of !== log || !id) continue
      if (!replicas.has(id)) replicas.set(id, [])
      replicas.get(id).push({ key, isDead: isDead(page) })
    }
  } finally { hasLooked() }
}

/** Shows a model as it was last known, whichever page kept that; nothing once the hub tells how it is. */
async function restoreModel(model) {
  await looked
  if (!replicas.has(model.id)) return
  const store = await records('readonly')
  const there = await Promise.all(replicas.get(model.id).map(({ key }) => asked(store.get(key))))
  const replica = there.filter(one => one?.at >= Date.now() - OLDEST).map(one => JSON.parse(one.replica))
    .filter(({ user }) => user === last.user).reduce(newer, undefined)
  if (!replica || link.isLive || !restore(model, replica)) return
  // The light counts from when the hub was last heard.
  if (last.at) link.since = Math.min(link.since, performance.now() - (Date.now() - last.at))
  return replica
}

export function restoreOnce(model) {
  if (!restored.has(model) && !link.isLive) restored.set(model, restoreModel(model).catch(reportError))
}

let notifyKept = () => {}
let isLookedUp = false

/** Calls back with the ids of the models that can be shown without a hub, unless there is one by then. */
export function whenKept(call) {
  notifyKept = call
  if (isLookedUp) announceKept()
}

export function announceKept() {
  isLookedUp = true
  if (!link.isLive && replicas.size) notifyKept([...replicas.keys()])
}

/** Another member of this browser has read what is shown: it goes. */
export function forgetRestored() {
  for (const model of restored.keys()) {
    if (model.state === 'current') continue
    model.touch(...model.fields.keys())
    model.fields.clear()
    model.forget()
  }
}

/** Throws replicas away: those of which this holds, by key and record. */
export async function dropReplicas(isOver) {
  const store = await records('readwrite')
  for (const key of await asked(store.getAllKeys())) {
    if (key.length === 3 && isOver(key, await asked(store.get(key)))) store.delete(key)
  }
}
