/** Writes one value of a column in all models that `/table/PREFIX` shows, and takes it back. */
import { make, readable, wordsOf } from '/fields.js'
import { valueOf } from '/buttons.js'

const at = id => document.getElementById(id)
const models = count => `${count} ${count === 1 ? 'model' : 'models'}`

export class ForAll {
  #grid
  #name                                  // of the field that the dialog is about
  #steps = []                            // what takes back the last write

  constructor(grid) {
    this.#grid = grid
    at('for-all').addEventListener('close', () => {
      const { returnValue } = at('for-all'), control = at('for-all-control')
      if (returnValue === 'write' && control) this.#write(control.value)
    })
    at('done-undo').addEventListener('click', () => this.#takeBack())
    at('done-close').addEventListener('click', () => { at('done').hidden = true })
    // What was written later would be taken back instead.
    document.addEventListener('change', event => { if (event.target.closest('#rows')) at('done-undo').hidden = true })
  }

  /** Asks for the value. */
  ask(name) {
    const writable = this.#grid.writable(name), [model] = writable
    if (!model) return this.#say(`${name} may not be written in any of these models`)
    const rule = model.describe(name) ?? {}, title = wordsOf(rule).title || name
    this.#name = name
    at('for-all-title').textContent = `${title} of ${models(writable.length)}`
    const control = inputFor(rule, model.get(name))
    at('for-all-value').replaceChildren(control, rule.unit ? make('span', { class: 'unit' }, ` ${rule.unit}`) : '')
    const left = this.#grid.models.length - writable.length
    at('for-all-models').textContent = left ? `${models(left)} without it, or in which it may not be written, `
      + `${left === 1 ? 'stays as it is' : 'stay as they are'}.` : ''
    at('for-all').returnValue = ''
    at('for-all').showModal()
    control.focus()
    control.select?.()
  }

  async #write(words) {
    const name = this.#name, problems = [], written = []
    this.#steps = []
    this.#say(`${name}: on its way …`)
    await Promise.all(this.#grid.writable(name).map(async model => {
      const { value, problem } = valueOf(words, { ...model.describe(name) })
      if (value === undefined) return problems.push(`${model.id}: ${problem ?? `${words} is no value of it`}`)
      const undoing = await bind.undoing(model), outcome = await model.set(name, value)
      if (outcome.kind === 'committed') {
        this.#steps.push(undoing)
        written.push(value)
      } else if (outcome.kind === 'unchanged') written.push(value)
      else problems.push(`${model.id}: ${outcome.text ?? outcome.kind}`)
    }))
    const [model] = this.#grid.models
    const what = `${name} is ${readable(model, name, written[0])} in ${models(written.length)}`
    const [problem] = problems, more = problems.length > 1 ? `, and ${problems.length - 1} more` : ''
    this.#say([written.length && what, problem && `not in ${problem}${more}`].filter(Boolean).join('; '))
    at('done-undo').hidden = !this.#steps.length
  }

  async #takeBack() {
    at('done-undo').hidden = true
    const ends = await Promise.all(this.#steps.map(steps => steps.undo()))
    const failed = ends.find(({ kind }) => kind !== 'done')
    const done = ends.filter(({ kind }) => kind === 'done').length
    const why = failed && `; not in all: ${failed.reason ?? 'there is nothing to undo'}`
    this.#say(`Taken back in ${models(done)}${why ?? ''}`)
  }

  #say(words) {
    at('done').hidden = false
    at('done-undo').hidden = true
    at('done-words').textContent = words
  }
}

/** A control for a value of a field, which is bound to none. */
function inputFor(rule, value) {
  const { type, choices, min, max, step, maxLength } = rule, words = value === undefined ? '' : bind.text(value)
  const common = { id: 'for-all-control', 'aria-labelledby': 'for-all-title' }
  const options = choices?.length ? choices : type === 'boolean' || typeof value === 'boolean' ? [true, false] : null
  if (options) {
    return make('select', common, ...options.map(one => bind.text(one)).map(one =>
      make('option', { value: one, selected: one === words }, one === '' ? '(empty)' : one)))
  }
  if (rule.secret) return make('input', { ...common, type: 'password', autocomplete: 'new-password', required: true })
  if (['number', 'integer'].includes(type) || typeof value === 'number') {
    const whole = type === 'integer' ? 1 : 'any'
    return make('input', { ...common, type: 'number', min, max, step: step ?? whole, value: words, required: true })
  }
  if (['array', 'object', 'any'].includes(type) || value !== null && typeof value === 'object') {
    return Object.assign(make('textarea', { ...common, class: 'mono', rows: 4, spellcheck: 'false' }), { value: words })
  }
  return make('input', { ...common, type: 'text', maxlength: maxLength, value: words, autocomplete: 'off' })
}
