/** What the dashboard makes and removes: models, and their fields. */
import { make } from '/fields.js'
import { typed } from '/values.js'

const at = id => document.getElementById(id)

/** The value that was typed for a field: as its description says, else JSON where it is some, else text. */
function valueOf(words, rule) {
  const result = typed(words, rule?.type ?? 'any')
  return 'value' in result ? result : { problem: result.problem ?? `${words || 'nothing'} is no ${rule.type}` }
}

/** Writes a field that is not there; resolves with why that was not done, or ''. */
async function create(model, name, words) {
  await model.ready
  if (model.undescribed(name) !== undefined) return `${model.id} has a field ${name} already`
  const { value, problem } = valueOf(words, model.describe(name))
  if (problem) return problem
  const outcome = await model.propose([['setIfAbsent', name, value]])
  if (outcome.kind === 'committed') return ''
  return outcome.kind === 'unchanged' ? `somebody has just made ${name}` : outcome.text ?? outcome.kind
}

/** The buttons of a field that is edited: { reset, remove }, each only where there can be one. */
export function changesOf(model, name, rule, aloud) {
  // Elements of a list are removed one by one.
  if (rule?.policy === 'list') return {}
  const button = (words, label, value, done) => {
    const one = make('button', { type: 'button', class: 'plain', 'aria-label': `${label} ${name}` }, words)
    one.addEventListener('click', async () => {
      const outcome = await model.set(name, value)
      aloud(outcome.kind === 'committed' ? done : outcome.text ?? outcome.kind)
    })
    return one
  }
  const hasDefault = rule?.default !== undefined
  return {
    reset: hasDefault ? button('Default', 'Default of', rule.default, `${name} is its default`) : undefined,
    remove: button('Delete', 'Delete', undefined, `${name} is deleted`),
  }
}

/** The forms for a new field of the chosen model, and for a new model. */
export class Maker {
  #model

  /** @param choose - is told the id of a model that was made, or was there. */
  constructor(link, choose, aloud) {
    this.#whenSent(at('add-field'), at('add-problem'), async () => {
      const name = at('add-name').value
      const problem = await create(this.#model, name, at('add-value').value)
      if (problem) return problem
      aloud(`${name} is there`)
      at('add-field').reset()
      at('add-name').focus()
      return ''
    })
    at('new-model-open').addEventListener('click', () => {
      at('new-model').querySelector('form').reset()
      at('new-problem').textContent = ''
      // Beside the one that is looked at, as most are.
      at('new-id').value = this.#model?.id.replace(/[^/]*$/, '') ?? ''
      at('new-model').showModal()
      at('new-id').focus()
    })
    this.#whenSent(at('new-model').querySelector('form'), at('new-problem'), async () => {
      const id = at('new-id').value
      const problem = await create(link.model(id), at('new-name').value, at('new-value').value)
      if (problem) return problem
      at('new-model').close()
      choose(id)
      aloud(`${id} is there`)
      return ''
    })
  }

  /** The model that is looked at. */
  show(model) {
    this.#model = model
    at('add-field').hidden = !model
    at('add-problem').textContent = ''
  }

  /** Sends a form by itself, and not twice while the first answer is awaited. */
  #whenSent(form, problem, send) {
    let isSent = false
    form.addEventListener('submit', async event => {
      if (event.submitter?.value === 'cancel') return
      event.preventDefault()
      if (isSent) return
      isSent = true
      problem.textContent = bind.link().isLive ? '' : 'waiting for the hub …'
      try { problem.textContent = await send() } catch (error) { problem.textContent = error.message } finally {
        isSent = false
      }
    })
  }
}
