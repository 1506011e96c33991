/** Taking steps of undo and redo back: each is a proposal, on condition that its fields are as this page left them. */
import { elementsBack, isElement } from './element-steps.js'
import { listOf } from './list-values.js'
import { inexact, isUnchanged, obstacle, restoration, sentence, unchangedSince } from './step.js'
import { Steps } from './steps.js'
import { sum } from './values.js'

const other = stack => stack === 'undo' ? 'redo' : 'undo'

export class Undoing extends Steps {
  #failures = new WeakMap()              // write → why it was given up

  /** Takes back the last step of a stack: { kind: 'done', fields, inexact }, { kind: 'nothing' }, or, in words, { kind:
   *  'failed', reason }; then the step is gone. It shows at once, and ends as the hub decides. */
  async restore(stack) {
    const model = this.model, step = this[stack].at(-1), failed = reason => this.#say({ kind: 'failed', reason })
    this.#say({})
    if (!step) return { kind: 'nothing' }
    if (model.blocked?.code === 'notPermitted') this.clear()
    if (model.blocked) return failed(model.blocked.text)
    const asking = [...step.fields.values()].flatMap(({ asking }) => asking ?? [])
    if (asking.length) return Promise.all(asking).then(() => this.restore(stack))
    const done = { kind: 'done', fields: [...step.fields.keys()], inexact: inexact(step) }
    if (this.#withdraw(step, stack)) return done
    const isPending = name => model.writes.some(({ operations }) => operations.some(([, field]) => field === name))
    const failure = obstacle(step, model, isPending)
    const { operations, rules } = restoration(step, model, field => this.#added(step, field))
    if (failure || !operations.length) {
      this.remove(step)
      // Its fields are as they were before it: nothing has to be written.
      const isAsLeft = field => field.at && isUnchanged(field, model.fields.get(field.name), model.epoch)
      if (!failure && [...step.fields.values()].every(isAsLeft)) {
        this.followUnwritten(step)
        return done
      }
      return failed(failure ?? sentence(model, done.fields[0], { isLost: true }))
    }
    this[stack].pop()
    this.taken = { step, stack }
    let write
    const outcome = await model.propose(operations, this.#conditions(step, rules), rules,
      { finalize: one => this.#finalize(write = one, step) })
    if (/committed|unchanged|superseded/.test(outcome.kind)) return done
    const { kind, code, text, field, tag, name: writer, user, value } = outcome
    return failed(kind !== 'conflict' ? text ?? code ?? kind
      : this.#failures.get(write) ?? sentence(model, field, { tag, writer, user, value }))
  }

  /** That nobody writes its fields meanwhile: keep.js sends it so, should the page end before it is finalized. */
  #conditions({ fields }, rules) {
    const model = this.model, names = Object.keys(rules).filter(name => fields.get(name).kind !== 'add')
    return names.map(name => {
      const version = unchangedSince(model, model.fields.get(name)), { epoch } = model
      const at = fields.get(name).kind === 'set' && fields.get(name).at || { epoch, version }
      return [name, at.epoch, at.version]
    })
  }

  #say(result) {
    this.said = result.reason ?? ''
    this.changed()
    return result
  }

  /** What a step has added to a field, with what is not committed yet; undefined: nothing. */
  #added(step, { name, sum: total }) {
    for (const write of step.writes) {
      for (const { field, kind, operand } of this.notes.get(write)?.parts ?? []) {
        if (field === name && kind === 'add') total = total === undefined ? operand : sum(total, operand)
      }
    }
    return total
  }

  /** Removes a step that was never sent; the other stack gets what brings it back. */
  #withdraw(step, stack) {
    const model = this.model, writes = [...step.writes]
    const isUnsent = [...step.fields.values()].every(({ at, kind }) => !at && kind !== 'text')
      && writes.every(({ number, isSecondTry, isDecided }) => !number && !isSecondTry && !isDecided)
    if (!isUnsent || !writes.length) return false
    const source = writes.map(write => this.notes.get(write)?.source).find(Boolean)
    const fields = new Map([...step.fields].map(([name, field]) => {
      const present = model.fields.get(name), at = { epoch: model.epoch, version: unchangedSince(model, present) }
      const { kind, isMoved } = field, amount = kind === 'add' ? sum(0, this.#added(step, field), -1) : undefined
      const left = { value: present?.value }
      return [name, { name, kind, at, left, ...this.shown(name), isKnown: true, isMoved, sum: amount }]
    }))
    for (const write of writes) this.notes.delete(write)
    this.remove(step)
    if (source) this[source.stack].push(source.step)
    else this[other(stack)].push({ fields, writes: new Set(), group: 0, edit: 0 })
    for (const write of writes) model.end(write, { kind: 'superseded' })
    this.changed()
    return true
  }

  /** Gives a write that takes a step back its values and conditions, once no earlier write of its fields is pending. */
  #finalize(write, step) {
    const model = this.model, asking = [...step.fields.values()].flatMap(({ asking }) => asking ?? [])
    // A write of a whole list is one of each element. Where one goes depends on the places of others.
    if (step.writes.size || this.#waitsForPlaces(write)) return false
    if (asking.length) {
      Promise.all(asking).then(() => model.touch())
      return false
    }
    const reason = obstacle(step, model, () => false)
    const end = outcome => {
      model.end(write, outcome)
      return false
    }
    if (reason) {
      this.#failures.set(write, reason)
      return end({ kind: 'conflict', text: reason })
    }
    const before = JSON.stringify(write.operations)
    const elements = write.operations.filter(([, name]) => isElement(name)).map(([, name]) => name)
    write.operations = write.operations.filter(([, name]) => !isElement(name)).flatMap(operation => {
      const [, name] = operation, { kind, at, before, sum: added } = step.fields.get(name) ?? {}
      if (write.rules[name] !== 'restore') return [operation]
      // Its write failed: there is nothing to take back.
      if (!at) return []
      if (kind === 'add') return [['add', name, sum(0, added, -1)]]
      write.conditions.push([name, at.epoch, at.version])
      return [before === undefined ? ['delete', name] : ['set', name, before]]
    })
    // Where elements go depends on what is there now.
    const fields = elements.flatMap(name => step.fields.get(name)?.at ? step.fields.get(name) : [])
    const steps = fields.length ? elementsBack([...new Set(fields)], model, true) : []
    for (const name of new Set(steps.map(([, name]) => name))) {
      const { at } = step.fields.get(name)
      write.conditions.push([name, at.epoch, at.version])
    }
    write.operations.push(...steps)
    this.#restrict(write)
    if (before !== JSON.stringify(write.operations)) model.touch(...step.fields.keys())
    return write.operations.length > 0 || end({ kind: 'unchanged' })
  }

  /** Whether earlier writes, whose commits are not here, place elements in the lists of a write. */
  #waitsForPlaces(write) {
    const lists = new Set(write.operations.map(([, name]) => listOf(name)))
    lists.delete(undefined)
    const places = ([verb, name]) => verb === 'clear' || verb !== 'replace' && lists.has(listOf(name) ?? name)
    return lists.size > 0 && this.model.writes.slice(0, this.model.writes.indexOf(write))
      .some(({ operations }) => operations.some(places))
  }

  /** The operations of a write that takes a step back are final: what it brings again leaves the other fields alone. */
  #restrict(write) {
    const note = this.notes.get(write), { operations } = write
    if (!note) return
    for (const { field: name } of note.parts) {
      const own = operations.filter(([, field]) => field === name), field = note.step.fields.get(name)
      if (field) field.isMoved = own.some(([verb]) => verb === 'move')
      if (!own.length && !field?.at) note.step.fields.delete(name)
    }
    note.parts = note.parts.filter(({ field: name }) => operations.some(([, field]) => field === name))
  }
}
