/**
 * Undo and redo of this page's own writes: for scripts, for elements with data-undo, data-redo and data-undoing, and
 * for Ctrl+Z where no control has an undo of its own.
 */
import { titleOf } from './list-values.js'
import { Undoing } from './steps-back.js'

// Controls in which a text is typed, and those that are dragged.
const hasOwnUndo = element => !!element?.isContentEditable || /^(TEXTAREA|INPUT)$/.test(element?.tagName)
  && !/check|radio|range|color|button|submit|reset|file|image|date|time|month|week/.test(element.type)
const isDragged = element => /range|color/.test(element?.type)

// What a person does in a text from focus to focus, or with a slider until it is let go, is one step.
let held, session = 0
const begin = element => {
  held = element
  session++
}
document.addEventListener('focusin', ({ target }) => { if (hasOwnUndo(target)) begin(target) }, true)
document.addEventListener('pointerdown', ({ target }) => { if (isDragged(target)) begin(target) }, true)
// bind.js has written what it says by then.
for (const name of ['change', 'focusout']) {
  document.addEventListener(name, ({ target }) => {
    if (target === held && (name === 'focusout' || isDragged(target))) held = undefined
  })
}

let latest                               // the model that was written or restored last

function editOf(model, { operations }) {
  latest = model
  const binding = held?.isConnected && bind.edits.controls.get(held)
  return binding?.model === model && operations.some(([, field]) => field === binding.field) ? session : 0
}

/** The steps of a model, which are recorded from now on. */
const recorded = model => model.steps ??= new Undoing(model, write => editOf(model, write))

function restore(model, stack) {
  latest = model
  return recorded(model).restore(stack)
}

/**
 * Undo and redo of this page's writes to a model, by its id or as bind.model returns it: undo() and redo() promise what
 * became of it; status is { canUndo, canRedo, undoes, redoes }, the last two names of fields; on(call) calls back now
 * and at each change of it; group(body) makes one step of what `body` writes.
 */
export function undoing(of) {
  const model = typeof of === 'string' ? bind.model(of) : of, steps = recorded(model)
  const status = () => {
    const undoes = steps.names('undo'), redoes = steps.names('redo')
    return { canUndo: undoes.length > 0, canRedo: redoes.length > 0, undoes, redoes }
  }
  return {
    undo: () => restore(model, 'undo'),
    redo: () => restore(model, 'redo'),
    get status() { return status() },
    on(call) {
      let before
      const tell = () => {
        const now = JSON.stringify(status())
        if (now === before) return
        before = now
        try { call(status()) } catch (error) { reportError(error) }
      }
      steps.observers.add(tell)
      tell()
      return () => steps.observers.delete(tell)
    },
    group: body => steps.group(body),
  }
}

/** An element for the steps of a model: `undo` and `redo` are buttons, `undoing` says why the last one did not take
 *  place. Returns its end. */
export function follow({ element, model, what }) {
  const steps = recorded(model)
  return what === 'undoing' ? followWords(element, steps) : followButton(element, model, steps, what)
}

function followWords(element, steps) {
  const draw = () => { if (element.textContent !== steps.said) element.textContent = steps.said }
  element.role = 'status'
  steps.observers.add(draw)
  draw()
  return () => {
    steps.observers.delete(draw)
    element.textContent = ''
  }
}

function followButton(element, model, steps, what) {
  const word = what === 'undo' ? 'Undo' : 'Redo', isOff = element.bindGiven.includes('disabled')
  const draw = () => {
    const names = steps.names(what), titles = names.map(name => model.describe(name)?.title || titleOf(name))
    const more = titles.length > 5 ? `, and ${titles.length - 5} more` : ''
    const words = names.length ? `${word}: ${titles.slice(0, 5).join(', ')}${more}` : `Nothing to ${what}`
    // A button that has the focus keeps it.
    element.disabled = isOff || !names.length && element !== document.activeElement
    element.ariaDisabled = names.length || element.disabled ? null : 'true'
    if (!element.bindGiven.includes('title') && element.title !== words) element.title = words
  }
  const click = () => restore(model, what)
  element.addEventListener('click', click)
  element.addEventListener('blur', draw)
  steps.observers.add(draw)
  draw()
  return () => {
    element.removeEventListener('click', click)
    element.removeEventListener('blur', draw)
    steps.observers.delete(draw)
  }
}

function modelOf(element) {
  const { undo, model = element.closest('[data-model]')?.dataset.model } = element.dataset
  return bind.link(element.closest('[data-link]')?.dataset.link).models.get(undo || model)
}

/** The model whose step a key takes back: that of the element that has the focus, else the last one, if it is shown. */
function modelAt(element) {
  const own = element.closest?.('[data-model]'), model = own && modelOf(own)
  if (model?.steps) return model
  const isShown = [...document.querySelectorAll('[data-model], [data-undo]')].some(one => modelOf(one) === latest)
  return isShown ? latest : undefined
}

/** Where buttons for it are hidden, as on the dashboard without Edit, keys do nothing either. */
function isOff(model) {
  const buttons = [...document.querySelectorAll('[data-undo]')].filter(one => modelOf(one) === model)
  return buttons.length > 0 && buttons.every(one => !one.getClientRects().length)
}

document.addEventListener('keydown', event => {
  const { target, shiftKey, isComposing, defaultPrevented } = event, key = event.key.toLowerCase()
  const isChord = (event.ctrlKey || event.metaKey) && !event.altKey && !isComposing && /^[zy]$/.test(key)
  const model = isChord && !defaultPrevented && !hasOwnUndo(target) && modelAt(target)
  if (!model || isOff(model)) return
  event.preventDefault()
  restore(model, key === 'y' || shiftKey ? 'redo' : 'undo')
})
