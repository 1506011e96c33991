// Two peers in one page write, one of them takes back what it wrote, at times that a seed decides.
window.interleave = async (seed) => {
  const chance = (below) => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return Math.floor((seed / 2147483648) * below)
  }
  const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds))
  const [mine, other] = ['left', 'right'].map((name) => bind.model('pair', name))
  const steps = await bind.undoing(mine), log = [], restoring = new Set(), unsent = [], results = {}
  let others = 0
  other.on(null, (all, { commits }) => log.push(...commits))
  bind.link('left').on((what, { write, outcome } = {}) => {
    if (what !== 'outcome') return
    if (write.finalize && outcome.kind === 'committed') restoring.add(outcome.version)
    // Taken back before it was sent: done again, it is written for the first time.
    if (!write.number && !write.finalize) unsent.push(...write.operations.map(([, ...rest]) => JSON.stringify(rest)))
  })
  const restore = async (which) => {
    const { kind, reason } = await steps[which]()
    results[kind] = (results[kind] ?? 0) + 1
    const isNamed = /^[ab] was (changed|deleted) by (right-|this page)|^what [ab] was before that write is not known/
    if (kind === 'failed' && !isNamed.test(reason)) throw Error(reason)
    return kind
  }
  for (let turn = 0; turn < 400; turn++) {
    const field = 'ab'[chance(2)]
    switch (chance(10)) {
    case 0: mine.set(field, turn); break
    case 1: mine.change({ a: turn, b: turn }); break
    case 2: mine.propose([['add', 'sum', 1 + chance(9)]]); break
    case 3: other.set(field, -turn); break
    case 4: { const by = chance(9); others += by; other.propose([['add', 'sum', by]]); break }
    case 5: chance(3) ? restore('redo') : mine.change({ [field]: undefined }); break
    case 6: if (!chance(4)) { bind.link('left').cut(); await pause(chance(20)); bind.link('left').heal() } break
    default: restore('undo')
    }
    if (!chance(3)) await pause(chance(8))
  }
  const isQuiet = () => [mine, other].every((model) => model.state === 'current' && !model.writes.length)
  while (!isQuiet()) await pause(10)
  while (await restore('undo') !== 'nothing') ;
  while (!isQuiet() || mine.version !== other.version) await pause(10)
  // An undo gives a field another value only where this peer was the last to write.
  const last = {}, wrong = []
  for (const { version, tag, changes } of log) {
    for (const [field, value] of changes) {
      const isOwn = last[field] === undefined || last[field] === bind.link('left').tag
      const isRestored = restoring.has(version) && field !== 'sum' && !isOwn
      const first = isRestored ? unsent.indexOf(JSON.stringify(value === undefined ? [field] : [field, value])) : -1
      if (first >= 0) unsent.splice(first, 1)
      else if (isRestored) wrong.push(`${field} at ${version}`)
      last[field] = tag
    }
  }
  const isComplete = log.every(({ version }, index) => !index || version === log[index - 1].version + 1)
  const isSame = ['a', 'b', 'sum'].every((field) => mine.get(field) === other.get(field))
  return { wrong, isComplete, isSame, sum: mine.get('sum'), others, restored: restoring.size, results }
}
