/**
 * A field of a model as a Svelte store, both ways. The page has <script src="/bind.js" defer></script> before the
 * program.
 *
 *   const level = field('lamp', 'level'), info = fieldInfo('lamp', 'level')
 *   <input type="range" bind:value={$level} disabled={!!$info.readOnly} title={$info.reason}>
 */

/**
 * The value of a field: a writable store.
 * @template T
 * @param {string} id - of the model. @param {string} name - of the field, or `cues[id=7].name`
 * @returns {{ subscribe(run: (value: T | undefined) => void): () => void, set(value: T | undefined): void }}
 */
export function field(id, name) {
  const model = bind.model(id)
  let shown
  return {
    subscribe(run) {
      let isTold = false
      const end = model.on(name, value => {
        isTold = true
        run(shown = value)
      })
      // Until the hub has answered nobody is told; a subscriber of a store is at once.
      if (!isTold) run(shown = model.get(name))
      return end
    },
    // With what was shown as the base texts of several writers are merged.
    set(value) { model.set(name, value, shown) },
  }
}

/**
 * What is known of a field: a readable store with `state` (pending, offline, refused), `reason`, `readOnly`, who wrote
 * it and when.
 * @param {string} id - of the model. @param {string} name - of the field
 * @returns {{ subscribe(run: (info: import('/bind.mjs').FieldInfo) => void): () => void }}
 */
export function fieldInfo(id, name) {
  const model = bind.model(id)
  return {
    subscribe(run) {
      let words
      const look = () => {
        const info = model.info(name), now = JSON.stringify(info)
        if (now !== words) run(info)
        words = now
      }
      look()
      // Of the whole model: the state of a write changes without the value.
      return model.on(null, look)
    },
  }
}
