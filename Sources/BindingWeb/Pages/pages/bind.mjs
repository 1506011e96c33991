/** For modules: import { bind } from '/bind.mjs'. It is the same one as that of the script. */
import '/bind.js'

export const bind = globalThis.bind
