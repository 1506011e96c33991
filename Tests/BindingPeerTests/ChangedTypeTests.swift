import BindbusTesting
import BindingHub
import BindingModel
import BindingPeer
import BindingProtocol
import Testing

private typealias First = ChangedType.First
private typealias Second = ChangedType.Second
private typealias Fine = ChangedType.Fine
private typealias Coarse = ChangedType.Coarse
private typealias Compared = ChangedType.Compared

@Suite("A field whose type a later release changes")
struct ChangedTypeTests {
  private let peers: TwoPeers

  init() throws { peers = try TwoPeers() }

  /// The hub's value of a field of the lamp.
  private func raw(_ field: String) -> String {
    (try? peers.left.model("lamp")).flatMap { $0[field] }?.description ?? "none"
  }

  private func settled() async -> Bool {
    await eventually { peers.left.unconfirmed == 0 && peers.right.unconfirmed == 0 }
  }

  // MARK: Before it is replaced

  @Test("both releases read and write the old type, and a share changes and reports nothing")
  func together() async throws {
    let first = try await peers.share(First.self, by: peers.left)
    let second = try await peers.share(Second.self, by: peers.right)
    #expect(second.level == 0.3 && second.tone == 0)
    #expect(try await second.$level.write(0.5).committed > 0)
    #expect(await eventually { first.brightness == 50 })
    #expect(try await first.$brightness.write(7).committed > 0)
    #expect(await eventually { second.level == 0.07 })
    second.tone = 2
    #expect(await eventually { first.tone == "day" })
    #expect(await settled())
    let field = try #require(second.shared?.modelDescription.fields["brightness"])
    #expect(field.type == .integer && field.unit == "%" && field.maximum?.double == 100)
    #expect(first.status.problems.isEmpty && second.status.problems.isEmpty)
    #expect(await eventually { if case .current = second.$level.status { true } else { false } })
    #expect(raw("brightness") == "7")
  }

  @Test("two releases write at the same time: nothing is refused, and both show the last commit")
  func concurrent() async throws {
    let first = try await peers.share(First.self, by: peers.left)
    let second = try await peers.share(Second.self, by: peers.right)
    var writes: [PendingWrite] = []
    for step in 0..<200 {
      writes.append(try first.$brightness.write(step % 100))
      writes.append(try second.$level.write(Double(step % 90) / 100 + 0.004))
    }
    for write in writes {
      switch await write.outcome {
      case .committed, .unchanged, .superseded: break
      case let outcome: Issue.record("\(outcome)")
      }
    }
    #expect(await eventually { second.level == Double(first.brightness) / 100 })
    #expect(await eventually { raw("brightness") == "\(first.brightness)" })
  }

  @Test("a lossy mapping writes nothing back that was not changed")
  func lossy() async throws {
    let fine = try await peers.share(Fine.self, by: peers.left)
    let coarse = try await peers.share(Coarse.self, by: peers.right)
    #expect(coarse.level == 33 && fine.level == 337)
    #expect(await settled())
    let version = try #require(coarse.shared).version.version
    coarse.level = 33
    coarse.$level.binding.value = 33
    #expect(await (try coarse.$level.write(33)).outcome == .unchanged)
    #expect(try await coarse.$level.update { $0 } == 33)
    #expect(await (try coarse.change { $0.level = 33 }).outcome == .unchanged)
    #expect(await settled())
    #expect(raw("level") == "337" && coarse.shared?.version.version == version)
    _ = try await coarse.change { ($0.level, $0.other) = (33, 5) }.committed
    #expect(raw("level") == "337" && coarse.shared?.version.version == version + 1)
    // A value that is changed is written.
    #expect(try await coarse.$level.update { $0 + 1 } == 34)
    #expect(await eventually { fine.level == 340 })
  }

  @Test("a write shows as it is stored")
  func settles() async throws {
    let first = try await peers.share(First.self, by: peers.left)
    let second = try await peers.share(Second.self, by: peers.right)
    second.level = 0.506
    #expect(second.level == 0.51)
    #expect(await eventually { first.brightness == 51 })
    #expect(second.level == 0.51)
    // It rounds to what is stored already.
    #expect(await (try second.$level.write(0.512)).outcome == .unchanged)
  }

  @Test("a write has to fit the declaration first, and then what is stored")
  func refused() async throws {
    _ = try await peers.share(First.self, by: peers.left)
    let second = try await peers.share(Second.self, by: peers.right)
    #expect(throws: FieldError.doesNotFit(field: "lamp.brightness", problem: "1.5 is not in 0...1")) {
      try second.$level.write(1.5)
    }
    let narrow = #"{"fields":{"brightness":{"type":"integer","unit":"%","max":80}}}"#
    try await peers.narrow(to: narrow, by: peers.left)
    let problem = "0.9 is stored as integer in %, and 90 is not in ...80"
    #expect(throws: FieldError.doesNotFit(field: "lamp.brightness", problem: problem)) {
      try second.$level.write(0.9)
    }
    second.level = 0.9
    #expect(second.level == 0.3 && second.$level.status.description.contains(problem), "\(second.$level.status)")
    #expect(try await second.$level.write(0.8).committed > 0)
  }

  @Test("what back refuses is not written, and says why")
  func unmappable() async throws {
    _ = try await peers.share(Fine.self, by: peers.left)
    let coarse = try await peers.share(Coarse.self, by: peers.right)
    let problem = "101 cannot be stored: more than 100 %"
    #expect(throws: FieldError.doesNotFit(field: "lamp.level", problem: problem)) { try coarse.$level.write(101) }
  }

  @Test("a stored value that is not of the old type, or that forward refuses, cannot be shown")
  func cannotShow() async throws {
    let first = try await peers.share(First.self, by: peers.left)
    let second = try await peers.share(Second.self, by: peers.right)
    #expect(try await first.$tone.write("blue").committed > 0)
    let blue = try FieldValue(text: "\"blue\"")
    #expect(await eventually { second.$tone.status == .problem(.cannotShow(blue)) })
    #expect(second.tone == 0)
    #expect(try await second.$tone.write(7).committed > 0)
    #expect(second.tone == 2)
    #expect(await eventually { first.tone == "day" })
  }

  @Test("merged writes are merged in the new type")
  func merged() async throws {
    let fine = try await peers.share(Fine.self, by: peers.left)
    let compared = try await peers.share(Compared.self, by: peers.right)
    for _ in 0..<20 {
      #expect(try await compared.$level.write(compared.level + 1).committed > 0)
    }
    #expect(await eventually { fine.level == 530 })
  }

  @Test("observers at every change get values of the new type only")
  func observed() async throws {
    _ = try await peers.share(First.self, by: peers.left)
    let second = try await peers.share(Second.self, by: peers.right)
    let seen = Protected<[Double]>([])
    let token = second.$level.observe(.everyChange(limit: 100)) { level in seen.withLock { $0.append(level) } }
    #expect(try await second.$level.write(0.5).committed > 0)
    #expect(await settled())
    #expect(try await second.replaceDescription().committed > 0)
    #expect(try await second.$level.write(0.7).committed > 0)
    #expect(await eventually { seen.withLock { $0.last } == 0.7 })
    #expect(seen.withLock { $0.allSatisfy { $0 <= 1 } })
    withExtendedLifetime(token) {}
  }

  // MARK: Replacing

  @Test("replacing writes the description and all mapped values in one commit")
  func replaced() async throws {
    let first = try await peers.share(First.self, by: peers.left)
    let second = try await peers.share(Second.self, by: peers.right)
    #expect(try await second.$level.write(0.5).committed > 0)
    #expect(await settled())
    let before = try #require(second.shared).version.version
    #expect(try await second.replaceDescription().committed == before + 1)
    // At once, before anything is delivered.
    second.level = 1
    #expect(await settled())
    #expect(await eventually { raw("brightness").hasPrefix("1") && raw("tone") == "0" })
    let field = try #require(second.shared?.modelDescription.fields["brightness"])
    #expect(field.type == .number && field.maximum?.double == 1 && field.unit == nil)
    // The first release takes 1 for no percent.
    #expect(await eventually { if case .problem(.cannotShow(_)) = first.$brightness.status { true } else { false } })
    #expect(first.brightness == 50, "\(first.brightness)")
    let problem =
      "a later release has stored the field as number; this program's integer in % would mean something else"
    let refusal = FieldError.doesNotFit(field: "lamp.brightness", problem: problem)
    #expect(throws: refusal) { try first.$brightness.write(3) }
    // Both share again, and nothing changes.
    let again = try await peers.share(First.self, by: peers.left)
    let other = try await peers.share(Second.self, by: peers.left)
    #expect(await settled())
    #expect(other.level == 1 && second.level == 1 && again.brightness != 1)
    #expect(second.status.problems.isEmpty)
    #expect(second.shared?.modelDescription.fields["brightness"]?.type == .number)
  }

  @Test("values that cannot be mapped refuse it with the list, and nothing is changed")
  func misfits() async throws {
    let first = try await peers.share(First.self, by: peers.left)
    let second = try await peers.share(Second.self, by: peers.right)
    #expect(try await first.$tone.write("blue").committed > 0)
    #expect(await eventually { second.shared?["tone"]?.description == "\"blue\"" })
    let version = second.shared?.version.version
    let error = #expect(throws: SharedModel.MisfitsError.self) { try second.replaceDescription() }
    #expect(error?.values.map(\.address) == ["lamp.tone"])
    #expect(error?.description.contains("\"blue\" cannot be mapped: blue is no tone") == true, "\(error as Any)")
    #expect(second.shared?.version.version == version && raw("brightness") == "30")
    #expect(try await second.replaceDescription(keepingMisfits: true).committed > 0)
    #expect(second.level == 0.3 && raw("tone") == "\"blue\"")
    #expect(await eventually { if case .problem(.cannotShow) = second.$tone.status { true } else { false } })
    #expect(try await second.$tone.write(1).committed > 0)
    #expect(await eventually { second.tone == 1 && raw("tone") == "1" })
  }

  @Test("a value that changes meanwhile makes it a conflict")
  func conflict() async throws {
    let hub = try Hub.embedded()
    let link = TestLink(to: hub)
    let here = try Peer(name: "here", hub: .inProcess(hub))
    let away = try Peer(name: "away", hub: .inProcess(link))
    let first = try await here.share(First.self, id: "lamp", on: .direct)
    let second = try await away.share(Second.self, id: "lamp", on: .direct)
    #expect(await eventually { here.unconfirmed == 0 && away.unconfirmed == 0 })
    link.cut()
    #expect(await eventually { !second.status.isCurrent })
    #expect(try await first.$brightness.write(90).committed > 0)
    let replaced = try second.replaceDescription()
    #expect(second.level == 0.3)
    link.heal()
    if case .conflict = await replaced.outcome {} else { Issue.record("\(await replaced.outcome)") }
    #expect(await eventually { second.level == 0.9 })
    #expect(second.shared?.modelDescription.fields["brightness"]?.type == .integer)
    #expect(try await second.replaceDescription().committed > 0)
    #expect(second.level == 0.9 && second.shared?["brightness"]?.description == "0.9")
  }

  @Test("pending writes of the old type end refused once the description is replaced, and show nothing wrong")
  func pending() async throws {
    let hub = try Hub.embedded()
    let link = TestLink(to: hub)
    let here = try Peer(name: "here", hub: .inProcess(hub))
    let away = try Peer(name: "away", hub: .inProcess(link))
    _ = try await here.share(First.self, id: "lamp", on: .direct)
    let near = try await here.share(Second.self, id: "lamp", on: .direct)
    let far = try await away.share(Second.self, id: "lamp", on: .direct)
    #expect(await eventually { here.unconfirmed == 0 && away.unconfirmed == 0 })
    let seen = Protected<[Double]>([])
    let token = far.$level.observe { level in seen.withLock { $0.append(level) } }
    link.cut()
    #expect(await eventually { !far.status.isCurrent })
    // 1 % would fit the new range.
    let write = try far.$level.write(0.01)
    #expect(try await near.replaceDescription().committed > 0)
    link.heal()
    let words = "lamp.brightness: 1 was written as integer in %, and the field is now stored as number"
    #expect(await write.outcome == .refused(Refusal(.doesNotFit, words)))
    #expect(await eventually { far.level == 0.3 })
    #expect(far.$level.status.description.contains(words), "\(far.$level.status)")
    #expect(seen.withLock { $0.allSatisfy { $0 == 0.3 || $0 == 0.01 } })
    #expect(near.shared?["brightness"]?.description == "0.3")
    #expect(try await far.$level.write(0.4).committed > 0)
    #expect(await eventually { near.level == 0.4 })
    withExtendedLifetime(token) {}
  }

  @Test("an undo restores the stored value, and does not after it was replaced")
  func undone() async throws {
    let fine = try await peers.share(Fine.self, by: peers.left)
    let coarse = try await peers.share(Coarse.self, by: peers.right)
    _ = coarse.undoing
    #expect(try await coarse.$level.write(50).committed > 0)
    #expect(await eventually { fine.level == 500 })
    #expect(await coarse.undo() == .done(fields: ["level"], inexact: []))
    #expect(await eventually { raw("level") == "337" && coarse.level == 33 })
    #expect(try await coarse.$level.write(60).committed > 0)
    #expect(try await coarse.replaceDescription().committed > 0)
    if case .failed = await coarse.undo() {} else { Issue.record("undone") }
    #expect(await eventually { coarse.level == 60 && raw("level") == "60" })
  }
}
