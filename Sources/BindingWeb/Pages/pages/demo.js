/* Two forms, one model: the switches that cut a form's link, and the description of the model if it has none. */
'use strict'

for (const side of ['left', 'right']) {
  bind.link(side).on((what, detail) => {
    const words = what === 'state' ? bind.link(side).isLive ? 'connected' : 'not connected'
      : what === 'outcome' && detail.isRefused ? `${detail.outcome.kind}: ${detail.reason}` : ''
    if (words) document.getElementById('aloud').textContent = `${side}: ${words}`
  })
}

for (const control of document.querySelectorAll('[data-cut]')) {
  control.addEventListener('change', () => {
    const link = bind.link(control.dataset.cut)
    control.checked ? link.cut() : link.heal()
  })
}

const fields = {
  on: { type: 'boolean', default: false },
  level: { type: 'number', min: 0, max: 1, step: 0.01, default: 0.3 },
  name: { type: 'string', maxLength: 40, default: '' },
  note: { type: 'string', maxLength: 2000, default: '' },
}
// With each welcome, for a hub that was started anew may have forgotten it.
const describe = () => {
  if (bind.link('left').isLive) bind.model('demo', 'left').propose([['setIfAbsent', '@description', { fields }]])
}
describe()
bind.link('left').on(what => { if (what === 'state') describe() })
