/**
 * Undo over what others write. A browser forgets what it could take back of a text as soon as a script changes that;
 * from then on this takes back what was typed, and leaves what others wrote: a step back is an edit like any other,
 * merged with what is there by now.
 */
import { changes, letters, merge } from './texts.js'

// So many steps are kept; what is typed without a longer pause, in milliseconds, is one.
const MOST = 200, PAUSE = 1000

const texts = new WeakMap()              // control → { value, done, undone, isOthers, at }

/** What is known of a control, once what others wrote in it meanwhile was seen; undefined: it is none of ours. */
function known(element) {
  const binding = bind.edits.controls.get(element)
  if (!binding?.isText || typeof element.selectionStart !== 'number') return
  if (!texts.has(element)) texts.set(element, { value: element.value, done: [], undone: [], isOthers: false, at: 0 })
  const text = texts.get(element)
  if (text.value === element.value) return text
  Object.assign(text, { value: element.value, isOthers: true, at: 0 })
  // Where the last write wins there is nothing left of what it went over.
  if (binding.model.policy(binding.field) !== 'text') Object.assign(text, { done: [], undone: [] })
  return text
}

const turned = ({ before, after }) => ({ before: after, after: before, kind: '' })

function noteEdit(event) {
  const { target: element, inputType = '', isComposing } = event
  const text = texts.get(element)
  if (!text || isComposing || text.value === element.value) return
  const before = text.value, after = text.value = element.value, last = text.done.at(-1), time = event.timeStamp
  // The browser itself went back, or forth again.
  const index = inputType === 'historyUndo' ? text.done.findIndex(step => step.before === after) : -1
  if (index >= 0) text.undone.push(...text.done.splice(index).reverse().map(turned))
  else if (last && time - text.at < PAUSE && last.kind === inputType && last.after === before) last.after = after
  else text.done.push({ before, after, kind: inputType })
  if (!inputType.startsWith('history')) text.undone = []
  text.at = index >= 0 ? 0 : time
  if (text.done.length > MOST) text.done.shift()
}

/** Takes the last step back that still changes something; the other way round it is done again. */
function go(element, text, from, to, inputType) {
  for (let step; step = from.pop();) {
    const now = element.value, next = merge(step.after, now, step.before)
    if (next === now) continue
    to.push({ before: now, after: next, kind: '' })
    const hunks = changes(letters(now), letters(next)), rest = letters(next).slice(hunks.at(-1)[3]).join('')
    element.value = text.value = next
    const caret = next.length - rest.length
    element.setSelectionRange(caret, caret)
    element.dispatchEvent(new InputEvent('input', { bubbles: true, inputType }))
    text.at = 0
    return
  }
}

const back = (element, text) => go(element, text, text.done, text.undone, 'historyUndo')
const forth = (element, text) => go(element, text, text.undone, text.done, 'historyRedo')

document.addEventListener('beforeinput', event => {
  const text = known(event.target), step = { historyUndo: back, historyRedo: forth }[event.inputType]
  if (!text?.isOthers || !step) return
  event.preventDefault()
  step(event.target, text)
}, true)
document.addEventListener('keydown', event => {
  const key = event.key.toLowerCase(), isChord = (event.ctrlKey || event.metaKey) && !event.altKey
  const text = known(event.target)
  if (!text?.isOthers || !isChord || event.isComposing || key !== 'z' && key !== 'y') return
  event.preventDefault()
  const step = key === 'y' || event.shiftKey ? forth : back
  step(event.target, text)
}, true)
document.addEventListener('input', noteEdit, true)
document.addEventListener('compositionend', noteEdit, true)
document.addEventListener('focusin', event => known(event.target), true)
