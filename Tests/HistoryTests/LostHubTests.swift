import Simulation
import Testing

@Suite("The check of histories after a hub that keeps nothing was killed")
struct LostHubTests {
  private var builder = HistoryBuilder()

  init() {
    builder.peer("a")
    builder.peer("b")
  }

  @Test("acknowledged commits lost with a memory hub that no peer had shown are counted, not found")
  mutating func lostWithHub() {
    builder.set("x", "a1", by: "a", 1, at: 1)
    builder.hub(2)
    builder.final("a", 0, "", epoch: 2)
    #expect(builder.findings.isEmpty)
    #expect(builder.checked.figures.lostWithHub == 1)
  }

  @Test("what a memory hub lost before any peer had shown it, and its peer wrote again, is as new as its repeat")
  mutating func repeatedAfterLoss() {
    builder.submit("a", 1, #"["set","x","a1"]"#)
    builder.commit(1, by: "a", 1, #""x":"a1""#)
    builder.hub(2)
    builder.submit("b", 1, #"["set","x","b1"]"#)
    builder.commit(1, by: "b", 1, #""x":"b1""#, epoch: 2)
    builder.outcome("b", 1, 1, epoch: 2)
    builder.commit(2, by: "a", 1, #""x":"a1""#, epoch: 2)
    builder.outcome("a", 1, 2, epoch: 2)
    builder.final("b", 2, #""x":"a1""#, epoch: 2)
    #expect(builder.findings.isEmpty)
    #expect(builder.checked.figures.repeatedAfterRestart == 1)
  }

  @Test("lost: what a peer had shown before its hub was lost is written again over a later write")
  mutating func repeatedThoughHeld() {
    builder.set("x", "a1", by: "a", 1, at: 1)
    builder.update("b", 1, #""x":"a1""#)
    builder.hub(2)
    builder.submit("b", 1, #"["set","x","b1"]"#)
    builder.commit(1, by: "b", 1, #""x":"b1""#, epoch: 2)
    builder.outcome("b", 1, 1, epoch: 2)
    builder.commit(2, by: "a", 1, #""x":"a1""#, epoch: 2)
    builder.update("b", 2, #""x":"a1""#, epoch: 2)
    builder.final("b", 2, #""x":"a1""#, epoch: 2)
    #expect(builder.findings.contains("lost b:4"))
  }
}
