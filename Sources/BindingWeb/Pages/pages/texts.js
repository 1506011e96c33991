/** Texts that several edit: what differs, what two edits become, where a caret stands then. They are merged as by
 *  RowChange, TextEdit and TextMerge in Swift: docs/reference/vectors/text holds for both. */

const IN_WORD = /^[\p{Alphabetic}\p{N}]/u
const WORD = /( *)([\p{Alphabetic}\p{N}]+|[^ ])|( +)$/gu
const MOST_CHANGES = 1000

/** The fewest changes from one row of letters or words to another, as [from, to, start, end]: those from `from` to
 *  `to` become those of the other row from `start` to `end` (Myers, 1986). Very many count as one. */
export function changes(old, next) {
  let head = 0, rows = old.length, columns = next.length
  while (head < rows && head < columns && old[head] === next[head]) head++
  while (rows > head && columns > head && old[rows - 1] === next[columns - 1]) rows--, columns--
  if (rows === head && columns === head) return []
  const most = Math.min(MOST_CHANGES, rows + columns - 2 * head), middle = most + 1
  // By diagonal, x - y, from `middle` on: how far one gets with so many changes, and the last of them.
  const furthest = new Int32Array(2 * middle + 1), lasts = Array(2 * middle + 1)
  furthest[middle + 1] = head
  for (let count = 0; count <= most && rows > head && columns > head; count++) {
    for (let at = middle - count; at <= middle + count; at += 2) {
      const isPutIn = at === middle - count || at !== middle + count && furthest[at - 1] < furthest[at + 1]
      const neighbour = isPutIn ? at + 1 : at - 1, from = furthest[neighbour], last = lasts[neighbour]
      let x = isPutIn ? from : from + 1, y = x - (at - middle)
      const start = isPutIn ? y - 1 : y, isMore = last && last[1] === from && last[3] === start
      lasts[at] = isMore ? [last[0], x, last[2], y, last[4]] : count ? [from, x, start, y, last] : undefined
      while (x < rows && y < columns && old[x] === next[y]) x++, y++
      furthest[at] = x
      if (x < rows || y < columns) continue
      const hunks = []
      for (let one = lasts[at]; one; one = one[4]) hunks.unshift(one)
      return hunks
    }
  }
  return [[head, rows, head, columns]]
}

const segmenter = new Intl.Segmenter()
// Latin, Cyrillic, kana, Han and Hangul, of which each character is a letter by itself, and written in one way: to ask
// of each takes long.
const IS_PLAIN = /^[\n -~\u00c0-\u02af\u0400-\u0482\u3000-\u3002\u3041-\u3096\u30a1-\u30fa\u3400-\ua48c\uac00-\ud7a3]*$/
/** What a person sees as one letter may be several characters. */
export const letters = text =>
  IS_PLAIN.test(text) ? text.split('') : Array.from(segmenter.segment(text), ({ segment }) => segment)
const normal = text => IS_PLAIN.test(text) ? text : text.normalize()

/** Runs of letters and digits, and every other letter by itself, with the blanks before them. */
function wordsOf(text) {
  if (IS_PLAIN.test(text)) {
    return Array.from(text.matchAll(WORD), ([, blank, text = '', rest]) => ({ blank: blank ?? rest, text }))
  }
  const words = []
  for (const letter of letters(text)) {
    const last = words.at(-1)
    if (letter === ' ') last?.text === '' ? last.blank += ' ' : words.push({ blank: ' ', text: '' })
    else if (last && (!last.text || IN_WORD.test(letter) && IN_WORD.test(last.text))) last.text += letter
    else words.push({ blank: '', text: letter })
  }
  return words
}

const keysOf = row => row.map(({ text }) => normal(text))
const textOf = row => row.map(({ blank, text }) => blank + text).join('')
const isPart = (some, all) => some.length === all.reduce((index, one) =>
  index + (index < some.length && some[index] === one), 0)

/** Where pieces of a text begin, and its end, in an edit that begins at some place. */
const startsOf = (pieces, start) => [start, ...pieces.map(piece => start += piece.length)]

const IS_LOW = /[\udc00-\udfff]/

/** What of two texts differs, out to the blanks before words: its start, and its end in each. */
function differing(old, next) {
  let start = 0, end = old.length, stop = next.length
  while (start < end && start < stop && old[start] === next[start]) start++
  if (IS_LOW.test(old[start] ?? '')) start--
  while (end > start && stop > start && old[end - 1] === next[stop - 1]) end--, stop--
  if (IS_LOW.test(old[end] ?? '')) end++, stop++
  const isGap = at => old[at] === ' ' && old[at - 1] !== ' '
  let from = Math.max(start - 1, 0), to = end
  while (from > 0 && !isGap(from)) from--
  while (to < old.length && !(to > end && isGap(to))) to++
  return [from, to, stop + to - end]
}

/** Of what is put in at one place, letters of the word before it stand first, and those of the word behind it last. */
const AFTER_WORD = 0, WORDS = 1, BLANKS = 2, BEFORE_WORD = 3

/** What an edit did to words, letter by letter, by what words it did that to; undefined where it did more than put
 *  letters in, or take some out. */
function byLetters(old, text, start) {
  const base = textOf(old), [before, after] = [base, text].map(letters)
  const hunks = changes(...[before, after].map(row => row.map(normal)))
  if (!hunks.every(([from, to]) => from === to) && !hunks.every(([,, begin, end]) => begin === end)) return
  const at = startsOf(before, start), words = startsOf(old.map(word => word.blank + word.text), start), edits = []
  let first = 0
  for (const [from, to, begin, end] of hunks) {
    const isIn = letter => IN_WORD.test(letter ?? ''), isAfter = isIn(before[from - 1])
    const rank = isAfter ? AFTER_WORD : BEFORE_WORD
    const part = { from: at[from], to: at[to], text: after.slice(begin, end).join(''), rank }
    while (words[first + 1] <= part.from) first++
    let some = first, others = first
    if (to > from) {
      while (words[others] < part.to) others++
      if (part.from === words[first] && isAfter && isIn(before[to])) some--
    } else if (part.from > words[first] || isIn(before[from]) && isIn(after[end - 1])) others++
    else if (isAfter && isIn(after[begin])) some--
    const last = edits.at(-1)
    if (last && some < last.others) {
      last.parts.push(part)
      last.others = Math.max(last.others, others)
    } else edits.push({ some, others, parts: [part] })
  }
  return edits.map(({ some, others, parts }) => {
    let text = '', position = words[some]
    for (const part of parts) {
      text += base.slice(position - start, part.from - start) + part.text
      position = part.to
    }
    text += base.slice(position - start, words[others] - start)
    const edit = { from: words[some], to: words[others], text, words: keysOf(wordsOf(text)), rank: WORDS }
    return others > some && text ? { ...edit, parts } : edit
  })
}

/** What an edit did to a text: pieces of it, of whole words, became others. Of words that only got letters, or lost
 *  some, `parts` says which. */
function editsOf(base, text) {
  const [start, end, stop] = differing(base, text)
  const rows = [base.slice(start, end), text.slice(start, stop)].map(wordsOf), [old, next] = rows
  const starts = startsOf(old.map(({ blank, text }) => blank + text), start), edits = []
  let index = 0, by = 0
  for (const [from, to, begin, end] of [...changes(...rows.map(keysOf)), [old.length]]) {
    for (; index < from; index++) {
      const at = starts[index], more = next[index + by].blank.length - old[index].blank.length
      const part = { from: at, to: at - Math.min(0, more), text: ' '.repeat(Math.max(0, more)), rank: BLANKS }
      if (more) edits.push({ from: at, to: starts[index + 1], parts: [part] })
    }
    if (to === undefined) break
    const words = next.slice(begin, end), text = textOf(words)
    const parts = to > from && end > begin && byLetters(old.slice(from, to), text, starts[from])
    edits.push(...parts || [{ from: starts[from], to: starts[to], text, words: keysOf(words), rank: WORDS }])
    index = to
    by = end - to
  }
  // Where nothing was taken out of the whole, one of several words that are the same was taken for another.
  const isTaken = edits.some(({ from, to, parts }) => to > from && !parts)
  const isWhole = isTaken && isPart(...rows.map(row => letters(textOf(row)).map(normal)))
  return isWhole && byLetters(old, textOf(next), start) || edits
}

/** Two edits of one text made one, as TextMerge does in Swift: the words of both stand, and where both only put letters
 *  into the same words, or took some out of them, the letters of both. */
function woven(base, texts) {
  const edits = texts.flatMap((text, who) => editsOf(base, text).map(edit => ({ ...edit, who })))
  edits.sort((one, other) => one.from - other.from)
  const laid = []
  for (let index = 0, next; index < edits.length; index = next) {
    let { to } = edits[index]
    for (next = index + 1; next < edits.length && edits[next].from < to; next++) to = Math.max(to, edits[next].to)
    const some = edits.slice(index, next), [{ from: start }] = some
    const areLetters = some.every(({ from, to, parts }) => parts || from === to && from === start)
    for (const { who, parts, ...edit } of some) {
      if (areLetters && parts) laid.push(...parts.map(part => ({ ...part, who })))
      else if (edit.words) laid.push({ ...edit, who })
    }
  }
  laid.sort((one, other) => one.from - other.from || one.rank - other.rank || one.who - other.who)
  let result = '', at = 0, isWord = false
  const put = (text, isNew) => {
    if (!text) return
    // Two writers who each put in a word do not mean one long word.
    const isGlued = (isNew || isWord) && result && IN_WORD.test(text)
      && IN_WORD.test(segmenter.segment(result).containing(result.length - 1).segment)
    result += (isGlued ? ' ' : '') + text
    isWord = isNew
  }
  laid.forEach((edit, index) => {
    const { from, to, text, words, rank, who } = edit
    const isAt = other => other?.from === from && other.rank === rank && other.who !== who && other
    const former = isAt(laid[index - 1]), later = isAt(laid[index + 1])
    if (from > at) put(base.slice(at, from), false)
    at = Math.max(at, to)
    // What both put in at one place counts once; words that one has among more are older than those.
    const isTwice = !words ? former && normal(text) === normal(former.text)
      : former ? isPart(words, former.words) : later && isPart(words, later.words) && !isPart(later.words, words)
    if (!isTwice) put(text, !!words)
  })
  put(base.slice(at), false)
  return result
}

/** What two edits of one text become, the first one's words before the second's. */
export const merge = (base, first, second) => first === base || first === second ? second : second === base ? first
  : woven(base, [first, second])

/** Where a caret stands after changes. One in what was replaced stays as far from its beginning; one where something
 *  was put in stays at its word, and the beginning of a selection on its first letter. */
export function moved(caret, hunks, text, isBeginning) {
  const isIn = at => IN_WORD.test(text[at] ?? '')
  const staysAhead = !isBeginning && (isIn(caret - 1) || !isIn(caret))
  let by = 0
  for (const [from, to, start, end] of hunks) {
    if (caret < from || caret === from && (to > from || staysAhead)) break
    if (caret < to) return Math.min(start + caret - from, end)
    by = end - to
  }
  return caret + by
}

/** A text over what others made of it since it was seen so. It is kept, for it is asked for often. */
export function rebased(seen, value, mine) {
  if (![value, seen.value].every(one => one === undefined || typeof one === 'string')) return mine
  if (seen.over !== value || seen.mine !== mine) {
    Object.assign(seen, { over: value, mine, merged: merge(seen.value ?? '', value ?? '', mine) })
  }
  return seen.merged
}
