/**
 * A field of a model in React, both ways. The page has <script src="/bind.js" defer></script> before the program.
 *
 *   const [level, setLevel, info] = useField('lamp', 'level')
 *   <input type="range" value={level ?? 0} disabled={!!info.readOnly} title={info.reason}
 *          onChange={event => setLevel(Number(event.target.value))} />
 */
import { useMemo, useSyncExternalStore } from 'react'

/** What React asks for: a snapshot that is the same object as long as it says the same. */
function storeOf(id, field) {
  const model = bind.model(id)
  let shown, words
  const snapshot = () => {
    const next = { value: model.get(field), info: model.info(field) }, nextWords = JSON.stringify(next)
    if (nextWords !== words) [shown, words] = [next, nextWords]
    return shown
  }
  return {
    snapshot,
    // Of the whole model: the state of a write, which is in `info`, changes without the value.
    subscribe: changed => model.on(null, () => changed()),
    // With what was shown as the base texts of several writers are merged.
    set: value => model.set(field, value, shown?.value),
  }
}

/**
 * The value of a field, a function that writes it and promises the outcome, and what is known of it: `state` (pending,
 * offline, refused), `reason`, `readOnly`, who wrote it and when.
 * @template T
 * @param {string} id - of the model. @param {string} field - its name, or `cues[id=7].name`
 * @returns {[T | undefined, (value: T | undefined) => Promise<import('/bind.mjs').Outcome>,
 *   import('/bind.mjs').FieldInfo]}
 */
export function useField(id, field) {
  const store = useMemo(() => storeOf(id, field), [id, field])
  const { value, info } = useSyncExternalStore(store.subscribe, store.snapshot)
  return [value, store.set, info]
}
