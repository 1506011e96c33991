/** Drawing in time with the screen. */

/** A function that has `draw` called before the next frame, once however often it is called until then. */
export function oncePerFrame(draw) {
  let isDue = false
  return () => {
    if (isDue) return
    isDue = true
    requestAnimationFrame(() => {
      isDue = false
      draw()
    })
  }
}
