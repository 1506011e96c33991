/** The hub as it is now: rates, the round trip of this page, peers and counters, from the model `@hub`. */
import { make } from '/fields.js'
import { plot } from '/plot.js'

const SECONDS = 120, PINGS = 60
const at = id => document.getElementById(id)
const put = (element, words) => { if (element.textContent !== words) element.textContent = words }
const percentile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]

export class HubView {
  #link
  #hub
  #samples = []                          // { time, rate, p50, p99 }, one a second
  #pings = []
  #counted                               // { time, commits } of the last heartbeat
  #rate
  #values                                // the fields of `@hub` that are to be drawn
  isPaused = false
  #reportVersions
  #versions = []                         // of the last reports: model → version
  #longest = new Map()                   // tag → the most milliseconds that its lease ever had left
  #drawnBrowsers
  #peers = new Map()                     // tag → { row, cells }

  /** @param reportVersions - is told the versions of all models that the hub reports. */
  constructor(link, reportVersions) {
    this.#link = link
    this.#reportVersions = reportVersions
    this.#hub = link.model('@hub')
    this.#hub.on(null, (values, { commits }) => this.#take(values, commits.length > 0))
    setInterval(() => this.#sample(), 1000)
    link.on(what => { if (what === 'state') this.#show() })
    this.#show()
  }

  /** The hub's report is for its own pages, and for members with the right to it. */
  #show() {
    const { user, admin = !user } = this.#link.welcome ?? {}
    for (const title of ['peers-title', 'hub-title']) at(title).closest('section').hidden = !admin
    at('rate').closest('figure').hidden = !admin
  }

  // Rates.

  /** @param isFresh - whether this was told just now; what one joins to may be of any age. */
  #take(values, isFresh) {
    const time = performance.now(), commits = values.counters?.commits ?? 0
    if (isFresh && this.#counted && time - this.#counted.time > 300) {
      this.#rate = Math.max(0, commits - this.#counted.commits) / (time - this.#counted.time) * 1000
    }
    if (isFresh && !(time - this.#counted?.time <= 300)) this.#counted = { time, commits }
    if (!this.#values) requestAnimationFrame(() => {
      const { sessions = [], counters = {}, store, pages, models = [], browsers = [] } = this.#values
      this.#values = undefined
      this.#reportVersions(models)
      this.#versions.unshift(new Map(models.map(({ model, version }) => [model, version])))
      this.#versions.splice(3)
      if (this.isPaused) return
      this.#drawPeers(sessions)
      this.#drawBrowsers(browsers, sessions)
      this.#drawCounters(counters, store, pages)
    })
    this.#values = values
  }

  async #sample() {
    if (!this.#link.isLive || document.hidden) return
    this.#link.ping().then(milliseconds => {
      this.#pings.push(milliseconds)
      if (this.#pings.length > PINGS) this.#pings.shift()
    })
    const sorted = [...this.#pings].sort((one, other) => one - other)
    // Two heartbeats without news of the hub: its counters stand still.
    if (this.#counted && performance.now() - this.#counted.time > 2500) this.#rate = 0
    const [p50, p99] = [percentile(sorted, 0.5), percentile(sorted, 0.99)]
    this.#samples.push({ time: Date.now(), rate: this.#rate, p50, p99 })
    if (this.#samples.length > SECONDS) this.#samples.shift()
    if (!this.isPaused) requestAnimationFrame(() => this.#draw())
  }

  #draw() {
    const now = Date.now(), last = this.#samples.at(-1)
    const number = (value, places) => value === undefined ? '–' : value.toFixed(value < 100 ? places : 0)
    put(at('rate'), number(last?.rate, 1))
    put(at('p50'), number(last?.p50, 1))
    put(at('p99'), number(last?.p99, 1))
    const from = Math.min(now - 20_000, Math.max(now - SECONDS * 1000, this.#samples[0].time))
    const draw = (name, like, label) => {
      const points = of => this.#samples.filter(one => one[of] !== undefined).map(one => [one.time, one[of]])
      const max = Math.max(1, ...points(like).map(([, value]) => value))
      plot(at(`${name}-plot`), points(name), { from, to: now, min: 0, max, label })
    }
    draw('rate', 'rate', `Commits a second in two minutes: ${number(last?.rate, 1)} now`)
    draw('p99', 'p99', `Round trip, 99th percentile, in two minutes: ${number(last?.p99, 1)} ms now`)
    draw('p50', 'p99', `Round trip, median, in two minutes: ${number(last?.p50, 1)} ms now`)
    at('samples').replaceChildren(...this.#samples.slice(-10).reverse().map(({ time, rate, p50, p99 }) => make('tr', {},
      make('td', { class: 'number' }, String(Math.round((now - time) / 1000))),
      ...[rate, p50, p99].map(one => make('td', { class: 'number' }, number(one, 1))))))
  }

  // Peers and counters.

  #drawPeers(sessions) {
    put(at('peer-count'), String(sessions.length))
    const here = new Set(sessions.map(session => session.tag))
    for (const [tag, { row }] of this.#peers) {
      if (here.has(tag)) continue
      row.remove()
      this.#peers.delete(tag)
      this.#longest.delete(tag)
    }
    // Older hubs do not tell how far their peers are.
    at('peers').parentElement.classList.toggle('no-lag', sessions.every(({ lag }) => lag === undefined))
    const usual = this.#usualLag()
    for (const session of sessions.slice(0, 100)) this.#drawPeer(session, usual)
  }

  /** Peers tell how far they are once a heartbeat: as many versions as came in two of them are no sign of anything. */
  #usualLag() {
    const [now, , before] = this.#versions
    let most = 0
    for (const [model, version] of now ?? []) most = Math.max(most, version - (before?.get(model) ?? 0))
    return most
  }

  #drawPeer({ name, tag, models, lag, leaseLeftMilliseconds: left, user, roles = [] }, usual) {
    if (!this.#peers.has(tag)) {
      const [models, lag, idle] = ['', ' lag', ''].map(more => make('td', { class: `number${more}` }))
      const cells = {
        light: make('i', { class: 'lamp' }), name: make('span'), tag: make('span', { class: 'soft mono' }),
        user: make('span', { class: 'soft' }), state: make('span', { class: 'out-of-sight' }), models, lag, idle,
      }
      const row = make('tr', {}, make('th', { scope: 'row' }, cells.light, cells.name, ' ', cells.tag, ' ', cells.user,
        cells.state),
        cells.models, cells.lag, cells.idle)
      this.#peers.set(tag, { row, cells })
      at('peers').append(row)
    }
    const { cells } = this.#peers.get(tag), own = this.#link.tag.startsWith(tag)
    // A lease is renewed by whatever a peer says: what is missing of it tells for how long it has said nothing.
    const longest = Math.max(this.#longest.get(tag) ?? this.#link.welcome?.lease ?? 0, left)
    this.#longest.set(tag, longest)
    const idle = Math.max(0, longest - left), isSilent = idle > 3 * this.#link.heartbeat + 500
    const state = isSilent ? 'silent' : lag > usual ? 'behind' : 'current'
    if (cells.light.dataset.state !== state) cells.light.dataset.state = state
    put(cells.name, name)
    put(cells.tag, own ? 'this page' : name.includes(tag) ? '' : tag)
    // Hubs with keys tell who has connected.
    put(cells.user, user ? `${user}${roles.length ? ` (${roles.join(', ')})` : ''}` : '')
    put(cells.state, `, ${state}`)
    put(cells.models, String(models))
    put(cells.lag, lag === undefined ? '–' : String(lag))
    put(cells.idle, bind.age(idle))
  }

  /** Browsers that invitations have let in; who may see the report may end them. */
  #drawBrowsers(browsers, sessions) {
    at('browsers-section').hidden = !browsers.length
    put(at('browser-count'), String(browsers.length))
    const key = JSON.stringify([browsers, sessions.map(({ user, roles }) => [user, roles])])
    // A button that somebody is on stays as long as nothing changes.
    if (key === this.#drawnBrowsers) return
    this.#drawnBrowsers = key
    at('browsers').replaceChildren(...browsers.map(({ session, name, role, label, since, pages }) => {
      const roles = sessions.find(one => one.user === name)?.roles ?? (role ? [role] : [])
      const end = make('button', { type: 'button', class: 'plain', 'aria-label': `End ${name}, ${label}` }, 'End')
      end.addEventListener('click', () => {
        if (confirm(`Sign ${name} out of ${label}?`)) this.#link.sendJSON({ kind: 'end', session })
      })
      const day = new Date(since * 1000), words = `${label}, since ${day.toLocaleDateString()}, ${pages} open`
      return make('li', {}, make('b', {}, name), roles.length ? ` (${roles.join(', ')}) ` : ' ',
        make('span', { class: 'soft', title: `${session}, since ${day.toLocaleString()}` }, words), ' ', end)
    }))
  }

  #drawCounters(counters, store, pages) {
    const rows = [
      ['Commits', counters.commits], ['Proposals', counters.proposals], ['Conflicts', counters.conflicts],
      ['Refused', Object.values(counters.refusals ?? {}).reduce((sum, count) => sum + count, 0)],
      ['Held', counters.holds], ['Repeats', counters.repeats], ['Deltas', counters.deltas],
      ['Snapshots', counters.snapshots], ['Pages', Array.isArray(pages) ? pages.length : pages],
      ['Store', store?.path ? `${(store.bytes / 1e6).toFixed(1)} MB${store.isFull ? ', full' : ''}` : 'memory'],
    ]
    const list = at('counters')
    if (list.children.length !== rows.length) {
      const row = name => make('div', {}, make('dt', {}, name), make('dd', { class: 'mono' }))
      list.replaceChildren(...rows.map(([name]) => row(name)))
    }
    const words = value => typeof value === 'number' ? value.toLocaleString('en').replaceAll(',', ' ') : value ?? '–'
    rows.forEach(([, value], index) => put(list.children[index].lastChild, words(value)))
  }
}
