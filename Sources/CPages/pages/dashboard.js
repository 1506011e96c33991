/** The dashboard: what it follows, and which model is looked at. */
import { make } from '/fields.js'
import { Tree } from '/dashboard-tree.js'
import { ModelView } from '/dashboard-model.js'
import { Log } from '/dashboard-log.js'
import { HubView } from '/dashboard-hub.js'

// So many models are followed for the log and the histories; of others only the one that is looked at.
const FOLLOWED = 48

const link = bind.link()
const at = id => document.getElementById(id)

/** Says something to who does not see the page. */
function sayAloud(words) { at('aloud').textContent = words }

const view = new ModelView(link, sayAloud)
const log = new Log(link, sayAloud)
const hub = new HubView(link)
const followed = new Map()

/** Follows a model: its commits go to the log and the histories. */
function follow(id) {
  if (followed.has(id)) return
  followed.set(id, link.model(id).on(null, (values, info) => {
    log.take(id, info.commits)
    view.take(id, info)
    tree.note(id, info.version)
  }))
}

const tree = new Tree(at('tree'), id => {
  follow(id)
  view.show(id)
  if (location.hash !== `#${id}`) history.replaceState(null, '', `#${id}`)
}, (all, found, left) => {
  at('no-models').hidden = all > 0
  at('not-found').hidden = !all || found > 0 && !left
  at('not-found').textContent = left ? `${left} more: find narrows it` : 'No model has that in its name.'
})

link.list('', ({ model, version, fields }) => {
  tree.add(model, version, fields)
  if (followed.size < FOLLOWED) follow(model)
  const wanted = decodeURIComponent(location.hash.slice(1))
  if (wanted ? wanted === model && view.id !== model : !view.id) tree.choose(model)
})
addEventListener('hashchange', () => {
  const wanted = decodeURIComponent(location.hash.slice(1))
  if (tree.has(wanted) && wanted !== view.id) tree.choose(wanted)
})

at('find').addEventListener('input', () => tree.find(at('find').value))
at('find').addEventListener('keydown', event => {
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
  memory: 'what is committed is gone when the hub ends',
  process: 'what is acknowledged survives the end of the hub',
  disk: 'what is acknowledged survives the loss of power',
}
function tellFacts() {
  if (!link.welcome) return
  const { hub: name, durability, epoch } = link.welcome
  const short = BigInt(epoch).toString(16).slice(0, 8)
  const facts = [['Hub', name], ['Keeps', durability, GRADES[durability]], ['Epoch', short, epoch]]
  at('facts').replaceChildren(...facts.map(([term, words, title]) =>
    make('div', { title }, make('dt', {}, term), make('dd', { class: 'mono' }, words))))
  document.title = `${name} · Bindbus`
}
tellFacts()
link.on((what, detail) => {
  if (what === 'state') {
    tellFacts()
    sayAloud(link.isLive ? 'The hub is there' : 'The hub is out of reach')
  }
  if (what === 'error') sayAloud(`The hub says: ${detail.text}`)
})
