import BindingProtocol
import Simulation
import Testing

@Suite("The check of histories")
struct HistoryTests {
  private var builder = HistoryBuilder()

  init() {
    builder.peer("a")
    builder.peer("b")
  }

  @Test("the changes of a commit are read in the forms of both formats, and a value that is not JSON is malformed")
  func formats() throws {
    func read(_ changes: String) -> HistoryCommit? {
      let line =
        #"{"t":1,"e":"commit","m":"m","epoch":1,"version":2,"tag":"a1","number":3,"changes":\#(changes)}"# + "\n"
      guard case .commit(let commit)? = HistoryEntry.read(line, file: "hub").entries.first?.content else { return nil }
      return commit
    }
    #expect(read(#"{"x":"v","y":null}"#)?.changes == ["x": "v", "y": .null])
    #expect(read(#"[["x","\"v\""],["y"]]"#)?.changes == ["x": "v", "y": .null])
    #expect(read(#"[["x","v"]]"#) == nil)
    #expect(read(#"[["x",1]]"#) == nil)
  }

  // MARK: Good ones

  @Test("a consistent history of all kinds of entries has no findings")
  mutating func good() {
    builder.set("x", "a1", by: "a", 1, at: 1)
    builder.submit("b", 1, #"["set","p","b1"],["set","q","b1"]"#)
    builder.update("b", 1, #""x":"a1","p":"b1","q":"b1""#)
    builder.read("b", "p", #""b1""#)
    builder.submit("a", 2, #"["add","n",2]"#)
    builder.commit(2, by: "a", 2, #""n":2"#)
    builder.commit(3, by: "b", 1, #""p":"b1","q":"b1""#)
    builder.outcome("a", 2, 2)
    builder.outcome("b", 1, 3)
    builder.submit("a", 3, #"["union","tags",["a3"]],["text","body","a3"]"#)
    builder.commit(4, by: "a", 3, #""tags":["a3"],"body":"hello a3""#)
    builder.submit("b", 2, #"["delete","x"]"#, conditions: #"["x",1,1]"#)
    builder.commit(5, by: "b", 2, #""x":null"#)
    builder.outcome("b", 2, 5)
    for peer in ["a", "b"] {
      builder.update(peer, 5, #""x":null,"p":"b1","q":"b1","n":2,"tags":["a3"],"body":"hello a3""#)
      builder.final(peer, 5, #""p":"b1","q":"b1","n":2,"tags":["a3"],"body":"hello a3""#)
    }
    #expect(builder.findings.isEmpty)
    #expect(builder.checked.figures.acknowledged == 4)
    #expect(builder.checked.figures.unknown == 1)
  }

  @Test("a recovered value is no second effect, and stands for the original commit")
  mutating func recovered() {
    builder.set("x", "a1", by: "a", 1, at: 1)
    builder.set("x", "a2", by: "a", 2, at: 2)
    builder.hub(2)
    builder.commit(1, by: "b", 0, #""x":"a2""#, epoch: 2)
    builder.final("a", 1, #""x":"a2""#, epoch: 2)
    #expect(builder.findings.isEmpty)
    #expect(builder.checked.figures.recovered == 1)
  }

  @Test("a write committed, lost unanswered with its hub and committed again is one write")
  mutating func committedAgain() {
    builder.submit("a", 1, #"["set","x","a1"]"#)
    builder.commit(1, by: "a", 1, #""x":"a1""#)
    builder.hub(2)
    builder.commit(1, by: "a", 1, #""x":"a1""#, epoch: 2)
    builder.outcome("a", 1, 1, epoch: 2)
    #expect(builder.findings.isEmpty)
  }

  @Test("repeated commits of a restarted hub are ignored if known, and counted otherwise")
  mutating func killedBeforeHistory() {
    builder.hub(1, durability: "process")
    for number in 1...2 { builder.submit("a", number, "[\"set\",\"x\",\"a\(number)\"]") }
    builder.commit(1, by: "a", 1, #""x":"a1""#)
    builder.outcome("a", 1, 1)
    builder.hub(1, durability: "process")
    builder.commit(1, by: "a", 1, #""x":"a1""#, again: true)
    builder.commit(2, by: "a", 2, #""x":"a2""#, again: true)
    builder.outcome("a", 2, 2)
    builder.final("a", 2, #""x":"a2""#)
    #expect(builder.findings.isEmpty)
  }

  @Test("a last line cut off by the end of its process is skipped")
  mutating func tornEnd() {
    let read = HistoryEntry.read("{\"t\":1,\"e\":\"share\",\"m\":\"m\"}\n{\"t\":2,\"e\":\"sub", file: "a")
    #expect(read.entries.count == 1 && read.bad.isEmpty)
  }

  // MARK: Bad ones, one for each name

  @Test("malformed: a line that is not an entry")
  mutating func malformed() {
    builder.raw("a", "{\"e\":\"submit\"}")
    #expect(builder.findings == ["malformed a:2"])
  }

  @Test("gapped: a version is missing")
  mutating func gapped() {
    builder.set("x", "a1", by: "a", 1, at: 1)
    builder.set("x", "a2", by: "a", 2, at: 3)
    #expect(builder.findings.contains("gapped hub:3"))
  }

  @Test("twice: a restarted hub's repeated commit differs from the recorded one")
  mutating func otherAgain() {
    builder.set("x", "a1", by: "a", 1, at: 1)
    builder.hub(1, durability: "process")
    builder.commit(1, by: "a", 1, #""x":"other""#, again: true)
    #expect(builder.findings.contains("twice hub:4"))
  }

  @Test("phantom: a commit without a write")
  mutating func phantom() {
    builder.submit("a", 1, #"["set","x","a1"]"#)
    builder.commit(1, by: "a", 1, #""x":"other""#)
    #expect(builder.findings == ["phantom hub:2"])
  }

  @Test("changed: a commit acknowledged for another write")
  mutating func changed() {
    builder.submit("a", 1, #"["set","x","a1"]"#)
    builder.commit(1, by: "a", 1, #""x":"other""#)
    builder.outcome("a", 1, 1)
    #expect(builder.findings == ["changed hub:2"])
  }

  @Test("undone: a commit whose writer received a conflict")
  mutating func undone() {
    builder.submit("a", 1, #"["set","x","a1"]"#)
    builder.commit(1, by: "a", 1, #""x":"a1""#)
    builder.outcome("a", 1, as: "conflict")
    #expect(builder.findings == ["undone hub:2"])
  }

  @Test("twice: one proposal is committed at two versions")
  mutating func twice() {
    builder.submit("a", 1, #"["add","n",1]"#)
    builder.commit(1, by: "a", 1, #""n":1"#)
    builder.commit(2, by: "a", 1, #""n":2"#)
    builder.outcome("a", 1, 1)
    #expect(builder.findings.first == "miscounted a:2" && builder.findings.last == "twice hub:3")
  }

  @Test("unstored: an acknowledgement without a commit")
  mutating func unstored() {
    builder.submit("a", 1, #"["add","n",0]"#)
    builder.outcome("a", 1, 1)
    #expect(builder.findings == ["unstored a:3"])
  }

  @Test("lost: an older value stands where a later one was acknowledged and shown by a surviving peer")
  mutating func lost() {
    builder.set("x", "a1", by: "a", 1, at: 1)
    builder.set("x", "a2", by: "a", 2, at: 2)
    builder.update("b", 2, #""x":"a2""#)
    builder.hub(2)
    builder.commit(1, by: "a", 1, #""x":"a1""#, epoch: 2)
    builder.update("b", 1, #""x":"a1""#, epoch: 2)
    builder.final("b", 1, #""x":"a1""#, epoch: 2)
    #expect(builder.findings == ["lost a:5"])
  }

  @Test("lost: an acknowledged element is gone, though no hub was lost")
  mutating func lostElement() {
    builder.submit("a", 1, #"["text","body","one"]"#)
    builder.commit(1, by: "a", 1, #""body":"one""#)
    builder.outcome("a", 1, 1)
    builder.submit("b", 1, #"["text","body","two"]"#)
    builder.commit(2, by: "b", 1, #""body":"two""#)
    #expect(builder.findings == ["lost a:3"])
  }

  @Test("lost: a write in an outbox is never committed, though all is quiet")
  mutating func lostInOutbox() {
    builder.peer("c", outbox: true)
    builder.submit("c", 1, #"["add","n",1]"#)
    builder.made("c", 1)
    builder.peer("c", outbox: true, run: 2)
    builder.final("c", 0, "")
    #expect(builder.findings == ["lost c:2"])
  }

  @Test("a write need not be in the outbox before its call has returned, whatever another thread records meanwhile")
  mutating func killedDuringCall() {
    builder.peer("c", outbox: true)
    builder.submit("c", 1, #"["add","n",1]"#)
    builder.update("c", 0, #""n":1"#)
    builder.peer("c", outbox: true, run: 2)
    builder.final("c", 0, "")
    #expect(builder.findings == [])
  }

  @Test("miscounted: a counter lacks an acknowledged addition")
  mutating func miscounted() {
    builder.submit("a", 1, #"["add","n",1]"#)
    builder.submit("a", 2, #"["add","n",1]"#)
    builder.commit(1, by: "a", 1, #""n":1"#)
    builder.outcome("a", 1, 1)
    builder.outcome("a", 2, 1)
    #expect(builder.findings.contains("miscounted a:3"))
  }

  @Test("late: a write follows one that was made after its acknowledgement")
  mutating func late() {
    builder.submit("a", 1, #"["set","x","a1"]"#)
    builder.outcome("a", 1, 2)
    builder.submit("b", 1, #"["set","y","b1"]"#)
    builder.commit(1, by: "b", 1, #""y":"b1""#)
    builder.commit(2, by: "a", 1, #""x":"a1""#)
    #expect(builder.findings == ["late hub:3"])
  }

  @Test("unchecked: a condition passed after the field had changed")
  mutating func unchecked() {
    builder.set("x", "a1", by: "a", 1, at: 1)
    builder.set("x", "a2", by: "a", 2, at: 2)
    builder.submit("b", 1, #"["set","x","b1"]"#, conditions: #"["x",1,1]"#)
    builder.commit(3, by: "b", 1, #""x":"b1""#)
    #expect(builder.findings == ["unchecked hub:4"])
  }

  @Test("back: a peer shows an older version")
  mutating func back() {
    builder.set("x", "a1", by: "a", 1, at: 1)
    builder.set("x", "a2", by: "a", 2, at: 2)
    builder.update("b", 2, #""x":"a2""#)
    builder.update("b", 1, #""x":"a1""#)
    #expect(builder.findings == ["back b:3"])
  }

  @Test("invented: a peer shows a value that was never written")
  mutating func invented() {
    builder.set("x", "a1", by: "a", 1, at: 1)
    builder.update("b", 1, #""x":"a9""#)
    #expect(builder.findings == ["invented b:2"])
  }

  @Test("torn: a peer shows half of a change")
  mutating func torn() {
    for number in 1...2 {
      builder.submit("a", number, "[\"set\",\"p\",\"a\(number)\"],[\"set\",\"q\",\"a\(number)\"]")
      builder.commit(number, by: "a", number, "\"p\":\"a\(number)\",\"q\":\"a\(number)\"")
      builder.outcome("a", number, number)
    }
    builder.update("b", 1, #""p":"a1","q":"a1""#)
    builder.update("b", 2, #""p":"a2""#)
    #expect(builder.findings == ["torn b:3"])
  }

  @Test("unread: a peer reads an older value than it has written")
  mutating func unread() {
    builder.set("x", "b1", by: "b", 1, at: 1)
    builder.submit("a", 1, #"["set","x","a1"]"#)
    builder.read("a", "x", #""b1""#)
    builder.commit(2, by: "a", 1, #""x":"a1""#)
    #expect(builder.findings == ["unread a:3"])
  }

  @Test("diverged: a peer ends with another value than the hub")
  mutating func diverged() {
    builder.set("x", "a1", by: "a", 1, at: 1)
    builder.final("a", 1, #""x":"a1""#)
    builder.final("b", 0, "")
    #expect(builder.findings == ["diverged b:2"])
  }
}
