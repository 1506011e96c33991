/* Two forms, one model: the switches that cut a form's link, and the description of the model if it has none. */
'use strict'

for (const control of document.querySelectorAll('[data-cut]')) {
  control.addEventListener('change', () => {
    const link = bind.link(control.dataset.cut)
    control.checked ? link.cut() : link.heal()
  })
}

bind.model('demo', 'left').propose([
  ['default', '@description', { fields: {
    on: { type: 'boolean', default: false },
    level: { type: 'number', min: 0, max: 1, step: 0.01, default: 0.3 },
    name: { type: 'string', maxLength: 40, default: '' },
    note: { type: 'string', maxLength: 2000, default: '' },
  } }],
])
