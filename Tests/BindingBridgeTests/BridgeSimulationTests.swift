import Testing

@Suite("Simulated bridges to MQTT")
struct BridgeSimulationTests {
  @Test("both sides are equal in the end, and no value is lost or, while the bridge lives, written twice")
  func faults() {
    var (restarts, refusals) = (0, 0)
    for seed in 1...400 as ClosedRange<UInt64> {
      var world = BridgeSimulation(seed: seed, faults: seed % 4 == 0 ? 0 : 30)
      world.run(steps: 400)
      #expect(world.violation == nil, "seed \(seed)")
      restarts += world.restarts
      refusals += world.refusals
    }
    #expect(restarts > 300 && refusals > 300)
  }

  @Test("without faults a write costs one state more, a refused one two messages, and the end is silent")
  func messages() {
    for seed in 1...100 as ClosedRange<UInt64> {
      var world = BridgeSimulation(seed: seed, faults: 0)
      world.run(steps: 400)
      // The availability, and the states: of each write at most one.
      #expect(world.published <= 2 + world.changes + world.sets, "seed \(seed)")
    }
  }
}
