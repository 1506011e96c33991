import BindingProtocol

/// Passes the calls of a hub to the shards of its log, and what they tell to the hub, as if they were one store.
///
/// It has no input or output of its own. Three rules keep what is moved from one shard to another from being lost or
/// stored twice:
/// 1. While a model is being moved, nothing is stored in it: its batches wait here.
/// 2. A revision says in which shard it is (`ShardRevision`). A batch that was decided on a head in the shard before is
///    not stored: its model has to be loaded.
/// 3. What a shard answers from the moment on at which something was moved out of it, until the root has shown the map,
///    is not believed: the question is asked again.
package struct ShardRouter: Sendable {
  /// What is to be done.
  package struct Output: Sendable {
    package var calls: [(shard: UInt16, call: ShardCall)] = []
    package var events: [SharedEvent] = []
    /// Shards that are to be opened.
    package var opening: [ShardMap.Shard] = []

    package init() {}
  }

  /// One shard.
  struct Part: Sendable {
    var isOpen = false
    /// Whether it answers; nil: it has not said yet.
    var isConnected: Bool?
    var synced: UInt64 = 0
    var room = SharedRoom.enough
    var grade: SharedGrade?
    /// Something was moved out of it, perhaps: it is believed once the root has answered this sync. So it begins, for
    /// the map may be older than what was found there.
    var suspendedUntil: UInt64? = .max
    /// What waits until it is open and believed.
    var waiting: [ShardCall] = []
    /// The last heads of models that it tells of and that are in another shard, as far as this hub knows.
    var elsewhere: [String: SharedHead] = [:]
    var isUsable: Bool { isOpen && suspendedUntil == nil }
    var isSuspended: Bool { isOpen && suspendedUntil != nil }
  }

  var map: ShardMap
  var parts: [UInt16: Part]
  /// Questions without an answer.
  var questions: [ShardQuestion: ShardCall] = [:]
  /// Batches of models that are being moved.
  var held: [(number: UInt64, batch: SharedBatch)] = []
  /// Answers about models that are being moved, each with the sync of the root that confirms it.
  var unconfirmed: [(own: UInt64, question: ShardQuestion, event: SharedEvent, shard: UInt16)] = []
  var lists = ShardLists()
  var syncs = ShardSyncs()
  var told = Told()
  var position: SharedRevision = 0
  /// The last sync by which the root was asked for its map.
  var lookedAt: UInt64 = 0

  /// What the hub was told of all shards together.
  struct Told: Sendable {
    var hasBegun = false
    var isConnected = false
    var room = SharedRoom.enough
    var grade: SharedGrade?
  }

  /// - Parameter open: the shards that are open already.
  package init(_ map: ShardMap, open: Set<UInt16>) {
    self.map = map
    parts = Dictionary(
      uniqueKeysWithValues: ([ShardMap.root] + map.shards.map(\.number)).map { number in
        var part = Part()
        part.isOpen = open.contains(number)
        if number == ShardMap.root { part.suspendedUntil = nil }
        return (number, part)
      })
  }

  /// Whether something waits for the root to show its map.
  package var isWaiting: Bool { !held.isEmpty || parts.values.contains(where: \.isSuspended) }

  // MARK: Calls

  /// A call of the hub.
  package mutating func call(_ call: ShardCall, into output: inout Output) {
    switch call {
    case .append(let number, let batches): append(number, batches, &output)
    case .load, .loadToFold, .head, .history:
      guard let question = call.question else { return }
      questions[question] = call
      pass(call, to: map.place(of: question.model).shard, &output)
    case .fold(let fold): self.fold(fold, &output)
    case .sync(let number):
      let own = syncs.begin(number)
      for shard in counted { pass(.sync(own), to: shard, &output) }
    case .list(let prefix, let after, let limit):
      lists.add(.init(prefix: prefix, after: after, limit: min(max(limit, 1), 1_000)))
      beginList(&output)
    }
  }

  mutating func pass(_ call: ShardCall, to shard: UInt16, _ output: inout Output) {
    if parts[shard]?.isUsable == true {
      output.calls.append((shard, call))
    } else {
      parts[shard, default: Part()].waiting.append(call)
    }
  }

  mutating func append(_ number: UInt64, _ batches: [SharedBatch], _ output: inout Output) {
    var byShard: [UInt16: [SharedBatch]] = [:]
    var foreign: [SharedAnswer] = []
    for batch in batches {
      let place = map.place(of: batch.batch.model)
      guard place.target == nil else {
        held.append((number, batch))
        continue
      }
      guard ShardRevision.isOf(place.shard, batch.after) else {
        // The hub loads the model, with what became of the batch before the model was moved.
        let head = SharedHead(batch.batch.model, record: batch.batch.record)
        foreign.append(SharedAnswer(batch.batch.model, batch.batch.record, .folded(head)))
        continue
      }
      byShard[place.shard, default: []].append(
        SharedBatch(batch.batch, after: ShardRevision.inShard(batch.after)))
    }
    if !foreign.isEmpty { output.events.append(.appended(number, foreign)) }
    for (shard, batches) in byShard.sorted(by: { $0.key < $1.key }) {
      guard parts[shard]?.isUsable == true else {
        // With their shards' numbers in them again, for where they go is asked again then.
        let batches = batches.map { SharedBatch($0.batch, after: ShardRevision.here($0.after, of: shard)) }
        parts[shard, default: Part()].waiting.append(.append(number, batches))
        continue
      }
      output.calls.append((shard, .append(number, batches)))
    }
  }

  private mutating func fold(_ fold: SharedFold, _ output: inout Output) {
    let place = map.place(of: fold.model)
    guard place.target == nil, ShardRevision.isOf(place.shard, fold.revision), parts[place.shard]?.isUsable == true
    else {
      output.events.append(.folded(fold.model, .outrun))
      return
    }
    var fold = fold
    fold.revision = ShardRevision.inShard(fold.revision)
    output.calls.append((place.shard, .fold(fold)))
  }

  /// The shards whose state is that of the log: those with models.
  var counted: [UInt16] { map.used.sorted() }

  // MARK: Events

  /// A shard is open now.
  package mutating func opened(_ shard: UInt16, into output: inout Output) {
    parts[shard, default: Part()].isOpen = true
    goOn(shard, &output)
  }

  /// A shard tells something.
  package mutating func receive(_ event: SharedEvent, from shard: UInt16, into output: inout Output) {
    if let question = ShardQuestion(answeredBy: event) {
      return answer(question, event, shard, isConfirmed: false, &output)
    }
    switch event {
    case .connected(let isConnected):
      if shard != ShardMap.root, parts[shard]?.isConnected == nil { suspend(shard, &output) }
      parts[shard]?.isConnected = isConnected
      tellConnected(&output)
    case .appended(let number, let answers):
      output.events.append(.appended(number, answers.map { ShardRevision.here($0, of: shard) }))
    case .folded: output.events.append(event)
    case .listed(_, let heads, let isLast):
      guard parts[shard]?.suspendedUntil == nil else { return lists.drop(from: shard) }
      let map = map
      switch lists.take(heads, isLast: isLast, from: shard, { map.place(of: $0).shard == shard }) {
      case .partly: break
      case .page(let page):
        output.events.append(page)
        beginList(&output)
      case .goOn: beginList(&output, isAgain: true)
      }
    case .followed(let records, let position): follow(records, position, shard, &output)
    case .changed(let heads): change(heads, shard, &output)
    case .caughtUp(let position):
      if shard == ShardMap.root { self.position = position }
      if told.hasBegun { output.events.append(.caughtUp(ShardRevision.here(position, of: shard))) }
    case .synced(let number):
      let before = parts[shard]?.synced ?? 0
      parts[shard]?.synced = max(before, number)
      if shard == ShardMap.root { believe(&output) }
      tellSynced(&output)
    case .lost(let position): output.events.append(.lost(ShardRevision.here(position, of: shard)))
    case .room(let room):
      parts[shard]?.room = room
      tellRoom(&output)
    case .grade(let grade, let reason):
      parts[shard]?.grade = grade
      tellGrade(reason, &output)
    case .resharded(let map?): take(map, &output)
    case .resharded(nil): suspend(shard, &output)
    case .failed: output.events.append(event)
    case .loaded, .foldable, .head, .history: break
    }
  }

  /// Passes the answer to a question on, if its shard has the model.
  /// - Parameter isConfirmed: whether the root has shown since that a model which is being moved is still there. Until
  ///   then it may be in its new shard already, and later there.
  mutating func answer(
    _ question: ShardQuestion, _ event: SharedEvent, _ shard: UInt16, isConfirmed: Bool, _ output: inout Output
  ) {
    let place = map.place(of: question.model)
    guard parts[shard]?.suspendedUntil == nil, place.shard == shard, questions[question] != nil else { return }
    guard place.target == nil || isConfirmed else {
      let own = syncs.next()
      unconfirmed.append((own, question, event, shard))
      return pass(.sync(own), to: ShardMap.root, &output)
    }
    questions[question] = nil
    switch event {
    case .loaded(let head, let result):
      parts[shard]?.elsewhere[head.model] = nil
      output.events.append(.loaded(ShardRevision.here(head, of: shard), result))
    case .head(let head): output.events.append(.head(ShardRevision.here(head, of: shard)))
    default: output.events.append(event)
    }
  }

  private mutating func follow(
    _ records: [SharedRecord], _ position: SharedRevision, _ shard: UInt16, _ output: inout Output
  ) {
    if shard == ShardMap.root, map.entries.isEmpty {
      output.events.append(.followed(records, position))
      return
    }
    var own: [SharedRecord] = []
    for record in records {
      guard map.place(of: record.batch.model).shard == shard else {
        note(SharedHead(after: record), of: shard)
        continue
      }
      own.append(record)
    }
    guard !own.isEmpty else { return }
    output.events.append(.followed(ShardRevision.here(own, of: shard), ShardRevision.here(position, of: shard)))
  }

  private mutating func change(_ heads: [SharedHead], _ shard: UInt16, _ output: inout Output) {
    var own: [SharedHead] = []
    for head in heads {
      if map.place(of: head.model).shard == shard {
        own.append(ShardRevision.here(head, of: shard))
      } else {
        note(head, of: shard)
      }
    }
    if !own.isEmpty { output.events.append(.changed(own)) }
  }

  private mutating func note(_ head: SharedHead, of shard: UInt16) {
    if parts[shard]?.elsewhere[head.model].map({ $0.record < head.record }) ?? true {
      parts[shard]?.elsewhere[head.model] = head
    }
  }

  // MARK: Lists

  mutating func beginList(_ output: inout Output, isAgain: Bool = false) {
    guard let list = lists.begin(isAgain: isAgain, { map.shards(below: $0) }) else { return }
    for shard in lists.asked {
      pass(.list(prefix: list.prefix, after: list.after, limit: list.limit), to: shard, &output)
    }
  }
}
