/** What is typed and not written: taken from its controls, and put back into them on a later page. */

const link = bind.link()

/** Drafts of a page that is no more, whose control is not here yet. */
export const waiting = new Set()
let notifyWaiting = () => {}

/** Calls back when drafts of a page that is no more have come, which wait for their control. */
export function whenWaiting(call) {
  notifyWaiting = call
  if (waiting.size) call()
}

/** The controls of this page for a field that may hold a draft of it.
 *  @param field - of an element's row; undefined: kept by an earlier release */
const alike = (model, of, field) => [...document.querySelectorAll(`[data-bind="${CSS.escape(of)}"]`)].filter(one => {
  const binding = bind.edits.controls.get(one)
  return binding?.isText && one.type !== 'password' && binding.model.link === link && binding.model.id === model
    && (!field || binding.field === field)
})

const since = new WeakMap()              // control → when a draft was first seen in it
function firstSeen(control) {
  if (!since.has(control)) since.set(control, Date.now())
  return since.get(control)
}

/** What is typed and not written, in its control or on its way into one. */
export function drafts() {
  const here = bind.drafts().flatMap(control => {
    const { model, field, seen } = bind.edits.controls.get(control), bound = control.dataset.bind
    const nth = alike(model.id, bound, field).indexOf(control)
    return nth < 0 || !control.value ? [] : [{ path: location.pathname, model: model.id, bind: bound, field, nth, seen,
      words: control.value, reason: model.refusals.get(field)?.reason, at: firstSeen(control) }]
  })
  return [...here, ...waiting]
}

/** Puts drafts back into their controls, with what was said of them. Nothing is written by that.
 *  @param isShown - whether a model shows what it had, or has. */
export function putBack(isShown) {
  const { controls, isDraft, read, refuse } = bind.edits
  for (const draft of waiting) {
    const control = draft.path === location.pathname && alike(draft.model, draft.bind, draft.field)[draft.nth]
    const binding = controls.get(control)
    // Where somebody types, it waits.
    if (!binding || !isShown(binding.model) || isDraft(binding) || control === document.activeElement) continue
    waiting.delete(draft)
    if (control.value === draft.words) continue
    control.value = draft.words
    since.set(control, draft.at)
    Object.assign(binding, { isDirty: true, shown: undefined, seen: draft.seen })
    refuse(binding, draft.reason ?? 'not written yet', 'value' in read(binding))
    binding.model.touch(binding.field)
  }
}

/** Drafts have come. */
export function takeDrafts(found, isShown) {
  for (const draft of found) waiting.add(draft)
  putBack(isShown)
  if (waiting.size) notifyWaiting()
}
