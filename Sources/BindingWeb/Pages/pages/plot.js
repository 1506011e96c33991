/** Plots of numbers as steps: what `data-plot` shows, and those of the dashboard. */
import { doubt } from './elements.js'

// A canvas is drawn only when it is in view, has something new, and was not drawn for so many milliseconds.
const PAUSE = 200, MOST_POINTS = 600

const plots = new WeakMap()              // canvas → { content, isIn, drawnAt }
const due = new Set()
let isWaiting = false

const sight = new IntersectionObserver(seen => {
  for (const { target, isIntersecting } of seen) plots.get(target).isIn = isIntersecting
  later()
})

/**
 * Shows [time, number] points, in the canvas's own colour.
 * @param points - or a function that returns them when they are drawn.
 * @param {object} options - `from`, `to`, in milliseconds; `min`, `max`: what the canvas spans, if not what is there;
 *   `label`: its words for who does not see it.
 */
export function plot(canvas, points, options = {}) {
  let one = plots.get(canvas)
  if (!one) {
    plots.set(canvas, one = { drawnAt: -PAUSE })
    sight.observe(canvas)
  }
  one.content = { points, options }
  due.add(canvas)
  if (one.isIn) later()
}

/** Plots what a field is from now on; returns its end. */
export function follow(binding) {
  const { element: canvas, model, field } = binding, points = []
  binding.draw = () => doubt(binding)
  return model.on(field, value => {
    if (typeof value !== 'number') return
    points.push([Date.now(), value])
    if (points.length > MOST_POINTS) points.shift()
    plot(canvas, points)
  })
}

function later() {
  if (isWaiting) return
  isWaiting = true
  requestAnimationFrame(draw)
}

function draw(time) {
  isWaiting = false
  let next = Infinity
  for (const canvas of due) {
    const one = plots.get(canvas), pause = one.drawnAt + PAUSE - time
    if (!canvas.isConnected) due.delete(canvas)
    else if (one.isIn && pause > 0) next = Math.min(next, pause)
    else if (one.isIn) {
      due.delete(canvas)
      one.drawnAt = time
      const { points, options } = one.content
      paint(canvas, typeof points === 'function' ? points() : points, options)
    }
  }
  if (next < Infinity) setTimeout(later, next)
}

function paint(canvas, points, { from = points[0]?.[0], to = Date.now(), min, max, label }) {
  const { clientWidth: width, clientHeight: height } = canvas, context = canvas.getContext('2d')
  const dots = { width: Math.round(width * devicePixelRatio), height: Math.round(height * devicePixelRatio) }
  // To set the size makes a new picture, the same size too.
  if (canvas.width !== dots.width || canvas.height !== dots.height) Object.assign(canvas, dots)
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0)
  context.clearRect(0, 0, width, height)
  canvas.role = 'img'
  if (label) canvas.ariaLabel = label
  if (!points.length) return
  let least = Infinity, most = -Infinity
  for (const [, number] of points) {
    least = Math.min(least, number)
    most = Math.max(most, number)
  }
  const low = min ?? least, high = max ?? most, last = points.at(-1)[1]
  const x = time => (time - from) / (to - from || 1) * width
  const y = number => height - 2 - (high === low ? 0.5 : (number - low) / (high - low)) * (height - 4)
  context.beginPath()
  let before = points[0][1]
  for (const [time, number] of points) {
    context.lineTo(x(time), y(before))
    context.lineTo(x(time), y(before = number))
  }
  context.lineTo(x(to), y(last))
  context.strokeStyle = getComputedStyle(canvas).color
  context.lineWidth = 1.5
  context.stroke()
  canvas.ariaLabel = label ?? `${bind.text(last)} now, ${bind.text(least)} to ${bind.text(most)} lately`
}
