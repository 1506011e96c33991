import BindingEdge
import BindingHub
import BindingPeer
import BindingProtocol
import Simulation
import Testing

@Suite("Reading at an edge")
struct EdgeReadingTests {
  private let stage = EdgeStage()

  @Test("readers get values and commits from the edge; the upstream hub has one session and sends each commit once")
  func readersCostNothing() {
    let writer = stage.join("home", at: stage.home)
    stage.write(writer, [.set("level", "1")])
    let joins = stage.uplinkSent(.join)
    let readers = (0..<20).map { stage.join("reader-\($0)") }
    #expect(stage.uplinkSent(.join) == joins + 1, "one follow for all")
    #expect(stage.home.machine.sessionCount == 2)
    for reader in readers { #expect(stage.value(reader, "level") == "1") }
    stage.write(writer, [.set("level", "2"), .set("on", "true")])
    for reader in readers { #expect(stage.value(reader, "level") == "2" && reader.received.contains(.commits)) }
    #expect(stage.uplink.counters.openedWriters == 0)
    #expect(stage.isEqual())
  }

  @Test("log, epoch, versions and digests are the upstream hub's")
  func sameLog() {
    let writer = stage.join("home", at: stage.home)
    for level in 1...5 { stage.write(writer, [.set("level", "\(level)")]) }
    let reader = stage.join("reader")
    #expect(reader.session.logID == stage.home.machine.logID)
    #expect(reader.session.version(of: "lamp") == writer.session.version(of: "lamp"))
    #expect(reader.session.digest(of: "lamp") == writer.session.digest(of: "lamp"))
  }

  @Test("a peer that moves from the edge to the upstream hub and back goes on, without another log")
  func movesOn() {
    let writer = stage.join("home", at: stage.home)
    stage.write(writer, [.set("level", "1")])
    let reader = stage.join("reader")
    stage.move(reader, to: stage.home)
    stage.write(writer, [.set("level", "2")])
    #expect(stage.value(reader, "level") == "2")
    stage.write(writer, [.set("level", "3")])
    stage.move(reader, to: stage.edge)
    #expect(stage.value(reader, "level") == "3" && stage.isEqual())
    #expect(reader.session.counters.snapshots == 1, "only the first")
  }

  @Test("while the uplink is lost the edge answers reads, and says that they may be old; then they are new again")
  func cutOff() {
    let writer = stage.join("home", at: stage.home)
    stage.write(writer, [.set("level", "1")])
    let reader = stage.join("reader")
    #expect(reader.session.cutOffSince == nil)
    stage.stopHome()
    #expect(reader.session.cutOffSince != nil)
    let late = stage.join("late")
    #expect(stage.value(late, "level") == "1" && late.session.isCurrent("lamp") && late.session.cutOffSince != nil)
    stage.home.answers = true
    stage.write(writer, [.set("level", "2")])
    stage.advance(3_000)
    #expect(stage.value(late, "level") == "2" && late.session.cutOffSince == nil && reader.session.cutOffSince == nil)
    #expect(stage.isEqual())
  }

  @Test("a peer that wants the latest waits at a cut-off edge, and gets what the upstream hub has once it answers")
  func latest() {
    let writer = stage.join("home", at: stage.home)
    stage.write(writer, [.set("level", "1")])
    stage.join("reader")
    stage.stopHome()
    let asking = stage.join("asking", latest: true)
    stage.advance(5_000)
    #expect(!asking.session.isCurrent("lamp") && stage.value(asking, "level") == nil)
    stage.restoreHome()
    #expect(stage.value(asking, "level") == "1" && asking.session.isCurrent("lamp"))
  }

  @Test("what the uplink missed is caught up, deletions too")
  func missed() {
    let writer = stage.join("home", at: stage.home)
    stage.write(writer, [.set("level", "1"), .set("old", "1")])
    let reader = stage.join("reader")
    stage.loseUplink()
    stage.write(writer, [FieldOperation(.delete, "old"), .set("level", "2")])
    stage.write(writer, [.set("new", "3")])
    stage.advance(3_000)
    #expect(stage.value(reader, "old") == nil && stage.value(reader, "new") == "3" && stage.isEqual())
  }

  @Test("a lost commit on the way to the edge is noticed and caught up")
  func lostFrame() {
    let writer = stage.join("home", at: stage.home)
    let reader = stage.join("reader")
    stage.write(writer, [.set("level", "1")])
    stage.forge = { $0[4] == HubMessageKind.commits.rawValue ? nil : $0 }
    stage.write(writer, [.set("level", "2")])
    #expect(stage.value(reader, "level") == "1")
    stage.forge = { $0 }
    stage.advance(3_000)
    #expect(stage.value(reader, "level") == "2" && stage.isEqual())
  }

  @Test("a list of models is the upstream hub's, and new models appear in it")
  func lists() {
    let writer = stage.join("home", at: stage.home, models: ["shop/a", "shop/b", "other"])
    for model in ["shop/a", "shop/b", "other"] { stage.write(writer, [.set("x", "1")], model) }
    let reader = stage.join("reader", models: [])
    reader.session.joinPrefix("shop/", now: stage.now, into: &reader.effects)
    stage.settle()
    #expect(Set(reader.listed) == ["shop/a", "shop/b"])
    writer.session.join("shop/c", now: stage.now, into: &writer.effects)
    stage.settle()
    stage.write(writer, [.set("x", "1")], "shop/c")
    #expect(reader.listed.contains("shop/c"))
  }

  @Test("another log upstream is another log at the edge: peers say hello again and read the new one")
  func otherLog() {
    let writer = stage.join("home", at: stage.home)
    stage.write(writer, [.set("level", "1")])
    let reader = stage.join("reader")
    stage.stopHome()
    stage.restoreHome(log: 4)
    stage.advance(3_000)
    #expect(reader.session.logID == 4 && stage.value(reader, "level") == nil)
    let other = stage.join("other", at: stage.home)
    stage.write(other, [.set("level", "7")])
    #expect(stage.value(reader, "level") == "7")
  }

  @Test("a model that no session joins any more is followed no longer")
  func unfollows() {
    let writer = stage.join("home", at: stage.home)
    stage.write(writer, [.set("level", "1")])
    let reader = stage.join("reader")
    reader.session.leave("lamp", now: stage.now, into: &reader.effects)
    stage.settle()
    let before = stage.uplinkSent(.leave)
    stage.advance(35_000)
    #expect(stage.uplinkSent(.leave) == before + 1)
    stage.write(writer, [.set("level", "2")])
    let late = stage.join("late")
    #expect(stage.value(late, "level") == "2")
  }
}
