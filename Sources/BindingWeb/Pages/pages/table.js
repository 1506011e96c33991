/** The models below a prefix as a table, `/table/PREFIX`: one model a row, one field a column. */
import { compared, Grid } from '/table-grid.js'
import { ForAll } from '/table-all.js'
import { oncePerFrame } from '/frames.js'
import { tableOf } from '/table-csv.js'

// The gateway lets a page follow 256 models.
const MOST = 200

const at = id => document.getElementById(id)
const link = bind.link()
const prefix = prefixOf(location.pathname)
const known = new Set()                  // ids of all models below the prefix
const followed = new Map()               // id → what ends it
let isLoaded = false

const grid = new Grid({ prefix, forAll: name => forAll.ask(name) })
const forAll = new ForAll(grid)

/** `/table/shop` and `/table/shop/` are the models below `shop/`; `/table` is all. */
function prefixOf(address) {
  const path = decodeURIComponent(address).replace(/^\/table\/?/, '')
  return path && !path.endsWith('/') ? `${path}/` : path
}

document.title = `${prefix || 'All models'} · Table`
at('title').textContent = prefix || 'All models'

/** Follows what is found and shown, and nothing else; what somebody edits stays. */
function draw() {
  const words = at('find').value.trim().toLowerCase().split(/\s+/)
  const found = [...known].filter(id => words.every(word => id.toLowerCase().includes(word))).sort(compared)
  const shown = found.slice(0, MOST), wanted = new Set(shown)
  for (const [id, end] of followed) {
    if (wanted.has(id) || grid.isHeld(id) || link.model(id).writes.length) continue
    end()
    link.model(id).leave()
    followed.delete(id)
  }
  for (const id of shown) {
    if (!followed.has(id)) followed.set(id, link.model(id).on(null, (_, { changed }) => grid.take(id, changed)))
  }
  grid.show(shown.map(id => link.model(id)))
  at('table').hidden = !shown.length
  at('csv').disabled = !shown.length
  at('empty').hidden = shown.length > 0
  if (known.size) at('empty').textContent = 'No model name contains this text.'
  else if (isLoaded) {
    at('empty').replaceChildren('There are no models here. In a terminal: ',
      Object.assign(document.createElement('code'), { textContent: `bindpeer set ${prefix}lamp.on=true` }))
  }
  at('count').textContent = countOf(shown.length, found.length)
  // With nobody who may write, nothing is edited, and the switch says why.
  const why = grid.whyNot()
  at('edit').disabled = !!why
  if (why) at('edit').checked = false
  at('view-only').hidden = !why
  at('view-only').textContent = why
}

function countOf(shown, found) {
  if (shown < found) return `${shown} of ${found} models: find fewer to see the others`
  if (found < known.size) return `${found} of ${known.size} models`
  return isLoaded ? `${found} ${found === 1 ? 'model' : 'models'}` : ''
}

const drawLater = oncePerFrame(draw)

link.list(prefix, ({ model }) => {
  if (known.has(model)) return
  known.add(model)
  drawLater()
}, () => {
  isLoaded = true
  drawLater()
})
grid.changed = drawLater

at('edit').addEventListener('click', event => {
  const drafts = bind.drafts().length
  const question = `Your input in ${drafts === 1 ? 'a field' : `${drafts} fields`} is not written. Discard it?`
  if (!event.target.checked && drafts && !confirm(question)) return event.preventDefault()
  for (const draft of bind.drafts()) draft.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))
})
at('edit').addEventListener('change', () => grid.edit(at('edit').checked))
at('find').addEventListener('input', drawLater)
at('find').addEventListener('keydown', event => {
  if (event.key === 'ArrowDown') grid.focusFirst()
  else if (event.key === 'Escape') at('find').value = '', drawLater()
  else return
  event.preventDefault()
})
document.addEventListener('keydown', event => {
  const isTyping = event.target.closest?.('input, textarea, select, dialog')
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  at('find').focus()
})
at('csv').addEventListener('click', () => {
  const file = new Blob([tableOf(grid.models, grid.columns)], { type: 'text/csv' })
  const save = Object.assign(document.createElement('a'), {
    href: URL.createObjectURL(file), download: `${prefix.replaceAll('/', '-').replace(/-$/, '') || 'models'}.csv`,
  })
  save.click()
  setTimeout(() => URL.revokeObjectURL(save.href), 10_000)
})
