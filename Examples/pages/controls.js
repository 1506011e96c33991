/** The twin of Examples/Sources/controls: what its two buttons do. */
import { follow } from '/pages/examples.js'

const at = id => document.getElementById(id)
let settings

follow('controls', {
  text: { type: 'string', default: 'Text' }, level: { type: 'number', min: 0, max: 1, default: 0.3 },
  choice: { type: 'integer', default: 0 }, isReady: { type: 'boolean', default: false },
  isOn: { type: 'boolean', default: true }, sent: { type: 'integer', default: 0 },
}, model => { settings = model })

// Added by the hub: of two that send at once neither is lost.
at('send').addEventListener('click', () => settings.propose([['add', 'sent', 1]]))
at('log').addEventListener('click', () => {
  at('values').textContent = settings.names().filter(name => name[0] !== '@')
    .map(name => `${name} ${bind.text(settings.get(name))}`).join(', ')
})
