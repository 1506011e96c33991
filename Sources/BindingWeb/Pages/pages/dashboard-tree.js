/** The models as a tree of their ids' segments, for mouse and keyboard. */
import { make } from '/fields.js'
import { oncePerFrame } from '/frames.js'

// Beyond so many rows a list is for finding in, not for looking at.
const MOST_ROWS = 400

function showVersion({ element, version }) {
  const label = element?.querySelector('.version')
  if (!label || label.textContent === String(version)) return
  label.textContent = version
  label.title = `version ${version}`
}

export class Tree {
  #root
  #choose
  #models = new Map()                    // id → { version, element }
  #rows = new Map()                      // path → { key, element } of what was drawn last
  #closed = new Set()                    // folders
  #words = ''
  #chosen
  #drawLater = oncePerFrame(() => this.#draw())
  #report

  /**
   * @param choose - is told the id of the model that somebody chooses; false: that one stays where it is.
   * @param report - is told how many models there are, are found, and are left out.
   */
  constructor(root, choose, report) {
    this.#root = root
    this.#choose = choose
    this.#report = report
    root.addEventListener('click', event => {
      const row = event.target.closest('[role=treeitem]')
      if (row) this.#open(row, !row.dataset.id)
    })
    root.addEventListener('keydown', event => this.#press(event))
  }

  has(id) { return this.#models.has(id) }

  add(id, version) {
    if (this.#models.has(id)) return this.note(id, version)
    this.#models.set(id, { version })
    this.#drawLater()
  }

  /** The version of a model that is followed. */
  note(id, version) {
    const model = this.#models.get(id)
    if (!model || model.version === version) return
    model.version = version
    if (!document.hidden) showVersion(model)
  }

  choose(id) {
    if (this.#choose(id) === false) return
    this.#chosen = id
    const parts = id.split('/')
    parts.forEach((_, index) => this.#closed.delete(parts.slice(0, index).join('/')))
    this.#drawLater()
  }

  /** Shows only what has these words in its id. */
  find(words) {
    this.#words = words.trim().toLowerCase()
    this.#drawLater()
  }

  /** Of what was found. */
  chooseFirst() {
    const id = this.#found()[0]
    if (this.#words && id) this.choose(id)
  }

  focusFirst() { this.#root.querySelector('[data-id]')?.focus() }

  /** Each of the words has to be in the id, wherever. */
  #found() {
    const words = this.#words.split(/\s+/)
    return [...this.#models.keys()].filter(id => words.every(word => id.toLowerCase().includes(word))).sort()
  }

  /** One flat list of rows: the level says how deep. Only rows that changed are made anew. */
  #draw() {
    const focused = document.activeElement?.dataset?.path, rows = [], seen = new Set()
    const found = this.#found(), drawn = this.#rows
    this.#rows = new Map()
    const row = (path, ...how) => {
      const one = this.#row(drawn.get(path), path, ...how)
      this.#rows.set(path, one)
      rows.push(one.element)
    }
    let left = found.length
    for (const id of found) {
      if (rows.length >= MOST_ROWS) break
      left--
      const parts = id.split('/')
      let isHidden = false
      for (let depth = 1; depth < parts.length; depth++) {
        const folder = parts.slice(0, depth).join('/'), isClosed = this.#closed.has(folder) && !this.#words
        if (!seen.has(folder) && !isHidden) row(folder, parts[depth - 1], depth, { isClosed })
        seen.add(folder)
        isHidden ||= isClosed
      }
      if (!isHidden) row(`${id}.`, parts.at(-1), parts.length, { id })
    }
    const current = rows.find(row => row.dataset.id === this.#chosen) ?? rows[0]
    for (const row of rows) row.tabIndex = row === current ? 0 : -1
    const { children } = this.#root, isAsDrawn = rows.length === children.length
    if (!isAsDrawn || rows.some((row, index) => row !== children[index])) this.#root.replaceChildren(...rows)
    if (focused && document.activeElement?.dataset?.path !== focused) {
      rows.find(row => row.dataset.path === focused)?.focus()
    }
    this.#report(this.#models.size, found.length, left)
  }

  /** As it was drawn, if it is the same but for what is chosen and its version. */
  #row(drawn, path, name, level, { id, isClosed }) {
    const model = this.#models.get(id), key = `${level} ${isClosed}`, isSame = drawn?.key === key
    const element = isSame ? drawn.element : make('div', {
      role: 'treeitem', 'aria-level': level, 'aria-expanded': id ? null : String(!isClosed),
      'data-path': path, 'data-id': id, title: id, class: `depth-${Math.min(level, 6)}`,
    }, make('span', { class: 'name' }, name), id && make('span', { class: 'version soft mono' }))
    if (model) {
      model.element = element
      showVersion(model)
      element.ariaSelected = String(id === this.#chosen)
    }
    return { key, element }
  }

  #open(row, isToggled) {
    const { id, path } = row.dataset
    if (id) this.choose(id)
    else if (isToggled) {
      this.#closed.has(path) ? this.#closed.delete(path) : this.#closed.add(path)
      row.focus()
      this.#drawLater()
    }
  }

  #press(event) {
    const row = event.target.closest('[role=treeitem]'), rows = [...this.#root.children], index = rows.indexOf(row)
    if (!row) return
    const isFolder = !row.dataset.id, isOpen = row.getAttribute('aria-expanded') === 'true'
    const level = one => Number(one.getAttribute('aria-level'))
    const parent = () => rows.slice(0, index).reverse().find(one => level(one) < level(row))
    const moves = {
      ArrowDown: () => rows[index + 1]?.focus(),
      ArrowUp: () => rows[index - 1]?.focus(),
      Home: () => rows[0].focus(),
      End: () => rows.at(-1).focus(),
      Enter: () => this.#open(row, true),
      ' ': () => this.#open(row, true),
      ArrowRight: () => isFolder && !isOpen ? this.#open(row, true) : rows[index + 1]?.focus(),
      ArrowLeft: () => isFolder && isOpen ? this.#open(row, true) : parent()?.focus(),
    }
    if (!moves[event.key]) return
    event.preventDefault()
    moves[event.key]()
  }
}
