/** Serves pages that ask for it, and what they consist of, where no hub does: as the hub served them last. */

const CACHE = 'bindbus-pages'
const KINDS = ['document', 'script', 'style', 'image', 'font']

addEventListener('install', () => skipWaiting())

// Each time that a page is opened it tells what it consists of.
addEventListener('message', event => event.waitUntil(keep(event.data)))

async function keep({ files }) {
  const cache = await caches.open(CACHE)
  await Promise.allSettled(files.map(async file => {
    const answer = await fetch(file)
    // What a browser gets that is not signed in is not the page.
    if (answer.ok && !answer.redirected) await cache.put(file, answer)
  }))
}

addEventListener('fetch', event => {
  const { request } = event
  if (request.method === 'GET' && KINDS.includes(request.destination)) event.respondWith(answer(request))
})

/** What the hub answers, whatever it is; only where nobody answers what is kept. */
async function answer(request) {
  try {
    return await fetch(request)
  } catch (error) {
    const kept = await caches.match(new URL(request.url).pathname, { cacheName: CACHE, ignoreVary: true })
    if (kept) return kept
    throw error
  }
}
