/** The twin of Examples/Sources/story: the field is an object, the editor is bound to its text. */
import { follow } from '/pages/examples.js'

const letters = new Intl.Segmenter()
let end = () => {}

follow('story', { story: { type: 'object', default: {} } }, model => {
  end()
  end = model.on('story', story => {
    const text = story?.text ?? '', words = text.split(/\s+/).filter(Boolean).length
    document.getElementById('count').textContent = `Words: ${words}, characters: ${[...letters.segment(text)].length}`
  })
})
