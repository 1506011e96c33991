/** The model that is looked at: its fields as a table, with live controls when Edit is on. */
import { controlFor, kindOf, make, markOtherwise, otherwiseMark } from '/fields.js'
import { commandLine, swiftModel } from '/words.js'
import { Histories } from '/dashboard-history.js'

const at = id => document.getElementById(id)
const MOST_ROWS = 300

export class ModelView {
  id = null
  #link
  #aloud
  #model
  #hub                                   // the model `@hub`, which says who declares a field otherwise
  #histories
  #rows = new Map()                      // field → { key, element, version, writer, age, plot, history }
  #open = new Set()                      // fields whose history is shown
  #line                                  // the model's ephemeral line: who is there
  #endLine
  #isDue = false

  constructor(link, aloud) {
    this.#link = link
    this.#aloud = aloud
    this.#hub = link.model('@hub')
    this.#histories = new Histories(link)
    at('edit').addEventListener('change', () => this.#draw())
    at('cli').addEventListener('click', () => this.#copy(commandLine(this.id, this.#names(true), ...this.#reading())))
    at('swift').addEventListener('click', () => this.#copy(swiftModel(this.id, this.#names(), ...this.#reading())))
    setInterval(() => this.#drawLater(), 1000)
  }

  show(id) {
    if (this.id === id) return
    this.id = id
    this.#model = this.#link.model(id)
    this.#rows.clear()
    this.#open.clear()
    at('rows').replaceChildren()
    at('fields').dataset.model = id
    at('model-title').textContent = id
    at('form-link').href = `/form/${id}`
    at('actions').hidden = false
    at('copied').hidden = true
    this.#endLine?.()
    this.#line?.leave()
    this.#line = this.#link.model(`@ephemeral/${id}`)
    this.#drawPresent({})
    this.#endLine = this.#line.on(null, values => this.#drawPresent(values))
    this.#drawLater()
  }

  /** Who has joined the model, longest first, and what they say (protocol.md, section 9.1). */
  #drawPresent(values) {
    const present = Object.entries(values).filter(([name]) => name.startsWith('@peer-')).map(([, peer]) => peer)
      .sort((one, other) => one.since - other.since)
    at('present').hidden = !present.length
    at('present').replaceChildren('Here: ', ...present.flatMap(({ tag, name, since, says }, place) => [
      place ? ' · ' : '',
      make('span', { title: `since ${new Date(since).toLocaleTimeString()}` },
        tag === this.#link.tag ? 'this page' : name),
      says === undefined ? '' : ` ${bind.text(says)}`,
    ]))
  }

  /** What has been told of a model. */
  take(id, info) {
    this.#histories.take(id, info)
    if (id === this.id) this.#drawLater()
  }

  #names(isSettable) {
    const hasValue = name => !isSettable || this.#model.get(name) !== undefined
    return this.#model?.names().filter(name => name[0] !== '@' && hasValue(name)) ?? []
  }

  #reading() { return [name => this.#model.get(name), name => this.#model.describe(name)] }

  async #copy(words) {
    at('copied').replaceChildren(make('span', { class: 'soft' }, 'Copied '), make('code', {}, words))
    at('copied').hidden = false
    try {
      await navigator.clipboard.writeText(words)
      this.#aloud('Copied')
    } catch {
      at('copied').firstChild.textContent = 'Copy this: '
    }
  }

  #drawLater() {
    if (this.#isDue || document.hidden) return
    this.#isDue = true
    requestAnimationFrame(() => {
      this.#isDue = false
      this.#draw()
    })
  }

  #draw() {
    if (!this.#model) return
    const all = this.#names(), names = all.slice(0, MOST_ROWS), isEdited = at('edit').checked
    at('more-fields').hidden = all.length <= MOST_ROWS
    at('more-fields').textContent = `${all.length - names.length} more fields are not shown here`
    at('fields').hidden = !names.length
    at('no-fields').hidden = names.length > 0
    at('no-fields').replaceChildren('This model has no fields. In a terminal: ',
      make('code', {}, `bindpeer set ${this.id}.on=true`))
    at('model-version').textContent = this.#model.version ? `version ${this.#model.version}` : ''
    for (const [name, row] of this.#rows) {
      if (names.includes(name)) continue
      row.element.remove()
      row.history?.remove()
      this.#rows.delete(name)
    }
    let before = null
    for (const name of names) {
      const rule = this.#model.describe(name), value = this.#model.get(name)
      const key = JSON.stringify([isEdited, kindOf(rule, value), rule ?? null])
      let row = this.#rows.get(name)
      // A control that somebody is in is not taken away.
      if (row?.key !== key && !(row && isEdited && row.element.contains(document.activeElement))) {
        const made = this.#row(name, rule, value, isEdited)
        row?.element.replaceWith(made.element)
        this.#rows.set(name, row = { ...made, key, history: row?.history })
      }
      if (!row.element.isConnected) before ? before.after(row.element) : at('rows').prepend(row.element)
      this.#fill(row, name, value)
      before = row.history ?? row.element
    }
  }

  #row(name, rule, value, isEdited) {
    const mark = otherwiseMark()
    const label = make('th', { scope: 'row' }, make('span', { class: 'mono' }, name), ' ', mark)
    const cell = make('td', { class: 'value' })
    const unit = rule?.unit && make('span', { class: 'unit soft' }, rule.unit)
    if (isEdited) {
      const reason = make('p', { 'data-reason': name, id: `reason-${name}` })
      const { element } = controlFor(name, rule, value, { label: name, describedBy: reason.id })
      cell.append(make('span', { class: 'control' }, element, unit), reason)
    } else {
      cell.append(make('output', { 'data-bind': name }), ...unit ? [unit] : [])
    }
    const plot = typeof value === 'number' ? make('canvas', { class: 'spark' }) : null
    const version = make('td', { class: 'number version' }), age = make('td', { class: 'number age' })
    const writer = make('td', { class: 'writer' })
    const toggle = make('button', { type: 'button', class: 'plain', 'aria-expanded': String(this.#open.has(name)),
      'aria-label': `History of ${name}` }, 'History')
    toggle.addEventListener('click', () => this.#toggle(name, toggle))
    const cli = make('button', { type: 'button', class: 'plain', 'aria-label': `Copy ${name} as CLI` }, 'CLI')
    cli.addEventListener('click', () => this.#copy(commandLine(this.id, [name], ...this.#reading())))
    const element = make('tr', {}, label, cell, make('td', { class: 'lately' }, plot), version, writer, age,
      make('td', { class: 'more' }, toggle, cli))
    return { element, mark, version, writer, age, plot }
  }

  #fill(row, name, value) {
    const { version, writer, time, own } = this.#model.info(name)
    const put = (cell, words) => { if (cell.textContent !== words) cell.textContent = words }
    markOtherwise(row.mark, this.#hub, this.id, name)
    put(row.version, version ? String(version) : '')
    put(row.writer, version ? own ? 'this page' : writer : value === undefined ? '' : 'described')
    put(row.age, version ? bind.age(Math.max(0, this.#histories.hubTime() - time)) : '')
    if (row.plot) bind.plot(row.plot, this.#histories.points(this.id, name))
    if (row.history) this.#histories.fill(row.history.querySelector('tbody'), this.id, name)
  }

  #toggle(name, button) {
    const row = this.#rows.get(name), isOpen = !this.#open.delete(name)
    if (isOpen) this.#open.add(name)
    button.setAttribute('aria-expanded', String(isOpen))
    row.history?.remove()
    row.history = undefined
    if (isOpen) {
      const head = ['When', 'Value', 'Version', 'Written by'].map(words => make('th', { scope: 'col' }, words))
      row.history = make('tr', { class: 'history' }, make('td', { colspan: 7 }, make('table', {},
        make('caption', {}, `${name}, since this page was opened`), make('thead', {}, make('tr', {}, ...head)),
        make('tbody'))))
      row.element.after(row.history)
    }
    this.#draw()
  }
}

