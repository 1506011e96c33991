/** Has the browser keep the page itself, so that it opens where no hub serves it: <html data-offline>. */

const CACHE = 'bindbus-pages'
// What a script asks for is no part of the page.
const ASKED = /^(fetch|xmlhttprequest|beacon)$/

/** Keeps this page and its files. A browser does so over https, and for pages of its own machine. */
export async function keepPage() {
  if (!('offline' in document.documentElement.dataset) || !navigator.serviceWorker) return
  await navigator.serviceWorker.register('/worker.js')
  const { active } = await navigator.serviceWorker.ready
  const tell = files => active.postMessage({ files })
  tell([location.pathname])
  new PerformanceObserver(list => {
    const parts = list.getEntries().filter(({ initiatorType }) => !ASKED.test(initiatorType))
    const here = parts.map(({ name }) => new URL(name)).filter(({ origin }) => origin === location.origin)
    tell([...new Set(here.map(({ pathname }) => pathname))])
  }).observe({ type: 'resource', buffered: true })
}

export const forgetPages = async () => { await globalThis.caches?.delete(CACHE) }
