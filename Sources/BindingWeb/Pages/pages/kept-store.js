/** What a browser keeps for pages, in IndexedDB, and which of these pages still live. */

const STORE = 'unsent'

/** A request of the database as a promise. */
export const asked = request => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result)
  request.onerror = () => reject(request.error)
})

/** That all of a transaction is kept; it fails where none of it is. */
export const finished = transaction => new Promise((resolve, reject) => {
  transaction.oncomplete = resolve
  transaction.onabort = () => reject(transaction.error)
})

let opening
function database() {
  if (opening) return opening
  const request = indexedDB.open('bindbus', 1)
  request.onupgradeneeded = () => request.result.createObjectStore(STORE)
  return opening = asked(request)
}

/**
 * The records, in a transaction of their own. Each page keeps one as long as it lives, [log, page], and takes over
 * those of pages that live no more; and one for each model, [log, page, model].
 */
export const records = async mode =>
  (await database()).transaction(STORE, mode, { durability: 'relaxed' }).objectStore(STORE)

// Where there are no locks, over plain http from elsewhere, a tab takes over its own records alone.
export const hasLocks = !!navigator.locks

/** This page. */
export const page = !hasLocks && sessionStorage.bindbus || crypto.getRandomValues(new Uint32Array(4)).join('-')

if (hasLocks) navigator.locks.request(`bindbus-${page}`, () => new Promise(() => {}))
else sessionStorage.bindbus = page

/** Whether a page's records may be taken over, as a function of the page. */
export async function deadPages() {
  if (!hasLocks) return one => one === page
  const held = new Set((await navigator.locks.query()).held.map(({ name }) => name))
  return one => one !== page && !held.has(`bindbus-${one}`)
}

/** The hub that this browser was connected to last: its log, the member that the page spoke for, and when. */
export function lastHub() {
  try { return JSON.parse(localStorage.bindbus) } catch { return {} }
}

export function noteHub({ log, user }) {
  // There may be no room for it, or no right to.
  try { localStorage.bindbus = JSON.stringify({ log, user, at: Date.now() }) } catch { }
}
