/* bind.js: HTML controls and a Bindbus hub, bound both ways, over the WebSocket of docs/reference/protocol.md §10.
 *
 *   <p data-model="lamp"><input type="range" data-bind="level"> <i data-light></i></p>
 *
 *   bind.model('lamp').set('level', 0.8)                  shown at once, then everywhere; a promise of the outcome
 *   bind.model('lamp').change({ on: true, level: 1 })     two fields, one commit, or nothing
 *   bind.model('lamp').update('count', count => count + 1)    written if nobody else writes meanwhile, else anew
 *   bind.model('lamp').on('level', (value, info) => …)    now, and at each change; returns its end
 *   bind.undo('lamp')                                     takes this page's last write back; a promise of how it ended
 *   bind.model('show').set('cues[id=7].name', 'Rain')     one member of an element of a list
 *   bind.link('left').cut()                               one of several connections (data-link="left")
 */
var bind = globalThis.bind ??= (() => {
  'use strict'

  // ---- Links and models know no document ----

  let prose, looks, conflicts, arrays    // modules; no link is opened before they are there
  const loaded = Promise.all(['values', 'elements', 'conflicts', 'lists'].map(name => import(`/${name}.js`)))
    .then(modules => [prose, looks, conflicts, arrays] = modules)

  const now = () => performance.now()
  const same = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b)
  const hex = bytes => [...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('')

  /** SHA-256. A page over plain http has no `crypto.subtle`. */
  const digest = async bytes => crypto.subtle ? new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
    : (await import('/sha256.js')).sha256(bytes)

  const text = value => {
    if (value === undefined || value === null) return ''
    if (typeof value !== 'object') return String(value)
    if ('$int' in value || '$float' in value) return String(value.$int ?? value.$float)
    if ('$bytes' in value) return `${Math.floor(String(value.$bytes).replace(/=/g, '').length * 3 / 4)} bytes`
    return JSON.stringify(value)
  }

  const age = ms => ms < 90_000 ? `${(ms / 1000).toFixed(ms < 9_500 ? 1 : 0)} s`
    : ms < 5_400_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`

  /** What an operation makes of a value, as the hub would (protocol.md, section 6.3). */
  const laidOver = (value, [verb, , operand]) => verb === 'set' || verb === 'delete' || value === undefined || !prose
    ? operand : verb === 'setIfAbsent' ? value : prose.merged(verb, value, operand)

  const fieldsOf = write => write.operations.flatMap(([verb, name]) => verb === 'clear' ? write.cleared : name)
  const touches = (write, field) => fieldsOf(write).includes(field)
  const isPart = name => /.[@[]/.test(name)
  const isText = value => value === undefined || typeof value === 'string'

  /** An object that is made when somebody looks into it: of ten thousand fields most observers look at none. */
  const lazily = make => {
    let made
    const at = () => made ??= make()
    return new Proxy({}, {
      get: (_, name) => at()[name], has: (_, name) => name in at(), ownKeys: () => Object.keys(at()),
      getOwnPropertyDescriptor: (_, name) => Object.getOwnPropertyDescriptor(at(), name),
    })
  }

  let delivering = 0                     // hops of what observers write: 1 more than those of what they are told

  /** The committed fields of a model, and pending writes over them. */
  class Model {
    constructor(link, id) {
      Object.assign(this, {
        link, id, epoch: '0', version: 0, state: 'idle', lastNumber: 0, sendsFrom: 0, hops: 0,
        fields: new Map(),               // committed: name → { value, version, tag, writer, user, number, time }
        writes: [],                      // pending, oldest first; acknowledged ones until their version is here
        refusals: new Map(),             // field → { reason, value, outcome } of a write that came to nothing
        chunks: [], kept: [],            // of a catch-up, and commits that came meanwhile
        observers: new Set(), touched: new Set(), notified: new Map(), pendingCommits: [],
      })
    }

    /** Its lists, and elements of arrays: the names `cues`, `cues@7`, `cues[id=7].name`. */
    get lists() { return this.madeLists ??= arrays?.listsOf(this) }

    /** The value that shows: ours until its commit is here, else the committed, else the described default. */
    get(field) {
      field = this.stored(field)
      const value = this.undescribed(field)
      return value !== undefined || field[0] === '@' ? value : this.lists?.none(field) ?? this.describe(field)?.default
    }

    undescribed(field) {
      if (this.lists?.has(field)) return this.lists.get(field)
      let value = this.fields.get(field)?.value
      for (const write of this.writes) {
        if (write.isHidden) continue
        for (const operation of write.operations) {
          if (operation[0] === 'clear') value = undefined
          if (operation[1] !== field) continue
          value = write.rules[field] === 'text' ? conflicts.rebased(this, write, operation, value)
            : laidOver(value, operation)
        }
      }
      return value
    }

    describe(field) { return this.get('@description')?.fields?.[this.stored(field)] }

    /** Whether a value is not for screens; an element is as secret as its list. */
    isSecret(field) { return !!this.describe(field.replace(/(?<=.)[@[].*/s, ''))?.secret }

    /** The stored name of a field, which the description may call otherwise, too (protocol.md, 8-6). */
    stored(field) {
      const names = this.fields.get('@description')?.value?.alias
      return names && Object.hasOwn(names, field) ? String(names[field]) : field
    }

    /** The same of operations and conditions. */
    named(rows, at) {
      return rows.map(row => at in row ? Object.assign([...row], { [at]: this.stored(row[at]) }) : row)
    }

    names() {
      const names = new Set(Object.keys(this.get('@description')?.fields ?? {}))
      for (const name of this.fields.keys()) names.add(name)
      for (const name of this.writes.flatMap(fieldsOf)) names.add(name)
      return [...names].filter(name => !isPart(name) && this.get(name) !== undefined).sort()
    }

    pending(field) { return this.writes.find(write => !write.isDecided && touches(write, field)) }

    /** Version and writer of the committed value, with its user if the hub has keys; `state`: pending, offline, refused
     *  (the whole model, too) or none. */
    info(path) {
      const { lists } = this, name = this.stored(path), field = lists?.home(name) ?? name
      const { version = 0, tag, writer, user, time } = lists?.newest(field) ?? this.fields.get(field) ?? {}
      const pending = lists?.pending(field) ?? this.pending(field), refusal = this.refusals.get(field)
      const why = refusal?.reason ?? this.blocked?.text
      return {
        field, version, tag, writer, user, time, own: tag === this.link.tag, refusal,
        readOnly: prose?.readOnly(this, field),
        state: pending ? this.link.isLive ? 'pending' : 'offline' : why && 'refused',
        reason: pending ? pending.held && `waits: ${pending.held}` : why,
      }
    }

    /** Calls back now and at each change of what shows; with null: of any field. */
    on(field, call) {
      const observer = { field, call }
      this.observers.add(observer)
      if (isPart(field) && !this.notified.has(field)) this.notified.set(field, { value: this.get(field) })
      if (this.version || this.writes.length) this.call(observer, field === null ? this.names() : [field], [])
      return () => this.observers.delete(observer)
    }

    call({ field, call }, changed, commits) {
      try {
        if (field !== null) return call(this.get(field), this.info(field))
        const { version, epoch } = this
        const all = lazily(() => Object.fromEntries(this.names().map(name => [name, this.get(name)])))
        call(all, { changed: changed.filter(name => !isPart(name)), commits, version, epoch })
      } catch (error) { reportError(error) }
    }

    touch(...fields) {
      for (const field of fields) this.touched.add(field)
      this.madeLists?.touch(fields)
      this.link.touch(this)
    }

    touchPending() { this.touch(...this.writes.flatMap(fieldsOf)) }

    notify() {
      const { lists } = this, commits = this.pendingCommits.splice(0)
      const fields = lists?.concerned(this.touched) ?? [...this.touched]
      this.touched.clear()
      const changed = fields.filter(field => {
        const value = this.get(field), notified = this.notified.get(field)
        const why = this.refusals.get(lists?.home(field) ?? field)?.reason
        this.notified.set(field, { value, why })
        // A list that says the same is the same.
        return !(lists?.isList(field) ? Object.is : same)(value, notified?.value) || why !== notified?.why
      })
      delivering = this.hops
      this.hops = 0
      for (const observer of [...this.observers]) {
        if (!this.observers.has(observer)) continue
        const field = observer.field && this.stored(observer.field)
        const isTold = !field || changed.includes(field) || field !== observer.field && changed.includes('@description')
        if (isTold) this.call(observer, changed, commits)
      }
      delivering = 0
      return fields
    }

    /** `seen`: what its writer had in sight, if that may be older than what shows. */
    set(field, value, seen) {
      field = this.stored(field)
      if (this.lists?.has(field)) return this.lists.set(field, value, seen)
      const shown = this.get(field)
      if (this.policy(field) === 'text' && [seen, value].every(one => typeof one === 'string') && isText(shown)) {
        value = prose.merge(seen, shown ?? '', value)
      }
      if (!same(value, shown)) return this.change({ [field]: value })
      if (this.refusals.delete(field)) this.touch(field)
      return Promise.resolve({ kind: 'unchanged' })
    }

    policy(field) { return this.describe(field)?.policy }

    /** One commit; undefined deletes. Each field goes as its policy says. Options: those of `propose`, and operations
     *  that go with it. */
    change(values, options) {
      const named = Object.fromEntries(this.named(Object.entries(values), 0))
      const { others = named, operations: steps = [], fault } = this.lists?.divide(named) ?? {}
      if (fault) return this.lists.refuse(fault, named)
      const rules = {}, operations = Object.entries(others).map(([field, value]) => {
        const policy = this.policy(field), shown = this.get(field)
        if (value === undefined) return ['delete', field]
        if (policy === 'compareAndSet' || policy === 'text' && isText(value) && isText(shown)) rules[field] = policy
        return policy && prose.merging(policy, field, value, shown, this.undescribed(field)) || ['set', field, value]
      })
      return this.propose([...operations, ...steps, ...options?.operations ?? []], [], rules, options)
    }

    /** Resolves once its values are current; update writes what `change` makes of a value, and tries again if somebody
     *  else was first: updates.js. */
    get ready() { return import('/updates.js').then(({ ready }) => ready(this)) }
    update(field, change) { return import('/updates.js').then(({ update }) => update(this, field, change)) }

    /** `insert(element, after)`, `move(id, after)` and `remove(id)` of a list's elements: lists.js. */
    list(field) {
      return Object.fromEntries(['insert', 'move', 'remove'].map(name => [name, (...rest) =>
        this.lists ? this.lists[name](field, ...rest) : loaded.then(() => this.lists[name](field, ...rest))]))
    }

    /** Operations are [verb, field, value], conditions [field, epoch, version]. A promise of the outcome.
     *  `rules`: how a set stands to what others write, by field: `text`, `compareAndSet`, or `restore` of an undo.
     *  Options: `undoable`, whether undo records it; `finalize` brings one of undo up to what is committed, false if
     *  it cannot be sent now, or has ended. */
    propose(operations, conditions = [], rules = {}, { finalize, undoable = true } = {}) {
      operations = this.named(operations, 1)
      conditions = this.named(conditions, 0)
      const isPlain = !conditions.length && !finalize && operations.every(([verb]) => /^(set|replace)$/.test(verb))
      const write = { operations, conditions, rules, finalize, isPlain, number: 0, at: now(), hops: delivering }
      write.seen = []
      write.cleared = [...this.fields.keys()]
      if (undoable) this.steps?.record(write)
      const last = this.writes.findLastIndex(earlier => !earlier.isPlain)
      // What was never sent, and is set anew, never will be.
      const replaced = this.writes.filter((earlier, index) => isPlain && index > last && !earlier.number
        && same(earlier.rules, rules) && fieldsOf(earlier).every(name => touches(write, name)
          && this.writes.findLast(other => touches(other, name)) === earlier))
      for (const earlier of replaced) this.end(earlier, { kind: 'superseded' })
      for (const field of fieldsOf(write)) {
        const { value, version = 0 } = this.fields.get(field) ?? {}, rule = rules[field]
        // It stands on what that stood on; a text, which was edited as it showed, on what is there now.
        const former = rule === 'compareAndSet' && replaced.find(earlier => touches(earlier, field))
        const isOwn = this.writes.some(earlier => !earlier.isHidden && touches(earlier, field))
        const isUnset = value === undefined
        write.seen.push(former ? former.seen.find(seen => seen.field === field)
          : { field, value: rule ? this.get(field) : value, version, epoch: this.epoch, isOwn, isUnset })
        for (const name of [field, field?.split('@')[0]]) this.refusals.delete(name)
      }
      this.hops = Math.max(this.hops, write.hops)
      this.writes.push(write)
      if (this.state === 'left') this.join()
      this.touch(...fieldsOf(write))
      return new Promise(resolve => write.resolve = resolve)
    }

    /** One write a field is in flight. It gets its number when it is first sent, and keeps it. */
    send() {
      if (this.state === 'blocked') for (const write of [...this.writes]) this.end(write, this.blocked)
      if (this.state !== 'current' || now() < this.sendsFrom) return
      for (const write of [...this.writes]) {
        if (write.isDecided || write.number && !write.isDue) continue
        if (!write.number) {
          const earlier = this.writes.slice(0, this.writes.indexOf(write)), isRuled = Object.keys(write.rules).length
          // With a rule, it waits also until the commit of ours that it stands on is here.
          if (earlier.some(other => (isRuled || !other.isDecided) && fieldsOf(other).some(name => touches(write, name)))
            || this.lists?.waits(write, earlier) || isRuled && !conflicts.isReady(this, write)) continue
          if (!isRuled) conflicts.yieldToOthers(this, write)
          write.numberedIn = this.epoch
          prose.noteFirst(this.link, now())
        }
        const { operations, conditions, hops } = write, number = write.number || this.lastNumber + 1
        const message = JSON.stringify({
          kind: 'propose', model: this.id, number, confirmed: this.unacknowledged() - 1, hops, conditions, operations,
          earlier: write.numberedIn !== this.epoch || undefined,
        })
        const fault = prose.fault(operations, conditions, message)
        if (fault) {
          this.end(write, fault)
          continue
        }
        this.lastNumber = Math.max(this.lastNumber, write.number = number)
        write.isDue = false
        this.link.send(message)
      }
      // What had to wait stands behind what overtook it.
      this.writes.sort((a, b) => (a.number || Infinity) - (b.number || Infinity))
    }

    unacknowledged() {
      return this.writes.find(write => write.number && !write.isDecided)?.number ?? this.lastNumber + 1
    }

    sendAgain(from = 0) { for (const write of this.writes) if (write.number >= from) write.isDue = true }

    take(outcome, epoch) {
      const { kind, number, next, pause, code, count, version, field } = outcome
      if (isPart(field)) outcome.value = outcome.value?.is
      const write = this.writes.find(write => write.number === number && !write.isDecided)
      if (kind === 'retryLater') {
        this.sendsFrom = now() + pause
        this.sendAgain(number)
        if (write) write.held = code
        setTimeout(() => this.touch(), pause + 1)
      } else if (kind === 'expected') {
        this.sendAgain(next)
        if (this.unacknowledged() > next) this.join()
      } else if (kind === 'committed') {
        for (let i = 0; i < count; i++) this.acknowledge(number + i, version + i, epoch)
      } else if (write && kind === 'conflict' && write.rules[field] === 'text') {
        // Its number is used up; once it has been made one with what the others wrote, it gets another.
        Object.assign(write, { number: 0, isHidden: false, waitsFor: { epoch, version } })
      } else if (write && !(kind === 'unknown' && prose.again(write, this, true))) {
        // Where a merge would still change what is here, the hub looked at newer values: it shows until those come.
        const lacks = ([verb, field, value]) => kind === 'unchanged' && /^(add|max|min|union)$/.test(verb)
          && !same(this.fields.get(field)?.value, laidOver(this.fields.get(field)?.value, [verb, field, value]))
        const isOver = !write.operations.some(lacks)
        this.end(write, outcome, isOver)
        if (!isOver) write.reachedAt = this.version + 1
      }
      this.touch(...write ? fieldsOf(write) : [])
    }

    acknowledge(number, version, epoch) {
      const write = this.writes.find(write => write.number === number && !write.isDecided)
      if (!write) return
      this.end(write, { kind: 'committed', version, epoch }, epoch === this.epoch && version <= this.version)
      write.reachedAt = version
    }

    /** An own commit is its write's outcome, and holds what is older of ours. */
    noteOwn(number, version, epoch) {
      const write = number && this.writes.find(write => write.number === number)
      if (write) this.end(write, { kind: 'committed', version, epoch })
      this.hide(number)
    }

    end(write, outcome, isOver = true) {
      if (!write.isDecided) {
        outcome = prose.believed(write, outcome)
        write.isDecided = true
        write.resolve(outcome)
        const isRefused = /refused|conflict|expired|unknown/.test(outcome.kind)
        const isSecret = fieldsOf(write).some(field => this.isSecret(field))
        const why = isRefused ? prose.reason(outcome, text, age, isSecret) : outcome.kind
        const told = isRefused && !write.finalize ? this.lists?.refused(write) ?? write.operations : []
        for (const [verb, field, value] of told) {
          if (verb === 'clear' || this.pending(field)) continue
          const reason = prose.reasonFor(isSecret ? undefined : value, outcome, why, text)
          this.refusals.set(field, { reason, outcome, ...verb === 'set' && { value } })
        }
        this.steps?.settle(write, outcome)
        this.link.notify('outcome', { model: this, write, outcome, isRefused, reason: why })
        this.touch(...fieldsOf(write))
      }
      if (isOver) this.writes.splice(this.writes.indexOf(write), 1)
    }

    hide(mark) {
      for (const write of this.writes) {
        if (!write.number || write.number > mark || write.isHidden) continue
        write.isHidden = true
        this.touch(...fieldsOf(write))
      }
    }

    /** This page may not read it, as things are: that shows, what is written ends, and later it is asked again. */
    block({ code, text }) {
      Object.assign(this, { state: 'blocked', blocked: { kind: 'refused', code, text } })
      this.touch('@description', ...this.fields.keys())
      if (code === 'notPermitted') this.fields.clear(), this.forget()
    }

    join() {
      this.state = 'asked'
      this.askedAt = now()
      this.chunks = []
      const { id: model, epoch } = this, version = this.isPartial ? 0 : this.version
      this.link.sendJSON({ kind: 'join', model, epoch, version, unacknowledged: this.unacknowledged() })
    }

    leave() {
      this.link.sendJSON({ kind: 'leave', model: this.id })
      this.state = 'left'
    }

    catchup(message) {
      const wasAsked = this.state === 'asked', { form, epoch, previous, version } = message
      const isStale = epoch === this.epoch ? form === 'snapshot' && version < this.version : form === 'delta'
      if (this.state === 'left' || !wasAsked && isStale) return
      if (form !== 'none') {
        if (this.chunks[0] && (this.chunks[0].form !== form || this.chunks[0].version !== version)) this.chunks = []
        this.chunks.push(message)
        if (!message.last) return
        const chunks = this.chunks.splice(0)
        if (form === 'delta' && (epoch !== this.epoch || previous > this.version)) {
          if (wasAsked) this.forget()
          return this.join()
        }
        this.apply(chunks, message)
      } else if (wasAsked) {
        if (epoch !== this.epoch) this.unhide()
        Object.assign(this, { epoch, version })
      }
      this.hide(message.mark ?? 0)
      this.state = 'current'
      if (this.blocked) this.touch('@description', ...this.fields.keys())
      this.blocked = undefined
      if (wasAsked) this.sendAgain(1)
      this.steps?.catchUp()
      for (const kept of this.kept.splice(0)) this.commits(kept)
      this.touch()
    }

    apply(chunks, { form, epoch, version }) {
      const isOther = epoch !== this.epoch, from = this.version, isWhole = form === 'snapshot', named = new Set()
      if (isOther) this.unhide()
      for (const { fields, users = {} } of chunks) {
        for (const [name, version, tag, writer, number, time, value] of fields) {
          named.add(name)
          if (tag === this.link.tag) this.noteOwn(number, version, epoch)
          if (isWhole || version > from) {
            const user = Object.hasOwn(users, name) ? users[name] : undefined
            this.commit(name, { value, version, tag, writer, user, number, time })
          }
        }
      }
      for (const name of this.fields.keys()) if (isWhole && !named.has(name)) this.fields.delete(name), this.touch(name)
      this.epoch = epoch
      this.version = isWhole ? version : Math.max(from, version)
      this.isPartial &&= !isWhole
      // What an earlier life acknowledged is in this one, or lost.
      this.release(isOther ? Infinity : this.version)
    }

    commits(message) {
      const { epoch, previous, time, commits } = message
      if (this.state === 'asked') return this.kept.push(message)
      if (epoch !== this.epoch || this.state !== 'current') return
      if (previous > this.version) {
        this.join()
        return this.kept.push(message)
      }
      commits.forEach(({ tag, name: writer, user, number, hops, changes }, index) => {
        const version = previous + 1 + index, own = tag === this.link.tag
        if (own) this.noteOwn(number, version, epoch)
        if (version <= this.version) return
        const before = changes.map(([field]) => ({ field, ...this.fields.get(field) }))
        for (const [field, value] of changes) this.commit(field, { value, version, tag, writer, user, number, time })
        this.version = version
        if (!own) this.hops = Math.max(this.hops, hops + 1)
        const commit = { version, epoch, tag, writer, user, number, time, own, changes, before }
        this.pendingCommits.push(commit)
        this.steps?.commit(commit)
      })
      this.release(this.version)
      this.touch()
    }

    commit(name, field) {
      this.fields.set(name, field)
      this.touch(name)
      if (name === '@description') for (const write of this.writes) if (!write.number) prose.rename(write, this)
    }

    release(version) {
      for (const write of this.writes.filter(write => write.reachedAt <= version)) {
        this.end(write)
        this.touch(...fieldsOf(write))
      }
    }

    unhide() {
      for (const write of this.writes) if (!write.isDecided) write.isHidden = false
      this.touchPending()
    }

    forget() { Object.assign(this, { epoch: '0', version: 0 }) }

    changeLog() {
      for (const write of [...this.writes]) this.end(write, { kind: 'unknown', text: 'the hub has another log' })
      this.touch(...this.fields.keys())
      this.fields.clear()
      this.forget()
    }
  }

  /** A connection, under an identity of its own. */
  class Link {
    constructor(name) {
      const secret = crypto.getRandomValues(new Uint8Array(16))
      Object.assign(this, {
        secret: hex(secret), models: new Map(), prefixes: new Map(), observers: new Set(), dirty: new Set(),
        pings: new Map(), isLive: false, isCut: false, tries: 0, heartbeat: 1000, since: now(), checked: now(),
        problem: '', welcome: null, run: Math.random().toString(16).slice(2), openings: 0,
      })
      // The tag proves itself by the secret.
      const bytes = new Uint8Array([...new TextEncoder().encode('bindbus tag 1\0'), ...secret])
      this.begun = Promise.all([digest(bytes), loaded])
        .then(async ([digits]) => {
          await this.loading?.()         // of keep.js
          this.tag = hex(digits.slice(0, 8))
          this.name = `${name || 'page'}-${this.tag.slice(0, 4)}`
          this.retry()
        }).catch(reportError)
    }

    /** @param isForElement - it is followed only as long as an element shows it. */
    model(id, isForElement) {
      let model = this.models.get(id)
      if (!/^(@hub|(@ephemeral\/)?[\w-]+(\/[\w-]+)*)$/.test(id)) throw Error(`${id} is not a model id`)
      if (!model) this.models.set(id, model = new Model(this, id)), this.notify('model', model)
      model.isKept ||= !isForElement
      if (this.isLive && (model.state === 'left' || model.state === 'idle')) model.join()
      else if (model.state === 'left') model.state = 'idle'
      return model
    }

    /** Calls back for each model below a prefix, later ones too; and once all that are there were told. */
    list(prefix, call, done) {
      this.prefixes.set(prefix, { call, done })
      if (this.isLive) this.sendJSON({ kind: 'join', prefix })
    }

    /** Calls back with ('state' | 'outcome' | 'error' | 'heartbeat' | 'feed', detail). */
    on(call) {
      this.observers.add(call)
      return () => this.observers.delete(call)
    }

    notify(what, detail) {
      for (const call of this.observers) try { call(what, detail) } catch (error) { reportError(error) }
    }

    unconfirmed() {
      const writes = [...this.models.values()].flatMap(model => model.writes.filter(write => !write.isDecided))
      return { count: writes.length, age: writes.length ? now() - Math.min(...writes.map(write => write.at)) : 0 }
    }

    ping() {
      return new Promise(resolve => {
        const token = Math.floor(Math.random() * 2 ** 32), start = now()
        this.pings.set(token, () => resolve(now() - start))
        this.sendJSON({ kind: 'ping', token })
      })
    }

    cut() {
      this.isCut = true
      this.lost()
    }

    heal() {
      this.isCut = false
      this.retry()
    }

    retry() {
      this.tries = 0
      if (!this.socket) this.open()
    }

    open() {
      clearTimeout(this.timer)
      if (this.isCut || this.stopped || !this.tag) return
      const socket = this.socket = new WebSocket(`${location.origin.replace('http', 'ws')}/bind`)
      this.receivedAt = now()
      socket.onopen = () => {
        this.isOpen = true
        const { tag, secret, name, run } = this
        // What a lost connection still brings takes nothing over.
        const capabilities = ['rescue', `opening:${run}-${++this.openings}`]
        this.sendJSON({ kind: 'hello', tag, secret, name, resuming: !!this.welcome, capabilities })
      }
      socket.onmessage = ({ data }) => socket === this.socket && this.receive(JSON.parse(data))
      socket.onclose = ({ code, reason }) => socket === this.socket && this.lost(code, reason)
    }

    lost(code, why) {
      const { socket, isOpen, isLive } = this
      if (isLive) this.since = now()
      Object.assign(this, { socket: null, isOpen: false, isLive: false })
      if (code >= 4000) this.problem = why
      // Coming back would not help.
      if (/400[1-3]|4006/.test(code)) this.stopped = true
      socket?.close()
      this.pings.clear()
      for (const model of this.models.values()) {
        if (model.state !== 'left') model.state = 'idle'
        Object.assign(model, { chunks: [], kept: [], sendsFrom: 0 })
        // One of them could not be read: saying it again would not help.
        for (const write of code === 4000 ? [...model.writes] : []) {
          if (write.number && !write.isDecided) model.end(write, { kind: 'unknown', text: why })
        }
        model.touchPending()
      }
      this.notify('state', code)
      if (this.isCut || this.stopped) return
      this.timer = setTimeout(() => this.open(), 50 + Math.random() * Math.min(4950, 50 * 2 ** this.tries++))
      if (socket && !isOpen) looks.askWhy(this)
    }

    sendJSON(message) { this.send(JSON.stringify(message)) }
    send(message) { if (this.isOpen) this.socket.send(message) }

    receive(message) {
      const { kind, number, epoch } = message, model = this.models.get(message.model)
      this.receivedAt = now()
      this.hubNow = message.now ?? this.hubNow
      if (kind === 'welcome') this.begin(message)
      else if (kind === 'catchup') model?.catchup(message)
      else if (kind === 'commits') model?.commits(message)
      else if (kind === 'outcomes') for (const outcome of message.outcomes) model?.take(outcome, epoch)
      else if (kind === 'announce') {
        const { call, done } = this.prefixes.get(message.prefix) ?? {}
        for (const one of message.models) call?.(one)
        if (message.complete) done?.()
      }
      else if (kind === 'pong') { this.pings.get(message.token)?.(); this.pings.delete(message.token) }
      else if (kind === 'heartbeat') { this.answer(number); this.notify('heartbeat', message) }
      else if (kind === 'error' && message.code === 'notJoined' && model) model.join()
      else {
        if (kind === 'error') model?.block(message)
        if (kind === 'rights' && model) model.rights = message, model.touch('@description')
        this.notify(kind, message)
      }
    }

    begin(welcome) {
      this.notify('welcome', welcome)
      const before = this.welcome, isForgotten = prose.isForgotten(before, welcome, this.first, now())
      Object.assign(this, { welcome, isLive: true, tries: 0, heartbeat: welcome.heartbeat, problem: '', since: now() })
      for (const model of this.models.values()) {
        model.rights = undefined
        if (before && before.log !== welcome.log) model.changeLog()
        else if (isForgotten) prose.forgetNumbers(model)
        if (model.state !== 'left') model.join()
        model.touchPending()
      }
      for (const prefix of this.prefixes.keys()) this.sendJSON({ kind: 'join', prefix })
      this.notify('state')
      started(this)
    }

    answer(heartbeat) {
      const models = []
      for (const model of this.models.values()) {
        const confirmed = model.unacknowledged() - 1, applied = model.version, reported = `${confirmed} ${applied}`
        if (model.state !== 'current' || model.id[0] === '@' || reported === model.reportedToHub) continue
        model.reportedToHub = reported
        models.push({ model: model.id, confirmed, applied })
      }
      this.sendJSON({ kind: 'alive', heartbeat, models })
    }

    /** A page that was itself asleep listens first. */
    check() {
      const time = now(), slept = time - this.checked > 3000
      this.checked = time
      if (slept) this.receivedAt = time
      else if (this.isLive) for (const model of this.models.values()) {
        if (model.state === 'blocked' && time - model.askedAt > 5000) model.join()
      }
      const limit = this.isLive ? 3 * this.heartbeat + 1000 : 5000
      if (!slept && this.socket && time - this.receivedAt > limit) this.lost()
    }

    /** Tells and sends once for all that happens at once. */
    touch(model) {
      if (!this.dirty.size) queueMicrotask(() => {
        const models = [...this.dirty]
        this.dirty.clear()
        for (const model of models) {
          changed(model, model.notify())
          model.send()
        }
      })
      this.dirty.add(model)
    }
  }

  // ---- Elements ----

  const links = new Map(), bindings = new Set(), controls = new Map()      // controls: element → binding
  // Attributes of files of their own, which the first such element loads.
  const EXTRAS = { plot: 'plot', each: 'each', undo: 'undoing', redo: 'undoing', undoing: 'undoing',
    set: 'buttons', add: 'buttons', toggle: 'buttons', delete: 'buttons', describe: 'descriptions' }
  const WAYS = ['bind', 'show', 'reason', ...Object.keys(EXTRAS)]
  const SELECTOR = WAYS.map(way => `[data-${way}]`).join()

  let started
  const ready = new Promise(resolve => started = resolve)

  function link(name = '') {
    if (!links.has(name)) links.set(name, new Link(name || document.documentElement.dataset.name))
    return links.get(name)
  }
  const linkOf = element => link(element.closest('[data-link]')?.dataset.link)

  /** data-format="fixed:2" shows formats.fixed(value, '2'). Pages may add to it. */
  const formats = {
    fixed: (value, places = 0) => Number(value).toFixed(places),
    percent: (value, places = 0) => `${(value * 100).toFixed(places)} %`,
    date: value => new Date(value).toLocaleDateString(),
  }

  function formatted(value, format) {
    const [name, argument] = (format || '').split(':')
    return formats[name] && value !== undefined && value !== null ? formats[name](value, argument) : text(value)
  }

  /** Binds what has come into the document, and lets go of what has left it. `roots`: where elements are new, or bound
   *  to something else. */
  function scan(roots = [document.documentElement]) {
    const near = new Set(roots.flatMap(root => [root, ...root.querySelectorAll(SELECTOR)])), left = new Set()
    for (const binding of bindings) {
      const { element, key } = binding
      if (element.isConnected && (!near.has(element) || keyOf(element) === key)) continue
      binding.stop?.()
      bindings.delete(binding)
      left.add(binding.model)
      controls.delete(binding.element)
      binding.element.bindKey = ''
    }
    for (const element of near) {
      const key = keyOf(element)
      if (element.bindKey === key) continue
      element.bindKey = key
      for (const what of WAYS) {
        try { if (what in element.dataset) attach(element, what, key) } catch (error) { reportError(error) }
      }
    }
    for (const { model } of bindings) left.delete(model)
    // A page may follow so many models: what nothing shows any more makes room.
    for (const model of left) if (!model.isKept && !model.observers.size && !model.writes.length) model.leave()
    for (const light of document.querySelectorAll('[data-light]')) linkOf(light)
    paintLater()
  }

  /** The row of a list (each.js) that an element speaks of, unless it names a model of its own inside. */
  const rowOf = element => element.closest('[data-model], [data-row]')?.bindRow

  /** All that decides what an element is bound to. */
  const keyOf = element => JSON.stringify([element.closest('[data-link]')?.dataset.link,
    element.closest('[data-model]')?.dataset.model, rowOf(element)?.field,
    ...[...WAYS, 'bindAttr'].map(name => element.dataset[name])])

  function attach(element, what, key) {
    const { type, tagName } = element
    const { bindAttr: attribute = /^(METER|PROGRESS)$/.test(tagName) ? 'value' : undefined } = element.dataset
    const { bindOn: on = type === 'number' ? 'change' : 'input' } = element.dataset
    const id = /do/.test(what) && element.dataset[what] || element.closest('[data-model]')?.dataset.model
    if (!id) return
    const model = linkOf(element).model(id, true)
    const [, not, path, , member, , wanted] =
      /^(!?)((?:\[[^\]]*\]|[^=.[])*)(\.([^=]*))?(=(.*))?$/s.exec(element.dataset[what])
    const row = rowOf(element), name = row?.field ?? path.replace(/\[id=(.*)\]$/, '@$1')
    const part = row ? [path, member].filter(Boolean).join('.') : member
    const isControl = what === 'bind' && !attribute && !not && /^(INPUT|TEXTAREA|SELECT)$/.test(tagName)
    const binding = { element, what, key, model, row, part, not, wanted, attribute, on, type, isControl,
      get field() { return model.stored(name) },
      isText: !/check|radio|range|color|select/.test(type), title: element.getAttribute('title') }
    element.bindGiven ??= element.getAttributeNames()
    if (isControl) controls.set(element, binding)
    if (what === 'reason') element.role = 'status'
    bindings.add(binding)
    if (EXTRAS[what]) {
      import(`/${EXTRAS[what]}.js`).then(({ follow }) => {
        if (!bindings.has(binding)) return
        binding.stop = follow(binding)
        dirty.add(binding)
        paintLater()
      })
    }
    dirty.add(binding)
  }

  const dirty = new Set()
  loaded.then(() => {
    for (const binding of bindings) dirty.add(binding)
    paintLater()
  }, () => {})
  let isWaiting

  /** Once a frame, and not at all where nobody looks. */
  function paintLater() {
    if (isWaiting || document.hidden) return
    isWaiting = true
    requestAnimationFrame(() => {
      isWaiting = false
      for (const binding of dirty) try { paint(binding) } catch (error) { reportError(error) }
      dirty.clear()
      looks?.paintLights(linkOf, paintLater)
    })
  }

  function changed(model, fields) {
    for (const binding of bindings) {
      if (binding.model !== model) continue
      const { field } = binding, home = model.lists?.home(field) ?? field
      const isOurs = name => name === home || name === '@description' || binding.fields?.includes(name)
      if (fields.some(isOurs)) dirty.add(binding)
    }
    paintLater()
  }

  /** `data-bind="story.text"` is about one member of an object. */
  const valueOf = ({ model, field, part }, value = model.get(field)) => part ? value?.[part] : value
  const ruleOf = ({ model, field, part }) => !part && model.describe(field) || {}

  function paint(binding) {
    const { element, model, row, field, what, not, wanted, attribute } = binding
    if (row?.isGone) return
    if (EXTRAS[what]) return binding.draw?.(scan)
    const value = valueOf(binding), info = model.info(field)
    looks?.doubt(binding)
    if (what === 'reason') return looks ? looks.paintReason(binding, info, edits) : write(element, info.reason ?? '')
    if (what === 'show') return element.hidden = (wanted === undefined ? !!value : text(value) === wanted) === !!not
    looks?.mark(binding, info)
    if (attribute) return looks?.paintAttribute(binding, not ? !value : value, ruleOf(binding))
    const words = !not && model.lists?.text(field, value)
    if (!binding.isControl) return write(element, words || formatted(not ? !value : value, element.dataset.format))
    looks?.describe(binding, ruleOf(binding), bindings)
    looks?.paintControl(binding, value, info, edits, ruleOf(binding))
  }

  function write(element, words) { if (element.textContent !== words) element.textContent = words }

  /** What a control says: { value }, { problem }, or {} for what is half typed. */
  const read = binding => binding.type === 'checkbox' ? { value: binding.element.checked }
    : looks?.read(binding, ruleOf(binding), valueOf(binding)) ?? {}

  /** What a browser says of JSON quotes it. */
  const refuse = ({ model, field, part, type }, words, isWhole) => {
    const reason = type === 'password' && /JSON/.test(words) ? 'the text is not JSON' : words
    model.refusals.set(field, { reason, isWhole, part })
  }

  /** What is typed and is not written yet, or was refused: it stays in its control. */
  const isDraft = ({ isDirty, isMine, model, field }) => isDirty || isMine && model.info(field).state === 'refused'

  /** What is whole, fits and differs is written; all else stays in the control. */
  function edited(binding) {
    const { model, field, part } = binding, { value, problem } = binding.isComposing ? {} : read(binding)
    binding.isDirty = value === undefined
    binding.shown = undefined
    if (problem) refuse(binding, problem)
    else if (value !== undefined) {
      binding.isMine = binding.isText
      model.set(field, part ? { ...model.get(field), [part]: value } : value, binding.seen ?? '')
      binding.seen = value
    }
    if (!binding.isComposing) model.touch(field)
  }

  /** What is written later is a draft until then. Of JSON it is told at each key whether it is some. */
  function drafted(binding) {
    const { model, field, element, type } = binding, rule = type === 'number' ? type : ruleOf(binding).type
    const { problem } = prose?.typed(element.value, rule, valueOf(binding)) ?? {}
    binding.isDirty = true
    problem ? refuse(binding, problem) : model.refusals.delete(field)
    model.touch(field)
  }

  function dropEdit(binding, forgets) {
    Object.assign(binding, { isDirty: false, isMine: false, isComposing: false, shown: undefined })
    if (forgets) binding.model.refusals.delete(binding.field)
    binding.model.touch(binding.field)
  }

  const edits = { controls, isDraft, edited, dropEdit, read, refuse }

  const listeners = {
    input: binding => binding.on === 'input' ? edited(binding) : drafted(binding),
    change: binding => binding.on === 'change' && edited(binding),
    keydown: (binding, { key, isComposing }) => {
      // A browser tells no change where the words are those of the change before.
      const isEnd = binding.on === 'enter' || binding.on === 'change' && binding.isDirty && binding.type !== 'textarea'
      if (key === 'Enter' && isEnd && !isComposing) edited(binding)
      if (key === 'Escape' && binding.isText && !isComposing) {
        dropEdit(binding, true)
        paint(binding)                     // what is left at once has nothing to write
      }
    },
    compositionstart: binding => binding.isComposing = true,
    compositionend: binding => {
      binding.isComposing = false
      if (binding.on === 'input') edited(binding)
    },
    focusout: binding => {
      const { element, model, field } = binding
      if (element === document.activeElement) return       // the whole window lost it
      binding.isComposing = false
      if (/blur|change/.test(binding.on) && binding.isDirty) edited(binding)
      const isWhole = read(binding).value !== undefined
      // Nothing typed is nothing lost.
      if (binding.isDirty && !element.value && !element.validity.badInput) dropEdit(binding, true)
      else if (binding.isDirty && !model.refusals.has(field)) {
        refuse(binding, isWhole ? 'not written yet' : element.validationMessage || 'the input is incomplete', isWhole)
      }
      binding.shown = undefined
      model.touch(field)
    },
  }
  for (const [name, call] of Object.entries(listeners)) {
    document.addEventListener(name, event => {
      const binding = controls.get(event.target)
      if (binding) call(binding, event)
    })
  }
  document.addEventListener('submit', event => event.target.querySelector(SELECTOR) && event.preventDefault())

  /** Controls that hold what was typed and is not written. */
  const drafts = () => [...controls].filter(([, binding]) => isDraft(binding)).map(([element]) => element)

  const retry = () => { if (!document.hidden) for (const link of links.values()) link.retry() }
  addEventListener('online', retry)
  addEventListener('pageshow', retry)
  document.addEventListener('visibilitychange', () => { retry(); paintLater() })
  addEventListener('beforeunload', event => {
    if (drafts().length && !bind.isKept) event.preventDefault()
    for (const link of links.values()) if (link.unconfirmed().count) event.preventDefault()
  })
  addEventListener('pagehide', event => {
    if (!event.persisted) for (const link of links.values()) {
      if (!link.unconfirmed().count) link.sendJSON({ kind: 'leave' })
    }
  })
  setInterval(() => {
    for (const link of links.values()) link.check()
    paintLater()
  }, 1000)

  function begin() {
    scan()
    new MutationObserver(records => {
      const isElement = node => node.nodeType === 1, isGone = records.some(one => [...one.removedNodes].some(isElement))
      const roots = records.flatMap(one => one.type === 'attributes' ? one.target : [...one.addedNodes])
      if (isGone || roots.some(isElement)) scan(roots.filter(one => isElement(one) && one.isConnected))
    }).observe(document.documentElement, {
      subtree: true, childList: true,
      attributeFilter: ['model', 'link', 'bind-attr', ...WAYS].map(name => `data-${name}`),
    })
  }
  document.readyState === 'loading' ? document.addEventListener('DOMContentLoaded', begin) : begin()

  /** Undo and redo of this page's own writes to a model, which it records from then on. */
  const undoing = async model => (await import('/undoing.js')).undoing(model)

  return { model: (id, name) => link(name).model(id), link, ready, formats, text, age, drafts, edits, undoing,
    undo: async model => (await undoing(model)).undo(), redo: async model => (await undoing(model)).redo() }
})()
