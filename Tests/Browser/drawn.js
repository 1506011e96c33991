// Counts how often each plot is drawn, by the field whose row it stands in.
(() => {
  window.drawn = {}
  const stroke = CanvasRenderingContext2D.prototype.stroke
  CanvasRenderingContext2D.prototype.stroke = function (...given) {
    const name = this.canvas.closest('tr')?.querySelector('th .mono')?.textContent ?? this.canvas.id
    window.drawn[name] = (window.drawn[name] ?? 0) + 1
    return stroke.apply(this, given)
  }
})()
