/** The form of one model, `/form/MODEL`: a large control for each field, as the model's description says. */
import { controlFor, groupsOf, kindOf, make, markOtherwise, namesOf, otherwiseMark, wordsOf } from '/fields.js'

const id = decodeURIComponent(location.pathname.replace(/^\/form\//, ''))
const rows = new Map()                   // field → { key, element, mark }
const groups = new Map()                 // group → its fieldset
const at = name => document.getElementById(name)

document.title = id || 'Form'
at('title').textContent = id.split('/').at(-1) || 'Form'
at('title').title = id

// The light counts the seconds; who does not see it is told once.
bind.link().on((what, detail) => {
  if (what === 'state') at('aloud').textContent = bind.link().isLive ? 'Connected' : 'Not connected'
  if (what === 'outcome' && detail.isRefused) at('aloud').textContent = `${detail.outcome.kind}: ${detail.reason}`
})

/** Rows are made anew only where the description asks for another control, and never under somebody's hands. */
function draw() {
  const names = namesOf(model)
  at('empty').hidden = names.length > 0
  const why = names.map(name => model.info(name).readOnly)
  at('view-only').hidden = !why.length || !why.every(Boolean)
  at('view-only').textContent = why[0] ?? ''
  for (const [name, { element }] of rows) if (!names.includes(name)) element.remove(), rows.delete(name)
  const sets = new Set()
  let before = null
  for (const [group, names] of groupsOf(model)) {
    const set = group && setOf(group)
    if (set) {
      sets.add(group)
      before = place(set, at('fields'), before)
    }
    let inside = set ? set.firstElementChild : before
    for (const name of names) inside = place(rowOf(name), set || at('fields'), inside)
    if (!set) before = inside
  }
  for (const [group, set] of groups) {
    if (sets.has(group) || isHeld(set)) continue
    set.remove()
    groups.delete(group)
  }
}

const isHeld = element => element.contains(document.activeElement) || bind.drafts().some(one => element.contains(one))

function rowOf(name) {
  const rule = model.describe(name), value = model.get(name), row = rows.get(name)
  const key = JSON.stringify([kindOf(rule, value), rule ?? null])
  if (row?.key !== key && !(row && isHeld(row.element))) {
    const { element, mark } = field(name, rule, value)
    row?.element.replaceWith(element)
    rows.set(name, { key, element, mark })
  }
  const { element, mark } = rows.get(name)
  markOtherwise(mark, hub, id, name)
  return element
}

function setOf(group) {
  if (!groups.has(group)) groups.set(group, make('fieldset', { class: 'group' }, make('legend', {}, group)))
  return groups.get(group)
}

/** Puts an element behind another one, or first; where somebody is in it, it stays wherever it is. */
function place(element, parent, before) {
  const isThere = element.parentElement === parent && element.previousElementSibling === before
  if (isThere || element.isConnected && isHeld(element)) return element
  if (before && before.parentElement !== parent) parent.append(element)
  else before ? before.after(element) : parent.prepend(element)
  return element
}

function field(name, rule, value) {
  const reason = make('p', { 'data-reason': name, id: `reason-${name}` })
  const { title, help } = wordsOf(rule), about = help && make('p', { class: 'soft help', id: `help-${name}` }, help)
  const describedBy = help ? `${about.id} ${reason.id}` : reason.id
  const { element, id, kind } = controlFor(name, rule, value, { describedBy, isLarge: true })
  const unit = rule?.unit ? make('span', { class: 'unit' }, ` ${rule.unit}`) : ''
  const mark = otherwiseMark()
  const words = kind === 'group'
    ? make('span', { class: 'label', id: `${id}-label` }, title || name, unit, ' ', mark)
    : make('label', { for: id }, title || name, unit, ' ', mark)
  return { element: make('div', { class: 'field', 'data-kind': kind }, words, element, about || null, reason), mark }
}

let model
const hub = bind.model('@hub')           // it says who declares a field otherwise
try {
  model = bind.model(id)
  at('command').textContent = `bindpeer set ${id}.on=true`
  at('form').dataset.model = id
  model.on(null, draw)
  hub.on('disagreements', draw)
} catch (error) {
  at('empty').textContent = `${error.message}. Add a model id to the address, such as /form/lamp.`
}
