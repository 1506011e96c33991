/**
 * Recording for undo and redo in one model, as UndoBook does it in Swift: what this page's writes did, and what their
 * commits replaced. bind.js tells of writes, commits, outcomes and catch-ups.
 */
import { isElement, placeOf, shownElement } from './element-steps.js'
import { stored } from './list-values.js'
import { valueBefore } from './past.js'
import {
  folded, isEmpty, isOver, isUnchanged, joins, noteEdit, partsOf, replaced, sizeOf, unchangedSince,
} from './step.js'
import { same } from './values.js'

// Of a model at most: steps, and their bytes.
const MOST = 100, MOST_BYTES = 1_048_576

const other = stack => stack === 'undo' ? 'redo' : 'undo'

export class Steps {
  undo = []                              // { fields, writes, writtenAt, group, edit, bytes }, the last one on top
  redo = []
  said = ''                              // why the last undo or redo did not take place, in words
  observers = new Set()
  notes = new Map()                      // write without its commit → { step, parts, source: { step, stack } }
  taken                                  // the step that the next write takes back, and its stack
  #editOf
  #group = 0                             // of the open group, or of the last one
  #depth = 0
  #log
  #epoch

  /** @param editOf - the editing session of a control to which a write belongs; 0: none. */
  constructor(model, editOf) {
    this.model = model
    this.#editOf = editOf
    this.#log = model.link.welcome?.log
    this.#epoch = model.epoch
  }

  /** The names of the fields that an undo, or a redo, would change; without any there is none. */
  names(stack) { return [...this[stack].at(-1)?.fields.keys() ?? []] }

  /** Makes one step of what `body` writes. */
  group(body) {
    if (!this.#depth++) this.#group++
    try { return body() } finally { this.#depth-- }
  }

  // Recording: what this page writes, and what its commits replace.

  record(write) {
    const model = this.model, source = this.taken, parts = partsOf(write, model, !!source)
    this.taken = undefined
    if (!parts) return
    let step
    if (source) {
      step = { fields: new Map(), writes: new Set(), group: 0, edit: 0 }
      this[other(source.stack)].push(step)
    } else {
      this.redo = []
      this.said = ''
      step = this.#stepToJoin(parts, write)
    }
    for (const { field: name, kind, operand, isMoved } of parts) {
      const isNew = !step.fields.has(name), field = isNew ? { name, kind } : step.fields.get(name)
      if (kind === 'text') noteEdit(field, model.get(name), operand)
      else if (isNew) Object.assign(field, this.shown(name))
      if (isMoved) field.isMoved = true
      step.fields.set(name, field)
    }
    step.writes.add(write)
    this.notes.set(write, { step, parts, source })
    this.#limit(step)
  }

  /** What shows of a field, and between which others an element stands. */
  shown(name) {
    const { model } = this
    return isElement(name) ? { before: shownElement(model, name), place: placeOf(model, name) }
      : { before: model.undescribed(name) }
  }

  #stepToJoin(parts, write) {
    const group = this.#depth && this.#group, edit = this.#editOf(write)
    const last = this.undo.at(-1), now = performance.now()
    // What is soon done to the same element is one step only if an editing session or a group says so.
    const isAlone = !group && !edit && parts.some(({ isPlacing }) => isPlacing)
    if (last && !isAlone && joins(last, parts, group, edit, now)) {
      last.writtenAt = now
      return last
    }
    const writtenAt = isAlone ? undefined : now
    const step = { fields: new Map(), writes: new Set(), writtenAt, group, edit }
    this.undo.push(step)
    return step
  }

  /** A commit of the model, as it is applied. */
  commit({ own, number, epoch, version, changes, before }) {
    const [write, note] = own && [...this.notes].find(([write]) => write.number === number) || []
    if (!note) return
    const { step, parts, source } = note, at = { epoch, version }
    changes.forEach(([name, value], index) => {
      const part = parts.find(part => part.field === name), field = step.fields.get(name)
      if (!part) return this.#spread(name, before[index], value, at)
      if (field) {
        replaced(field, part, before[index].value, { epoch, version: before[index].version ?? 0 })
        Object.assign(field, { at, left: { value } })
      }
      this.#follow(source?.step.fields.get(name), at, { value })
    })
    this.#finish(write, step)
  }

  /** The hub has given an element, which the write does not name, another rank to make room beside it. It is where it
   *  was among the others, so the steps that left it there still may be taken back. */
  #spread(name, { version = 0, value: former }, value, at) {
    if (!isElement(name) || !stored(value) || !stored(former) || !same(former.is, value.is)) return
    for (const step of this.#all()) {
      const field = step.fields.get(name)
      if (field && same(field.at, { epoch: at.epoch, version })) Object.assign(field, { at, left: { value } })
    }
  }

  /** A write has taken a step back: what stood before that step stands again. Steps that left it may follow. */
  #follow(source, at, left) {
    const former = source?.beforeAt
    if (!former?.version) return
    for (const step of this.#all()) {
      const field = step.fields.get(source.name)
      // An element is back in its place, perhaps with another rank.
      const isBack = field && same(field.at, former) && (same(field.left, left) || isElement(source.name))
      if (isBack) Object.assign(field, { at, left })
    }
  }

  #all() {
    const taken = [...this.notes.values()].flatMap(({ source }) => source?.step ?? [])
    return [...this.undo, ...this.redo, ...taken]
  }

  #finish(write, step) {
    this.followUnwritten(this.notes.get(write).source?.step)
    this.notes.delete(write)
    step.writes.delete(write)
    if (isEmpty(step)) this.remove(step)
    this.#limit(step)
  }

  /** A write has its outcome. Its commit may be here already, with others. */
  settle(write, { kind, version, epoch }) {
    const note = this.notes.get(write)
    if (!note) return
    if (kind === 'committed') {
      note.committed = { epoch, version }
      // Not before what this message brings is applied.
      queueMicrotask(() => this.#fold())
    } else {
      if (kind === 'unchanged') this.followUnwritten(note.source?.step)
      this.#detach(write, note, kind !== 'superseded')
    }
  }

  /** What a write that takes a step back did not have to change was as before that step already. */
  followUnwritten(step) {
    for (const field of step?.fields.values() ?? []) {
      const present = this.model.fields.get(field.name)
      if (field.kind !== 'set' || !field.at || !isUnchanged(field, present, this.model.epoch)) continue
      this.#follow(field, field.at, { value: present?.value })
    }
  }

  /** The write takes no effect, or a later one has it too. */
  #detach(write, { step, parts, source }, isFailed) {
    this.notes.delete(write)
    // Also where the step goes: a write that takes it back may wait for this one.
    step.writes.delete(write)
    if (isFailed && source) return this.remove(step)
    const pending = [...this.notes.values()].filter(note => note.step === step).flatMap(note => note.parts)
    for (const { field, kind } of parts) {
      const isPending = pending.some(part => part.field === field)
      if (!step.fields.get(field)?.at && !isPending && (kind !== 'text' || isFailed)) step.fields.delete(field)
    }
    if (isEmpty(step)) this.remove(step)
    this.#limit(step)
  }

  /** The model is what the hub has. */
  catchUp() {
    const { link, epoch } = this.model, { log } = link.welcome
    // Steps of another log are void.
    if (this.#log && this.#log !== log) this.clear()
    this.#log = log
    if (this.#epoch !== epoch) this.#rebase()
    this.#epoch = epoch
    this.#fold()
  }

  clear() {
    this.undo = []
    this.redo = []
    this.notes.clear()
    this.changed()
  }

  /** Notes own commits that are here without having come one by one: what stood before them is asked for. */
  #fold() {
    const model = this.model
    for (const [write, { step, parts, source, committed: at }] of this.notes) {
      if (!at || !isOver(at, model)) continue
      for (const part of parts) {
        const present = model.fields.get(part.field), field = step.fields.get(part.field)
        // The commit has left the field alone: an element stood where it was moved to.
        if (at.epoch === model.epoch && present?.value !== undefined && present.version < at.version) continue
        const isHere = at.epoch === model.epoch && present?.version === at.version
        const left = isHere ? { value: present.value } : part.left
        if (field && !same(field.at, at)) {
          folded(field, part)
          Object.assign(field, { at, left })
        }
        if (isHere) this.#follow(source?.step.fields.get(part.field), at, left)
        if (isHere && field && part.kind === 'set' && !field.isKnown) field.asking = this.#ask(field, at)
      }
      this.#finish(write, step)
      // What takes the step back may have waited for it.
      model.touch()
    }
  }

  async #ask(field, at) {
    const found = await valueBefore(this.model, field.name, at.version)
    field.asking = undefined
    if (!found || field.at !== at || field.isKnown) return
    Object.assign(field, { before: found.value, beforeAt: { ...at, version: found.version }, isKnown: true })
  }

  /** The model has another epoch: the versions that the steps know are past. A field that has the value that its last
   *  step left is unchanged, at its present version; what any other field had is lost. */
  #rebase() {
    const { epoch, fields: present } = this.model, key = ({ name }, at) => `${name} ${at.epoch} ${at.version}`
    const all = this.#all().flatMap(step => [...step.fields.values()]).filter(field => field.at)
    const followers = new Map(all.filter(field => field.beforeAt).map(field => [key(field, field.beforeAt), field]))
    for (const field of all) {
      if (field.at.epoch === epoch || field.isLost || field.kind === 'text') continue
      // The value that stands is that of the last step in the chain.
      let last = field, length = 0
      for (let next; length < MOST && (next = followers.get(key(last, last.at))); length++) last = next
      field.isFollowed = length > 0
      const now = present.get(field.name)
      field.isLost = !last.left || !same(last.left, { value: now?.value })
    }
    for (const field of all) {
      if (field.at.epoch === epoch || field.isLost || field.kind === 'text' || field.isFollowed) continue
      field.at = { epoch, version: unchangedSince(this.model, present.get(field.name)) }
    }
  }

  /** Removes a step from its stack. */
  remove(step) {
    this.undo = this.undo.filter(one => one !== step)
    this.redo = this.redo.filter(one => one !== step)
    this.changed()
  }

  /** Drops the oldest steps beyond the limits, those to undo first. */
  #limit(step) {
    step.bytes = sizeOf(step)
    let bytes = [...this.undo, ...this.redo].reduce((all, step) => all + step.bytes, 0)
    while (this.undo.length + this.redo.length > MOST || bytes > MOST_BYTES) {
      const oldest = (this.undo.length ? this.undo : this.redo).shift()
      bytes -= oldest.bytes
    }
    this.changed()
  }

  changed() { for (const call of this.observers) call() }
}
