import { bind } from '/bind.mjs'

await bind.ready
bind.model('lamp').set('name', bind === globalThis.bind ? 'from a module' : 'another one')
