/** The dashboard: what it follows, and which model is looked at. */
import { make } from '/fields.js'
import { Tree } from '/dashboard-tree.js'
import { ModelView } from '/dashboard-model.js'
import { Log } from '/dashboard-log.js'
import { Maker } from '/dashboard-edit.js'
import { HubView } from '/dashboard-hub.js'
import { waiting, whenKept, whenWaiting } from '/keep.js'
import { readableChanges } from '/list-values.js'

// So many models are followed: those that were looked at last. What is committed in all of them the feed tells.
const FOLLOWED = 48

const link = bind.link()
const at = id => document.getElementById(id)

/** Says something to who does not see the page. */
function announce(words) { at('aloud').textContent = words }

const view = new ModelView(link, announce)
const log = new Log(link, view, announce)
const maker = new Maker(link, id => { tree.add(id, ''), tree.choose(id) }, announce)
view.shown = model => maker.show(model)
const followed = new Map()               // id → its end, longest not looked at first
const hub = new HubView(link, versions => {
  for (const { model, version } of versions) tree.note(model, version)
})

/** Follows a model, for its fields and their histories. */
function follow(id) {
  const end = followed.get(id) ?? link.model(id).on(null, (values, info) => {
    view.take(id, info)
    tree.note(id, info.version)
  })
  followed.delete(id)
  followed.set(id, end)
  for (const [old, end] of followed) {
    // One with a write on its way stays until that has its outcome.
    if (followed.size <= FOLLOWED || link.model(old).writes.length) break
    end()
    link.model(old).leave()
    followed.delete(old)
    view.forget(old)
  }
}

/** The model in the address; '' if that names none that could be. */
function wanted() {
  try { return decodeURIComponent(location.hash.slice(1)) } catch { return '' }
}

let isChosen = false                     // whether a person has, or the address: else the first model is shown

/** Whether what is typed and not written may go. */
function mayDrop() {
  const drafts = bind.drafts(), fields = drafts.length === 1 ? 'a field' : `${drafts.length} fields`
  const question = `Your input in ${fields} of ${view.id} is not written. Discard it?`
  if (drafts.length && !confirm(question)) return false
  for (const draft of drafts) draft.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))
  return true
}

at('edit').addEventListener('click', event => { if (!event.target.checked && !mayDrop()) event.preventDefault() })

const offered = new WeakSet()            // drafts for which Edit went on: their field may be gone

/** What was typed here before the page was loaded anew shows again in its control. */
function showDrafts() {
  const drafts = [...waiting].filter(draft => draft.model === view.id && !offered.has(draft))
  for (const draft of drafts) offered.add(draft)
  if (drafts.length && !at('edit').checked) at('edit').click()
}
whenWaiting(showDrafts)

const tree = new Tree(at('tree'), id => {
  if (id !== view.id && !mayDrop()) {
    history.replaceState(null, '', `#${view.id}`)
    return false
  }
  follow(id)
  view.show(id)
  log.viewChanged()
  showDrafts()
  if (wanted() === id) return
  // Back leads to the model before; the first one was nobody's choice.
  history[isChosen ? 'pushState' : 'replaceState'](null, '', `#${id}`)
  isChosen = true
}, (all, found, left) => {
  at('no-models').hidden = all > 0
  at('not-found').hidden = !all || found > 0 && !left
  at('not-found').textContent = left ? `${left} more: search to see them` : 'No model name contains this text.'
})

link.list('', ({ model, version, fields }) => {
  tree.add(model, version, fields)
  if (wanted() ? wanted() === model && view.id !== model : !view.id) tree.choose(model)
}, () => {
  if (wanted() && !tree.has(wanted())) view.showUnknown(wanted())
})
// Without a hub the models are there that this browser has kept.
whenKept(ids => {
  for (const id of ids) tree.add(id, '')
  if (!view.id) tree.choose(ids.includes(wanted()) ? wanted() : ids[0])
})
addEventListener('hashchange', () => {
  isChosen = true
  if (!wanted() || wanted() === view.id) return
  tree.has(wanted()) ? tree.choose(wanted()) : view.showUnknown(wanted())
})

link.on((what, detail) => {
  if (what === 'feed') {
    for (const { model, epoch, name: writer, more, changes, ...line } of detail.lines) {
      const told = changes.map(one => ({
        ...one, isKnown: one.known && !more, to: one.toBytes === undefined ? one.to : `${one.toBytes} bytes`,
      }))
      log.take(model, epoch, [{ ...line, writer, own: line.tag === link.tag, changes: readableChanges(told) }])
      tree.note(model, line.version)
    }
  }
  if (what === 'state' && link.isLive) link.sendJSON({ kind: 'join', feed: true })
})
if (link.isLive) link.sendJSON({ kind: 'join', feed: true })

let isPaused = false
at('pause').addEventListener('click', () => {
  isPaused = !isPaused
  log.isPaused = hub.isPaused = isPaused
  at('pause').setAttribute('aria-pressed', String(isPaused))
  at('pause').textContent = isPaused ? 'Go on' : 'Pause'
})

at('find').addEventListener('input', () => tree.find(at('find').value))
at('find').addEventListener('keydown', event => {
  if (event.key === 'Enter') tree.chooseFirst()
  if (event.key === 'Enter' || event.key === 'ArrowDown') {
    event.preventDefault()
    tree.focusFirst()
  } else if (event.key === 'Escape') {
    at('find').value = ''
    tree.find('')
  }
})
document.addEventListener('keydown', event => {
  const isTyping = event.target.closest?.('input, textarea, select')
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  at('find').focus()
})

/** The hub in the header: what it is called and how much it promises. */
const GRADES = {
  memory: 'commits are lost when the hub ends',
  process: 'acknowledged writes survive the end of the hub',
  disk: 'acknowledged writes survive a power loss',
}
let upstream                             // of an edge: whether it reaches its upstream hub
function showFacts() {
  if (!link.welcome) return
  const { hub: name, durability, epoch, insecure, user } = link.welcome
  const facts = [['Hub', name, `epoch ${BigInt(epoch).toString(16)}`], ['Keeps', durability, GRADES[durability]]]
  if (user) facts.push(['You', user, 'this page may do what this member may'])
  if (insecure) {
    const title = 'any client on the network may read and write everything, and nothing is encrypted'
    facts.push(['Insecure', 'open to the network', title])
  }
  if (upstream) {
    const isLive = upstream.state === 'live'
    const why = upstream.reason ?? upstream.address
    const title = isLive ? upstream.address : `reads may be old, and writes wait: ${why}`
    facts.push(['Upstream', isLive ? upstream.name : 'waiting(upstream)', title])
  }
  // A browser counts as secure what came by https, or from its own machine.
  if (!isSecureContext) facts.push(['Connection', 'not encrypted', 'Others on the network can read and change it'])
  at('facts').replaceChildren(...facts.map(([term, words, title]) =>
    make('div', { title }, make('dt', {}, term), make('dd', { class: 'mono' }, words))))
  document.title = `${name} · Bindbus`
}
showFacts()
link.model('@hub').on('upstream', value => {
  upstream = value
  showFacts()
})
link.on((what, detail) => {
  if (what === 'state') {
    showFacts()
    announce(link.isLive ? 'Connected' : 'Not connected')
  }
  if (what === 'error') announce(`Error of the hub: ${detail.text}`)
})
