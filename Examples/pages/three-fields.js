/** The twin of Examples/Sources/three-fields: the attributes in the page do it all. */
import { follow } from '/pages/examples.js'

follow('three-fields', {
  first: { type: 'string', default: 'First' },
  second: { type: 'string', default: 'Second' },
  third: { type: 'string', default: 'Third' },
})
