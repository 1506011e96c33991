/**
 * What a model's description says of a field, as text: data-describe="level" shows its help, data-describe="level.unit"
 * another part. Where the description says nothing the page's own text stands.
 */
import { doubtField } from './elements.js'

const { text } = bind

const PARTS = {
  title: ({ title }) => title,
  help: ({ help }) => help,
  unit: ({ unit }) => unit,
  range: rangeOf,
  min: ({ min }) => min,
  max: ({ max }) => max,
  step: ({ step }) => step,
  default: ({ default: value, secret }) => secret ? undefined : value,
  choices: ({ choices, secret }) => secret ? undefined : choices?.map(text).join(', '),
  type: ({ type }) => type,
}

/** Between which values a number is, with its unit. */
function rangeOf({ min, max, unit }) {
  const words = min === undefined ? max === undefined ? undefined : `at most ${text(max)}`
    : max === undefined ? `at least ${text(min)}` : `${text(min)} to ${text(max)}`
  return words && unit ? `${words} ${text(unit)}` : words
}

/** Has an element show what is described, from now on; returns its end. */
export function follow(binding) {
  const { element, model } = binding, { describe: attribute, bind: isBound, bindAttr } = element.dataset
  const [, name, part = 'help'] = /^(.*?)(?:\.(\w*))?$/s.exec(attribute), own = element.textContent
  const warn = words => console.warn(`bind.js: data-describe="${attribute}": ${words}`, element)
  if (!name) return warn('it names no field')
  if (!Object.hasOwn(PARTS, part)) return warn(`the parts are ${Object.keys(PARTS).join(', ')}`)
  if (element.childElementCount || /^(INPUT|SELECT|TEXTAREA|METER|PROGRESS)$/.test(element.tagName)) {
    return warn('it shows text, in an element of its own')
  }
  if (isBound !== undefined && bindAttr === undefined) return warn('data-bind shows its own text here')
  let isDoubted = false
  const write = words => { if (element.textContent !== words) element.textContent = words }
  binding.draw = () => {
    if (!isDoubted && model.state === 'current') {
      isDoubted = true
      doubtField({ element, model, field: model.stored(name) })
    }
    const words = text(PARTS[part](model.describe(name) ?? {})) || own
    write(part === 'title' && !words.trim() ? name : words)
  }
  return () => write(own)
}
