/** Values, without a document or a hub: what the edits of several people become, where a caret stands then, and what
 *  operations do. Texts are merged as by RowChange and TextMerge in Swift: docs/vectors/text holds for both. */

const IN_WORD = /^[\p{Alphabetic}\p{N}]/u
const MOST_CHANGES = 1000

/** The fewest changes from one row of letters or words to another, as [from, to, start, end]: those from `from` to
 *  `to` become those of the other row from `start` to `end` (Myers, 1986). Very many count as one. */
export function changes(old, next) {
  let head = 0, rows = old.length, columns = next.length
  while (head < rows && head < columns && old[head] === next[head]) head++
  while (rows > head && columns > head && old[rows - 1] === next[columns - 1]) rows--, columns--
  if (rows === head && columns === head) return []
  const reach = { 1: [head] }          // by diagonal, x - y: how far one gets with so many changes, and the last one
  for (let count = 0; count <= MOST_CHANGES && rows > head && columns > head; count++) {
    for (let diagonal = -count; diagonal <= count; diagonal += 2) {
      const isPutIn = diagonal === -count || diagonal !== count && reach[diagonal - 1][0] < reach[diagonal + 1][0]
      const [from, last] = reach[diagonal + (isPutIn ? 1 : -1)]
      let x = isPutIn ? from : from + 1, y = x - diagonal
      const start = isPutIn ? y - 1 : y, isMore = last && last[1] === from && last[3] === start
      const hunk = isMore ? [last[0], x, last[2], y, last[4]] : count ? [from, x, start, y, last] : undefined
      while (x < rows && y < columns && old[x] === next[y]) x++, y++
      reach[diagonal] = [x, hunk]
      if (x < rows || y < columns) continue
      const hunks = []
      for (let one = hunk; one; one = one[4]) hunks.unshift(one)
      return hunks
    }
  }
  return [[head, rows, head, columns]]
}

const segmenter = new Intl.Segmenter()
/** What a person sees as one letter may be several characters. */
export const letters = text => Array.from(segmenter.segment(text), ({ segment }) => segment)

/** Runs of letters and digits, and every other letter by itself, with the blanks before them. */
function wordsOf(text) {
  const words = []
  for (const letter of letters(text)) {
    const last = words.at(-1)
    if (letter === ' ') last?.text === '' ? last.blank += ' ' : words.push({ blank: ' ', text: '' })
    else if (last && (!last.text || IN_WORD.test(letter) && IN_WORD.test(last.text))) last.text += letter
    else words.push({ blank: '', text: letter })
  }
  return words
}

const keyOf = ({ text }) => text.normalize()
const isPart = (some, all) => some.length === all.reduce((place, word) =>
  place + (place < some.length && keyOf(some[place]) === keyOf(word)), 0)

const written = row => row.map(keyOf).join('')

/** What one edit kept of each word, and put in before it. */
function editOf(base, row) {
  const hunks = [...changes(base.map(keyOf), row.map(keyOf)), []], kept = [], added = base.map(() => [])
  let place = 0, by = 0
  for (const [from = base.length, to, start, end] of hunks) {
    for (; place < from; place++) kept[place] = row[place + by]
    added[from] ??= []
    added[from].push(...row.slice(start ?? row.length, end))
    place = to
    by = end - to
  }
  hunks.pop()
  const isOnlyIn = hunks.every(([from, to]) => from === to)
  return { kept, added, isOnlyIn, isOneWay: isOnlyIn || row.length && hunks.every(([,, start, end]) => start === end) }
}

/** Two edits of one text made one, as TextMerge does in Swift: the words of both stand, and where both only put
 *  letters into the same word, or took some out of it (`condition`), the letters of both. */
function weave(texts, condition) {
  const isWords = !condition, rowOf = text => isWords ? wordsOf(text) : letters(text).map(text => ({ blank: '', text }))
  const [base, ...rows] = texts.map(rowOf)
  const edits = rows.map(row => editOf(base, row)), isKept = place => edits.every(({ kept }) => kept[place])
  if (!isWords && !edits.every(edit => edit[condition])) return
  let result = '', tail = ''
  const put = ({ blank, text }) => {
    const isGlued = isWords && !blank && IN_WORD.test(text) && IN_WORD.test(letters(tail).at(-1) ?? '')
    result += tail = (isGlued ? ' ' : blank) + text
  }
  for (let place = 0, end = 0; place <= base.length; place++) {
    if (isWords && place >= end) {
      for (end = place; end < base.length && !isKept(end);) end++
      const [old, ...both] = [{ kept: base, added: [] }, ...edits].map(({ kept, added }) => {
        let text = ''
        for (let at = place; at <= end; at++) {
          for (const word of [...added[at] ?? [], at < end && kept[at]]) if (word) text += word.blank + word.text
        }
        return text
      })
      if (end > place && !both.includes(old)) {
        // Letters of several words may be taken for those of another one.
        const isOne = end - place === 1 && both.every(text => wordsOf(text).length === 1)
        const woven = isOne ? weave([old, ...both], 'isOneWay') : undefined
        if (woven !== undefined) {
          result += tail = woven
          for (const { added } of edits) added[end] = []
          place = end
        }
      }
    }
    let [mine, theirs] = edits.map(({ added }) => added[place])
    // What one has among more words there was put in once, and is older than those. Letters are too few for that: those
    // of the later writer count once only where they are the same.
    if (isWords ? isPart(theirs, mine) : written(mine) === written(theirs)) theirs = []
    else if (isPart(mine, theirs)) mine = []
    for (const word of [...mine, ...theirs]) put(word)
    const [one, other] = edits.map(({ kept }) => kept[place])
    if (one && other) put({ text: one.text, blank: one.blank === base[place].blank ? other.blank : one.blank })
  }
  return result
}

/** What two edits of one text become, the first one's words before the second's. */
export const merge = (base, first, second) => first === base || first === second ? second : second === base ? first
  : weave([base, first, second])

/** Where a caret stands after changes. One in what was replaced stays as far from its beginning; one where something
 *  was put in stays at its word, and the beginning of a selection on its first letter. */
export function moved(place, hunks, text, isBeginning) {
  const isIn = at => IN_WORD.test(text[at] ?? '')
  const staysAhead = !isBeginning && (isIn(place - 1) || !isIn(place))
  let by = 0
  for (const [from, to, start, end] of hunks) {
    if (place < from || place === from && (to > from || staysAhead)) break
    if (place < to) return Math.min(start + place - from, end)
    by = end - to
  }
  return place + by
}

// Numbers that a double does not hold are { $int: '…' }.
const exact = value => Number.isSafeInteger(value) || value?.$int ? BigInt(value.$int ?? value) : NaN
const numberOf = value => typeof value === 'number' ? value : value?.$int ? Number(value.$int) : NaN
export const isNumber = value => Number.isFinite(numberOf(value))

/** A sum of numbers, or with -1 a difference: exact where both are integers of 64 bits. */
export function sum(one, other, sign = 1) {
  if ([one, other].some(value => typeof exact(value) === 'number')) return numberOf(one) + sign * numberOf(other)
  const total = exact(one) + BigInt(sign) * exact(other)
  const isDouble = Number.isSafeInteger(Number(total)) || BigInt.asIntN(64, total) !== total
  return isDouble ? Number(total) : { $int: `${total}` }
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other)

/** What is in a list, and neither known nor earlier in it. */
export const newIn = (list, known) =>
  list.filter((value, place) => ![...known, ...list.slice(0, place)].some(one => same(one, value)))

/** What `add`, `max`, `min` and `union` make of a value. */
export function merged(verb, value, operand) {
  if (verb === 'union') return Array.isArray(value) ? [...value, ...newIn(operand, value)] : value
  if (!isNumber(value)) return value
  if (verb === 'add') return sum(value, operand)
  return (verb === 'max' ? numberOf(operand) > numberOf(value) : numberOf(operand) < numberOf(value)) ? operand : value
}

/** What a set becomes by the policy of its field, if not itself: `there` is what shows without what is described. */
export function merging(policy, field, value, shown, there) {
  const areBoth = is => is(value) && (shown === undefined || is(shown))
  if (policy === 'add' && areBoth(isNumber)) return ['add', field, sum(value, there ?? 0, -1)]
  if (/^(max|min)$/.test(policy) && isNumber(value)) return [policy, field, value]
  if (policy === 'union' && areBoth(Array.isArray)) return ['union', field, newIn(value, there ?? [])]
}

/** What was typed, as a value of a type, or of that of what shows: { value }, { problem }, or {} for half a number. */
export function typed(words, type, shown) {
  if (type === 'string') return { value: words }
  const isNumber = type === 'number' || type === 'integer' || !type && typeof shown === 'number'
  const isBig = /^-?\d+$/.test(words) && !Number.isSafeInteger(+words)
  if (type === 'any' && !isBig) return OPENS.test(words) || isJSON(words) ? parsed(words) : { value: words }
  if (isNumber || type === 'any' || !type && shown?.$int) {
    if (isBig) return { value: { $int: `${BigInt(words)}` } }
    return /^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i.test(words) ? { value: Number(words) } : {}
  }
  if (type === 'boolean' || !type && typeof shown === 'boolean') return { value: words === 'true' }
  return type === 'array' || type === 'object' || shown && typeof shown === 'object' ? parsed(words) : { value: words }
}

function parsed(words) {
  try { return { value: JSON.parse(words) } } catch (error) { return { problem: error.message } }
}
const OPENS = /^\s*[[{"]/
const isJSON = words => 'value' in parsed(words)

/** A value of any type as it is typed: a text that one would take for something else is in quotes. */
export function shown(value, text) {
  const isMistakable = value === null || typeof value === 'string' && (isJSON(value) || OPENS.test(value))
  return isMistakable ? JSON.stringify(value) : text(value)
}

/** What was typed, held against the rule of its field. A person's letters count, as at the hub. */
export function checked(result, words, { maxLength, pattern }) {
  if (!('value' in result)) return result
  if (typeof result.value === 'string' && result.value.length > maxLength) {
    const count = letters(result.value).length
    if (count > maxLength) return { problem: `${count} of ${maxLength} characters` }
  }
  return pattern && isQuick(pattern, words.length) && !fits(pattern, words)
    ? { problem: `it has to look like ${pattern}` } : result
}

function fits(pattern, value) { try { return RegExp(`^(?:${pattern})$`, 'u').test(value) } catch { return true } }

const MOST_WAYS = 1e6, GROUP = '\u0001'

/** Whether a pattern, which comes from whoever wrote the description, cannot keep the page busy: nothing that can go
 *  several ways is repeated, and the ways to divide a text are few enough to try all. Others are not asked. */
export function isQuick(pattern, length) {
  if (pattern.length > 500 || pattern.includes(GROUP)) return false
  let plain = pattern.replace(/\\[^1-9k]|\[(\\.|[^\]\\])*\]/gs, 'x').replace(/\(\?<?[:=!]/g, '('), before
  const repeats = plain.match(/[*+]|\{\d+,/g)?.length ?? 0, choices = plain.match(/[|?]/g)?.length ?? 0
  do {
    before = plain
    plain = plain.replace(/\(([^()]*)\)/g, (_, inner) => /[|*+?{\u0001]/.test(inner) ? GROUP : 'x')
  } while (plain !== before)
  return !/\u0001[*+{]|\\/.test(plain) && Math.max(2, length) ** repeats * 2 ** choices <= MOST_WAYS
}

// A hub reads 128 levels, some of them around the value; and so many bytes.
const MOST_DEPTH = 120, MOST_BYTES = 98_304

const isName = name => /^@?[\w-]{1,64}$/.test(name)
/** Whether an operation takes a value. */
const VERBS = new Map([...['set', 'default', 'add', 'max', 'min', 'union'].map(verb => [verb, true]),
  ['delete', false], ['clear', false]])

/** What becomes of a proposal that no hub could read: the page would lose its link, and all other writes on it. */
export function fault(operations, conditions, message) {
  if (!operations.length) return { kind: 'kept' }
  const refused = (code, text) => ({ kind: 'refused', code, text })
  if (new TextEncoder().encode(message).length > MOST_BYTES) return refused('proposalTooLarge', 'it is too long')
  if (conditions.length > 255) return refused('proposalTooLarge', 'it has more than 255 conditions')
  for (const operation of operations) {
    const [verb, name, value] = operation, takesValue = VERBS.get(verb)
    if (takesValue === undefined) return refused('malformedValue', `'${verb}' is no verb`)
    if (verb !== 'clear' && !isName(name)) return refused('badName', `'${name}' is no field's name`)
    if (takesValue ? value === undefined : operation.length > 2) {
      return refused('malformedValue', `${verb} takes ${takesValue ? 'a' : 'no'} value`)
    }
    const why = unreadable(value)
    if (why) return refused('malformedValue', why)
  }
  const wrong = conditions.find(([name]) => !isName(name))
  if (wrong) return refused('badName', `'${wrong[0]}' is no field's name`)
}

function unreadable(value, depth = 0) {
  if (typeof value === 'string') return value.isWellFormed?.() === false ? 'half of a character is missing' : ''
  if (typeof value === 'number' && !isFinite(value)) return `JSON has no ${value}: write { $float: '${value}' }`
  if (value instanceof Map || value instanceof Set) return 'JSON has no Map and no Set'
  if (!value || typeof value !== 'object') return ''
  if (depth === MOST_DEPTH) return `it has more than ${MOST_DEPTH} lists and objects in each other`
  for (const [key, one] of Object.entries(value)) {
    const why = unreadable(key) || unreadable(one, depth + 1)
    if (why) return why
  }
  return ''
}

/** Why there was no commit, in words. `text` and `age` are those of bind.js. */
export function reason({ kind, text: words, code, version, name, value, age: ms }, text, age) {
  if (words || code || kind !== 'conflict') return words || code || kind
  if (!version) return 'it is not there any more'
  return `${name} ${value === undefined ? 'deleted it' : `set it to ${quoted(value, text)}`}, ${age(ms)} ago`
}

/** The same of one value, which in a conflict is told too. */
export const reasonFor = (value, { kind }, why, text) =>
  kind === 'conflict' && value !== undefined ? `${quoted(value, text)} was not written: ${why}` : why

const quoted = (value, text) => {
  const words = typeof value === 'string' ? JSON.stringify(value) : value === null ? 'null' : text(value)
  return words.length > 60 ? `${words.slice(0, 59)}…` : words
}

/** A text over what others made of it since it was seen so. It is kept, for it is asked for often. */
export function rebased(seen, value, mine) {
  if (![value, seen.value].every(one => one === undefined || typeof one === 'string')) return mine
  if (seen.over !== value || seen.mine !== mine) {
    Object.assign(seen, { over: value, mine, merged: merge(seen.value ?? '', value ?? '', mine) })
  }
  return seen.merged
}
