/**
 * Types of what scripts use of /bind.js and /bind.mjs, and of what its further files bring: lists, updates, undo.
 * How to use them: docs/guide/pages.md, Types.
 */

/** A value of a field: JSON. Numbers that JSON cannot hold are an `Exact`. */
export type Value = null | boolean | number | string | Value[] | { [name: string]: Value } | Exact
/** An integer beyond 2^53, `NaN` or an infinity, or bytes in base64. */
export type Exact = { $int: string } | { $float: 'NaN' | 'Infinity' | '-Infinity' } | { $bytes: string }
/** The fields of a model whose fields no type declares. */
export type AnyFields = Record<string, any>
/** The name of a field. */
export type FieldName<Fields> = keyof Fields & string
/** An element of a list or one member of it, `cues[id=7]` and `cues[id=7].name`, or a field of the protocol's own. */
export type Path = `${string}[id=${string}` | `@${string}`

/** How a write ended. Only `committed` and `unchanged` say that the values are at the hub. */
export type Outcome = Committed | Unchanged | Superseded | Refused | Conflict | Expired | Unknown

/** It is in the model, durable as the hub promises. */
export interface Committed { kind: 'committed', version: number, epoch: string }
/** There was nothing to change. */
export interface Unchanged { kind: 'unchanged' }
/** Before it was sent this page wrote the same fields again. The later write has an outcome of its own. */
export interface Superseded { kind: 'superseded' }

/** It was not written, for a reason that stays until somebody changes something. */
export interface Refused {
  kind: 'refused'
  /** `doesNotFit` (the description), `notPermitted`, `malformedValue`, `badName`, `proposalTooLarge`, `valueTooLarge`,
   *  `notANumber`, `notOwner` and others of section 6.3 of the protocol. */
  code: string
  /** In words, for people. */
  text: string
}

/** It was not written, because somebody else wrote first: the field as it is now. */
export interface Conflict {
  kind: 'conflict'
  field: string
  /** Of its last commit; 0: it was never written. */
  version: number
  /** The writer's 16 hexadecimal digits, name, and user if the hub has keys. */
  tag: string, name: string, user?: string
  /** Milliseconds since that was written. */
  age: number
  /** Absent: the field has no value. */
  value?: Value
}
/** It was valid for a limited time and came too late; it was not written. */
export interface Expired { kind: 'expired' }
/** Whether it was written cannot be found out any more. */
export interface Unknown { kind: 'unknown', text?: string }

/** What `model.update` promises: an outcome, with the number of attempts, and the value where it was written. */
export type UpdateOutcome<T = any> = { attempts: number } &
  ((Committed | Unchanged) & { value: T | undefined } | Exclude<Outcome, Committed | Unchanged>)

/** [verb, field, value], as section 6 of the protocol says. */
export type Operation =
  | [verb: 'set' | 'setIfAbsent' | 'add' | 'max' | 'min' | 'union', field: string, value: any]
  | [verb: 'insert' | 'move' | 'replace', element: string, value: any]
  | [verb: 'delete', field: string]
  | [verb: 'clear']
/** It is only written if the field was not changed since that version of that epoch. */
export type Condition = [field: string, epoch: string, version: number]
/** How a `set` stands to what others write meanwhile: both texts are merged, or it ends as a conflict. */
export type Rule = 'text' | 'compareAndSet'

export interface WriteOptions {
  /** Whether undo records it; true by default. */
  undoable?: boolean
}
export interface ChangeOptions extends WriteOptions {
  /** Operations of the same commit, such as ['add', 'count', 1]. */
  operations?: Operation[]
}

/** What is known of a field beside its value. */
export interface FieldInfo {
  /** Its stored name, also where it was asked for by another one. */
  field: string
  /** Of the commit that wrote it last; 0: none did. */
  version: number
  /** The writer's 16 hexadecimal digits, name, and user if the hub has keys. */
  tag?: string, writer?: string, user?: string
  /** When it was committed, in milliseconds since 1970, by the hub's clock. */
  time?: number
  /** Whether this page wrote it. */
  own: boolean
  /** `pending`: a write of this page has no outcome yet; `offline`: nor is there a link; `refused`: see `reason`. */
  state?: 'pending' | 'offline' | 'refused'
  /** Why it is refused, or what it waits for, in words. */
  reason?: string
  /** Why this page may not write it, in words; undefined: it may. */
  readOnly?: string
  /** The last write that came to nothing, until there is another one. */
  refusal?: { reason: string, value?: Value, outcome?: Outcome }
}

/** What the description says of a field. Section 8 of the protocol has all members. */
export interface FieldDescription {
  /** Absent: any. */
  type?: 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object' | 'any'
  min?: Value, max?: Value
  /** Of controls. */
  step?: number
  /** In characters, as a person counts them. */
  maxLength?: number
  /** A regular expression for the whole text, which pages check and the hub does not. */
  pattern?: string
  choices?: Value[]
  /** Shown while the field has no value. */
  default?: Value
  unit?: string
  /** What becomes of concurrent writes; absent: the last one wins. */
  policy?: 'list' | 'text' | 'add' | 'max' | 'min' | 'union' | 'compareAndSet' | 'lastWrite'
  title?: string, help?: string
  /** Of forms. */
  order?: number, group?: string, widget?: string, readOnly?: boolean
  /** Not for screens; no right. */
  secret?: boolean
  /** Milliseconds after which the hub sets it back to its default. */
  expires?: number
  [member: string]: unknown
}

/** One commit of a model, as it was applied. */
export interface Commit {
  version: number
  epoch: string
  tag: string, writer: string, user?: string
  /** Of the write among those of its writer. */
  number: number
  /** Milliseconds since 1970, by the hub's clock. */
  time: number
  own: boolean
  /** Without a value the field was deleted. */
  changes: ([field: string, value: Value] | [field: string])[]
  before: { field: string, value?: Value, version?: number }[]
}

/** What an observer of a whole model is told beside the values. */
export interface ModelChange {
  /** Names of the fields that show something else now. */
  changed: string[]
  /** What others and this page committed since; none after a catch-up. */
  commits: Commit[]
  version: number
  epoch: string
}

/** The elements of a list. They show at once; the promises are how the writes ended. */
export interface List<Element = any> {
  /** Directly after the element with this id; null: at the front; without it: at the end. */
  insert(element: Element, after?: string | number | null): Promise<Outcome>
  /** The same of an element that is there. */
  move(id: string | number, after?: string | number | null): Promise<Outcome>
  /** `unchanged` if it is gone already. */
  remove(id: string | number): Promise<Outcome>
}
type ElementOf<List> = List extends (infer Element)[] | undefined ? Element : any

/** A model that this page follows: its committed values, with this page's pending writes over them. */
export interface Model<Fields = AnyFields> {
  readonly id: string
  readonly link: Link
  /** The era of the hub's log in which `version` counts; '0': nothing was received yet. */
  readonly epoch: string
  /** Of the last commit that is applied here. */
  readonly version: number
  /** `current`: it has the hub's values and follows them. `idle`, `asked`: it does not yet. `left`: no more. `blocked`:
   *  it may not be read, and is asked for again every 5 s. */
  readonly state: 'idle' | 'asked' | 'current' | 'left' | 'blocked'
  /** Resolves with the model as soon as its values are those of the hub, after a lost link too. Rejects with an `Error`
   *  if it may not be read, or the page follows too many models. */
  readonly ready: Promise<Model<Fields>>
  /** What shows: this page's write until its commit is here, else what is committed, else the described default. Do not
   *  change objects and arrays in it; copy them. */
  get<Name extends FieldName<Fields>>(field: Name): Fields[Name] | undefined
  get(path: Path): any
  /** Names of the fields that have a value or a default, sorted. */
  names(): string[]
  /** Writes a field as its policy says; undefined deletes. It shows at once. `seen`: what the writer had in sight, if
   *  that may be older than what shows; a text is merged with what others wrote since. */
  set<Name extends FieldName<Fields>>(field: Name, value: Fields[Name] | undefined, seen?: Fields[Name]):
    Promise<Outcome>
  set(path: Path, value: any, seen?: any): Promise<Outcome>
  /** Writes several fields in one commit, or none of them; undefined deletes. */
  change(values: { [Name in keyof Fields]?: Fields[Name] } & { [path: Path]: any }, options?: ChangeOptions):
    Promise<Outcome>
  /** Writes operations in one commit, or none of them. `rules`: how sets stand to what others write, by field. */
  propose(operations: Operation[], conditions?: Condition[], rules?: Record<string, Rule>, options?: WriteOptions):
    Promise<Outcome>
  /** Writes what `change` makes of the current value, if nobody writes the field meanwhile; if somebody does, `change`
   *  is called again with a copy of the newer value, 20 times at most; then the outcome is `conflict`. It waits for a
   *  link. What `change` throws rejects the promise, and nothing is written. */
  update<Name extends FieldName<Fields>>(field: Name,
    change: (value: Fields[Name] | undefined) => Fields[Name] | undefined | Promise<Fields[Name] | undefined>):
    Promise<UpdateOutcome<Fields[Name]>>
  update(path: Path, change: (value: any) => any): Promise<UpdateOutcome>
  /** Calls back now, if something is known, and at each change of what shows or of why a write was refused. Returns
   *  what ends it. */
  on<Name extends FieldName<Fields>>(field: Name, call: (value: Fields[Name] | undefined, info: FieldInfo) => void):
    () => void
  on(path: Path, call: (value: any, info: FieldInfo) => void): () => void
  /** The same of all fields at once. */
  on(all: null, call: (values: { [Name in keyof Fields]?: Fields[Name] }, change: ModelChange) => void): () => void
  info(field: FieldName<Fields> | Path): FieldInfo
  /** undefined: the field is not described. */
  describe(field: FieldName<Fields> | Path): FieldDescription | undefined
  list<Name extends FieldName<Fields>>(field: Name): List<ElementOf<Fields[Name]>>
  /** Stops following it. `bind.model` begins again, and so does a write. */
  leave(): void
}

/** What a link tells its observers, among others. */
export type LinkEvent =
  | [what: 'state', closeCode?: number]
  | [what: 'outcome', detail: { model: Model, outcome: Outcome, isRefused: boolean, reason: string }]
  | [what: 'error', detail: { code: string, text: string, model?: string, prefix?: string }]
  | [what: 'heartbeat', detail: { number: number, now: number }]
  | [what: 'feed', detail: { left: number, lines: { [name: string]: any }[] }]

/** A connection of the page to the hub, with a name among its peers. It opens again by itself when it is lost. */
export interface Link {
  /** Such as `page-3687`; undefined until it is opened for the first time. */
  readonly name: string | undefined
  /** Its own 16 hexadecimal digits. */
  readonly tag: string | undefined
  readonly isLive: boolean
  /** Why it is not live, in words, if the hub said so; else ''. */
  readonly problem: string
  /** Throws an `Error` if that is no model id. */
  model<Fields = AnyFields>(id: string): Model<Fields>
  /** Calls back for each model below a prefix, '' or `shop/`, later ones too; `done` once all that are there were. */
  list(prefix: string, call: (model: { model: string, version: number, fields: number }) => void, done?: () => void):
    void
  /** Returns what ends it. */
  on(call: (...event: LinkEvent) => void): () => void
  /** Writes without an outcome, and the age of the oldest in milliseconds. */
  unconfirmed(): { count: number, age: number }
  /** The round trip to the gateway in milliseconds. It never ends if the link is lost meanwhile. */
  ping(): Promise<number>
  /** Closes it until `heal`: writes wait. */
  cut(): void
  heal(): void
  /** Tries to connect now instead of after the pause. */
  retry(): void
}

/** How an undo or redo ended. `inexact`: fields that came back with what others wrote beside. */
export type UndoOutcome =
  | { kind: 'done', fields: string[], inexact: string[] }
  | { kind: 'nothing' }
  | { kind: 'failed', reason: string }
export interface UndoStatus { canUndo: boolean, canRedo: boolean, undoes: string[], redoes: string[] }

/** The recorded steps of this page in one model. */
export interface Undoing {
  undo(): Promise<UndoOutcome>
  redo(): Promise<UndoOutcome>
  readonly status: UndoStatus
  /** Calls back now and at each change of the status. Returns what ends it. */
  on(call: (status: UndoStatus) => void): () => void
  /** Makes one step of what is written in `body`. */
  group<Result>(body: () => Result): Result
}

export interface Bind {
  /** A model by its id, such as `shop/kiosk-3`, from then on followed. `link`: the name of another connection of the
   *  page. Throws an `Error` if that is no model id. */
  model<Fields = AnyFields>(id: string, link?: string): Model<Fields>
  /** A connection; without a name that of elements without `data-link`. */
  link(name?: string): Link
  /** Resolves at the first welcome of a hub. It never rejects. */
  readonly ready: Promise<Link>
  /** What `data-format` names. A page may add to it: the value, which is neither undefined nor null, and what stands
   *  behind the colon. */
  readonly formats: Record<string, (value: any, argument?: any) => string>
  /** A value as pages show it. */
  text(value: unknown): string
  /** Milliseconds as `2.0 s`, `3 min` or `5 h`. */
  age(milliseconds: number): string
  /** The controls with typed text that is not written. */
  drafts(): Element[]
  /** Records this page's writes to a model from now on. */
  undoing(model: string | Model<any>): Promise<Undoing>
  undo(model: string | Model<any>): Promise<UndoOutcome>
  redo(model: string | Model<any>): Promise<UndoOutcome>
  /** Whether /keep.js keeps writes and drafts over a reload. */
  isKept?: boolean
}

export const bind: Bind

declare global {
  /** The same for scripts, after /bind.js. */
  var bind: Bind
}
