/** The model that is looked at: what it is called, who is there, and its fields, with live controls when Edit is on. */
import { make, namesOf } from '/fields.js'
import { commandLine, swiftModel } from '/words.js'
import { Histories } from '/dashboard-history.js'
import { PastPanel } from '/dashboard-past.js'
import { Rows } from '/dashboard-rows.js'

const at = id => document.getElementById(id)

export class ModelView {
  id = null
  shown = () => {}                       // is told which model is looked at
  #link
  #aloud
  #model
  #histories
  #rows
  #past
  #ephemeral                             // the model's ephemeral line: who is there
  #endPresence
  #state

  constructor(link, aloud) {
    this.#link = link
    this.#aloud = aloud
    this.#histories = new Histories(link)
    this.#rows = new Rows(link, this.#histories, words => this.#copy(words), aloud)
    this.#past = new PastPanel(link, aloud)
    at('cli').addEventListener('click', () => this.#copy(commandLine(this.id, this.#written(), ...this.#reading())))
    at('swift').addEventListener('click', () => this.#copy(swiftModel(this.id, this.#names(), ...this.#reading())))
    at('close-copied').addEventListener('click', () => {
      at('copied').hidden = true
      at('cli').focus()
    })
    link.on(what => { if (what === 'state' || what === 'error') this.#drawState() })
  }

  show(id) {
    if (this.id === id) return
    this.id = id
    this.#model = this.#link.model(id)
    this.#rows.show(this.#model)
    this.#past.show(this.#model)
    this.shown(this.#model)
    at('fields').dataset.model = id
    for (const element of document.querySelectorAll('[data-undo], [data-redo]')) {
      'undo' in element.dataset ? element.dataset.undo = id : element.dataset.redo = id
    }
    at('undoing').dataset.undoing = id
    at('model-title').textContent = id
    at('form-link').href = `/form/${id}`
    at('table-link').href = `/table/${id.replace(/[^/]*$/, '')}`
    at('actions').hidden = false
    at('copied').hidden = true
    this.#endPresence?.()
    this.#ephemeral?.leave()
    this.#ephemeral = this.#link.model(`@ephemeral/${id}`)
    this.#drawPresent({})
    this.#endPresence = this.#ephemeral.on(null, values => this.#drawPresent(values))
    this.#drawState()
  }

  /** That no model has this id, as far as the hub has told. */
  showUnknown(id) {
    this.id = null
    this.#model = undefined
    at('undoing').dataset.undoing = ''
    this.#rows.show(undefined)
    this.#past.show(undefined)
    this.shown(undefined)
    at('model-title').textContent = id
    at('model-version').textContent = ''
    at('actions').hidden = at('fields').hidden = at('present').hidden = true
    at('no-fields').hidden = false
    at('no-fields').replaceChildren('This model does not exist yet. In a terminal: ',
      make('code', {}, `bindpeer set ${id}.on=true`))
  }

  /** Who has joined the model, longest first, and what they say (protocol.md, section 9.1). */
  #drawPresent(values) {
    const present = Object.entries(values).filter(([name]) => name.startsWith('@peer-')).map(([, peer]) => peer)
      .filter(({ tag }) => tag !== this.#link.welcome?.gateway)
      .sort((one, other) => one.since - other.since)
    at('present').hidden = !present.length
    at('present').replaceChildren('Here: ', ...present.flatMap(({ tag, name, since, says }, index) => [
      index ? ' · ' : '',
      make('span', { title: `since ${new Date(since).toLocaleTimeString()}` },
        tag === this.#link.tag ? 'this page' : name),
      says === undefined ? '' : ` ${bind.text(says)}`,
    ]))
  }

  /** A model is not followed any more. */
  forget(id) { this.#histories.forget(id) }

  /** What has been told of a model. */
  take(id, info) {
    this.#histories.take(id, info)
    if (id !== this.id) return
    this.#rows.take(info)
    this.#past.arrive(info)
    this.#drawState()
  }

  /** Whether the page has it at all. */
  #drawState() {
    if (!this.#model) return
    const { version, state, blocked } = this.#model, words = version ? `version ${version}` : ''
    if (at('model-version').textContent !== words) at('model-version').textContent = words
    const now = `${state} ${blocked?.text}`
    if (now === this.#state) return
    this.#state = now
    this.#rows.stateChanged()
  }

  #names() { return this.#model ? namesOf(this.#model) : [] }

  /** What somebody has written; what is described need not be. Without any, all that has a value. */
  #written() {
    const written = this.#names().filter(name => this.#model.undescribed(name) !== undefined)
    return written.length ? written : this.#names().filter(name => this.#model.get(name) !== undefined)
  }

  #reading() { return [name => this.#model.get(name), name => this.#model.describe(name)] }

  async #copy(words) {
    at('copied-words').textContent = words
    at('copied').hidden = false
    at('copied-how').textContent = 'Copied '
    try {
      await navigator.clipboard.writeText(words)
      this.#aloud('Copied')
    } catch {
      at('copied-how').textContent = 'Copy this: '
    }
  }
}
