import Simulation
import Testing

@Suite("The check of histories")
struct HistoryTests {
  private var scribe = Scribe()

  init() {
    scribe.peer("a")
    scribe.peer("b")
  }

  // MARK: Good ones

  @Test("writes of all kinds, shown, read and left alike by all, break nothing")
  mutating func good() {
    scribe.set("x", "a1", by: "a", 1, at: 1)
    scribe.submit("b", 1, #"["set","p","b1"],["set","q","b1"]"#)
    scribe.update("b", 1, #""x":"a1","p":"b1","q":"b1""#)
    scribe.read("b", "p", #""b1""#)
    scribe.submit("a", 2, #"["add","n",2]"#)
    scribe.commit(2, by: "a", 2, #""n":2"#)
    scribe.commit(3, by: "b", 1, #""p":"b1","q":"b1""#)
    scribe.told("a", 2, 2)
    scribe.told("b", 1, 3)
    scribe.submit("a", 3, #"["union","tags",["a3"]],["text","body","a3"]"#)
    scribe.commit(4, by: "a", 3, #""tags":["a3"],"body":"hello a3""#)
    scribe.submit("b", 2, #"["delete","x"]"#, conditions: #"["x",1,1]"#)
    scribe.commit(5, by: "b", 2, #""x":null"#)
    scribe.told("b", 2, 5)
    for peer in ["a", "b"] {
      scribe.update(peer, 5, #""x":null,"p":"b1","q":"b1","n":2,"tags":["a3"],"body":"hello a3""#)
      scribe.final(peer, 5, #""p":"b1","q":"b1","n":2,"tags":["a3"],"body":"hello a3""#)
    }
    #expect(scribe.findings.isEmpty)
    #expect(scribe.checked.figures.acknowledged == 4)
    #expect(scribe.checked.figures.unknown == 1)
  }

  @Test("what peers bring back after a restart is no second effect, and stands for what it was")
  mutating func recovered() {
    scribe.set("x", "a1", by: "a", 1, at: 1)
    scribe.set("x", "a2", by: "a", 2, at: 2)
    scribe.hub(2)
    scribe.commit(1, by: "b", 0, #""x":"a2""#, epoch: 2)
    scribe.final("a", 1, #""x":"a2""#, epoch: 2)
    #expect(scribe.findings.isEmpty)
    #expect(scribe.checked.figures.recovered == 1)
  }

  @Test("a write that was committed, lost with its hub unanswered and committed again is one write")
  mutating func committedAgain() {
    scribe.submit("a", 1, #"["set","x","a1"]"#)
    scribe.commit(1, by: "a", 1, #""x":"a1""#)
    scribe.hub(2)
    scribe.commit(1, by: "a", 1, #""x":"a1""#, epoch: 2)
    scribe.told("a", 1, 1, epoch: 2)
    #expect(scribe.findings.isEmpty)
  }

  @Test("what the next hub found in its store is passed over where it is known, else counts")
  mutating func killedBeforeHistory() {
    scribe.hub(1, durability: "process")
    for number in 1...2 { scribe.submit("a", number, "[\"set\",\"x\",\"a\(number)\"]") }
    scribe.commit(1, by: "a", 1, #""x":"a1""#)
    scribe.told("a", 1, 1)
    scribe.hub(1, durability: "process")
    scribe.commit(1, by: "a", 1, #""x":"a1""#, again: true)
    scribe.commit(2, by: "a", 2, #""x":"a2""#, again: true)
    scribe.told("a", 2, 2)
    scribe.final("a", 2, #""x":"a2""#)
    #expect(scribe.findings.isEmpty)
  }

  @Test("what a hub that keeps nothing had acknowledged and nobody had shown is counted, and is no finding")
  mutating func lostWithHub() {
    scribe.set("x", "a1", by: "a", 1, at: 1)
    scribe.hub(2)
    scribe.final("a", 0, "", epoch: 2)
    #expect(scribe.findings.isEmpty)
    #expect(scribe.checked.figures.lostWithHub == 1)
  }

  @Test("a last line that was being written when its process died is passed over")
  mutating func tornEnd() {
    let read = HistoryEntry.read("{\"t\":1,\"e\":\"share\",\"m\":\"m\"}\n{\"t\":2,\"e\":\"sub", file: "a")
    #expect(read.entries.count == 1 && read.bad.isEmpty)
  }

  // MARK: Bad ones, one for each name

  @Test("malformed: a line that is none")
  mutating func malformed() {
    scribe.raw("a", "{\"e\":\"submit\"}")
    #expect(scribe.findings == ["malformed a:2"])
  }

  @Test("gapped: a version is missing")
  mutating func gapped() {
    scribe.set("x", "a1", by: "a", 1, at: 1)
    scribe.set("x", "a2", by: "a", 2, at: 3)
    #expect(scribe.findings.contains("gapped hub:3"))
  }

  @Test("twice: what the next hub found is another commit than the one before wrote down")
  mutating func otherAgain() {
    scribe.set("x", "a1", by: "a", 1, at: 1)
    scribe.hub(1, durability: "process")
    scribe.commit(1, by: "a", 1, #""x":"other""#, again: true)
    #expect(scribe.findings.contains("twice hub:4"))
  }

  @Test("phantom: a commit that nobody asked for")
  mutating func phantom() {
    scribe.submit("a", 1, #"["set","x","a1"]"#)
    scribe.commit(1, by: "a", 1, #""x":"other""#)
    #expect(scribe.findings == ["phantom hub:2"])
  }

  @Test("changed: a commit that was acknowledged for another write")
  mutating func changed() {
    scribe.submit("a", 1, #"["set","x","a1"]"#)
    scribe.commit(1, by: "a", 1, #""x":"other""#)
    scribe.told("a", 1, 1)
    #expect(scribe.findings == ["changed hub:2"])
  }

  @Test("undone: a commit whose writer was told of a conflict")
  mutating func undone() {
    scribe.submit("a", 1, #"["set","x","a1"]"#)
    scribe.commit(1, by: "a", 1, #""x":"a1""#)
    scribe.told("a", 1, as: "conflict")
    #expect(scribe.findings == ["undone hub:2"])
  }

  @Test("twice: one proposal is committed at two versions")
  mutating func twice() {
    scribe.submit("a", 1, #"["add","n",1]"#)
    scribe.commit(1, by: "a", 1, #""n":1"#)
    scribe.commit(2, by: "a", 1, #""n":2"#)
    scribe.told("a", 1, 1)
    #expect(scribe.findings.first == "miscounted a:2" && scribe.findings.last == "twice hub:3")
  }

  @Test("unstored: an acknowledgement without a commit")
  mutating func unstored() {
    scribe.submit("a", 1, #"["add","n",0]"#)
    scribe.told("a", 1, 1)
    #expect(scribe.findings == ["unstored a:3"])
  }

  @Test("lost: an older value stands where a later one was acknowledged, which somebody who lived on had shown")
  mutating func lost() {
    scribe.set("x", "a1", by: "a", 1, at: 1)
    scribe.set("x", "a2", by: "a", 2, at: 2)
    scribe.update("b", 2, #""x":"a2""#)
    scribe.hub(2)
    scribe.commit(1, by: "a", 1, #""x":"a1""#, epoch: 2)
    scribe.update("b", 1, #""x":"a1""#, epoch: 2)
    scribe.final("b", 1, #""x":"a1""#, epoch: 2)
    #expect(scribe.findings == ["lost a:5"])
  }

  @Test("lost: an element that was acknowledged is gone, though no hub was")
  mutating func lostElement() {
    scribe.submit("a", 1, #"["text","body","one"]"#)
    scribe.commit(1, by: "a", 1, #""body":"one""#)
    scribe.told("a", 1, 1)
    scribe.submit("b", 1, #"["text","body","two"]"#)
    scribe.commit(2, by: "b", 1, #""body":"two""#)
    #expect(scribe.findings == ["lost a:3"])
  }

  @Test("lost: what an outbox held is never committed, though all is quiet")
  mutating func lostInOutbox() {
    scribe.peer("c", outbox: true)
    scribe.submit("c", 1, #"["add","n",1]"#)
    scribe.update("c", 0, #""n":1"#)
    scribe.peer("c", outbox: true, life: 2)
    scribe.final("c", 0, "")
    #expect(scribe.findings == ["lost c:2"])
  }

  @Test("miscounted: a counter lacks what was acknowledged")
  mutating func miscounted() {
    scribe.submit("a", 1, #"["add","n",1]"#)
    scribe.submit("a", 2, #"["add","n",1]"#)
    scribe.commit(1, by: "a", 1, #""n":1"#)
    scribe.told("a", 1, 1)
    scribe.told("a", 2, 1)
    #expect(scribe.findings.contains("miscounted a:3"))
  }

  @Test("late: a write comes after one that was made when it had been acknowledged")
  mutating func late() {
    scribe.submit("a", 1, #"["set","x","a1"]"#)
    scribe.told("a", 1, 2)
    scribe.submit("b", 1, #"["set","y","b1"]"#)
    scribe.commit(1, by: "b", 1, #""y":"b1""#)
    scribe.commit(2, by: "a", 1, #""x":"a1""#)
    #expect(scribe.findings == ["late hub:3"])
  }

  @Test("unchecked: a comparison passed after the field had changed")
  mutating func unchecked() {
    scribe.set("x", "a1", by: "a", 1, at: 1)
    scribe.set("x", "a2", by: "a", 2, at: 2)
    scribe.submit("b", 1, #"["set","x","b1"]"#, conditions: #"["x",1,1]"#)
    scribe.commit(3, by: "b", 1, #""x":"b1""#)
    #expect(scribe.findings == ["unchecked hub:4"])
  }

  @Test("back: a peer shows an older version")
  mutating func back() {
    scribe.set("x", "a1", by: "a", 1, at: 1)
    scribe.set("x", "a2", by: "a", 2, at: 2)
    scribe.update("b", 2, #""x":"a2""#)
    scribe.update("b", 1, #""x":"a1""#)
    #expect(scribe.findings == ["back b:3"])
  }

  @Test("invented: a peer shows what nobody wrote")
  mutating func invented() {
    scribe.set("x", "a1", by: "a", 1, at: 1)
    scribe.update("b", 1, #""x":"a9""#)
    #expect(scribe.findings == ["invented b:2"])
  }

  @Test("torn: a peer shows half of a change")
  mutating func torn() {
    for number in 1...2 {
      scribe.submit("a", number, "[\"set\",\"p\",\"a\(number)\"],[\"set\",\"q\",\"a\(number)\"]")
      scribe.commit(number, by: "a", number, "\"p\":\"a\(number)\",\"q\":\"a\(number)\"")
      scribe.told("a", number, number)
    }
    scribe.update("b", 1, #""p":"a1","q":"a1""#)
    scribe.update("b", 2, #""p":"a2""#)
    #expect(scribe.findings == ["torn b:3"])
  }

  @Test("unread: a peer reads something older than what it has written")
  mutating func unread() {
    scribe.set("x", "b1", by: "b", 1, at: 1)
    scribe.submit("a", 1, #"["set","x","a1"]"#)
    scribe.read("a", "x", #""b1""#)
    scribe.commit(2, by: "a", 1, #""x":"a1""#)
    #expect(scribe.findings == ["unread a:3"])
  }

  @Test("diverged: a peer ends with something else than the hub")
  mutating func diverged() {
    scribe.set("x", "a1", by: "a", 1, at: 1)
    scribe.final("a", 1, #""x":"a1""#)
    scribe.final("b", 0, "")
    #expect(scribe.findings == ["diverged b:2"])
  }
}
