import BindingProtocol
import Testing

/// Collects the proposals that a cursor reads, in the form of the general decoder. Operations with unknown verbs
/// are left out.
func walked(_ cursor: ProposalCursor) throws(WireError) -> [NumberedProposal] {
  var cursor = cursor
  var proposals: [NumberedProposal] = []
  while try cursor.next() {
    var proposal = NumberedProposal(
      topic: cursor.topic, number: cursor.number, confirmed: cursor.confirmed, isVoid: cursor.isVoid,
      isEarlier: cursor.isEarlier, hops: cursor.hops,
      operations: [])
    var metadata = cursor.metadata
    while try metadata.next() {
      proposal.metadata.append(MetadataEntry(name: text(metadata.name), value: text(metadata.value)))
    }
    var conditions = cursor.conditions
    while try conditions.next() {
      let field = reference(conditions.id, conditions.name)
      proposal.conditions.append(WireCondition(epoch: conditions.epoch, version: conditions.version, field: field))
    }
    var operations = cursor.operations
    while try operations.next() {
      guard let verb = operations.verb else { continue }
      let field = reference(operations.id, operations.name)
      let value = operations.value.map { FieldValue($0) }
      proposal.operations.append(WireOperation(verb: verb, field: field, value: value))
    }
    proposals.append(proposal)
  }
  return proposals
}

func walked(_ cursor: CommitCursor) throws(WireError) -> CommitGroup {
  var cursor = cursor
  var group = CommitGroup(
    epoch: cursor.epoch, previous: cursor.previous, time: cursor.time, origins: [],
    names: NamesRun(first: cursor.names.first), commits: [])
  var origins = cursor.origins
  while try origins.next() { group.origins.append(origins.origin) }
  var names = cursor.names
  while try names.next() { group.names.names.append(text(names.name)) }
  while try cursor.next() {
    var commit = Commit(origin: cursor.origin, number: cursor.number, hops: cursor.hops, changes: [])
    var changes = cursor.changes
    while try changes.next() {
      commit.changes.append(CommitChange(field: changes.field, value: changes.value.map { FieldValue($0) }))
    }
    group.commits.append(commit)
    #expect(cursor.version == group.version)
  }
  return group
}

private func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }

private func reference(_ id: FieldID?, _ name: UnsafeRawBufferPointer?) -> FieldReference {
  if let id { .id(id) } else { .name(name.map { text($0) } ?? "") }
}

@Suite("Cursors")
struct CursorTests {
  @Test("cursors read the same content from a frame as the general decoder")
  func cursorsAgree() throws {
    var seen = 0
    for (file, vector) in GoodVectors.all {
      try vector.bytes.withUnsafeBytes { frame in
        var reader = WireReader(frame)
        switch vector {
        case .toHub(.propose(let proposals), let session, let start):
          #expect(try PeerHeader(from: &reader) == PeerHeader(kind: .propose, session: session, start: start))
          #expect(try walked(try ProposalCursor(reader)) == proposals, "\(file)")
          seen += 1
        case .toPeer(.commits(let group), let topic, let start):
          #expect(try HubHeader(from: &reader) == HubHeader(topic: topic, kind: .commits, start: start))
          let cursor = try CommitCursor(reader)
          #expect(cursor.lastVersion == group.version)
          #expect(try walked(cursor) == group, "\(file)")
          seen += 1
        default: break
        }
      }
    }
    #expect(seen >= 9)
  }

  @Test("a cursor refuses the whole frame before the first proposal when the last one is malformed")
  func structureIsCheckedFirst() {
    let good = NumberedProposal(
      topic: Topics.firstModel, number: 1,
      operations: [WireOperation(verb: .set, field: .id(1), value: FieldValue(json: true))])
    var frame = PeerMessage.propose([good, good, good]).encode(session: 1, start: 1)
    frame[frame.count - 8] = 0xF0
    #expect(!walks(frame, direction: Vector.toHubName))
  }

  @Test("a cursor passes unknown verbs and bad field names on to the hub, which refuses only that proposal")
  func unknownVerbsAreStructure() throws {
    let refusals = BadVectors.all.filter { $0.refusal != nil }
    #expect(!refusals.isEmpty)
    for bad in refusals {
      try bad.bytes.withUnsafeBytes { frame in
        var reader = WireReader(frame)
        _ = try PeerHeader(from: &reader)
        var cursor = try ProposalCursor(reader)
        #expect(try cursor.next())
        var operations = cursor.operations
        #expect(try operations.next())
        if bad.refusal == RefusalCode.unknownVerb.rawValue {
          #expect(operations.verb == nil, "\(bad.file)")
        } else {
          var conditions = cursor.conditions
          var names = [operations.name]
          while try conditions.next() { names.append(conditions.name) }
          #expect(names.contains { $0.map { !Names.isField($0) } ?? false }, "\(bad.file)")
        }
      }
    }
  }

  @Test("cursors refuse every other bad frame that the general decoder refuses")
  func badFramesAreRefused() {
    for bad in BadVectors.all where bad.refusal == nil {
      #expect(!walks(bad.bytes, direction: bad.direction), "\(bad.file)")
    }
  }

  @Test("a cursor reports how many bytes of the frame a proposal takes")
  func proposalsHaveASize() throws {
    let proposals = (1...3).map { number in
      NumberedProposal(
        topic: Topics.firstModel, number: UInt32(number),
        operations: (0..<number).map { WireOperation(verb: .set, field: .id(UInt32($0)), value: FieldValue(json: 7)) })
    }
    let frame = PeerMessage.propose(proposals).encode(session: 1, start: 1)
    try frame.withUnsafeBytes { buffer in
      var reader = WireReader(buffer)
      _ = try PeerHeader(from: &reader)
      var cursor = try ProposalCursor(reader)
      var total = reader.offset + 2
      while try cursor.next() { total += cursor.byteCount }
      #expect(total == frame.count)
    }
  }
}
