import BindingHub
import BindingProtocol

/// The hub's keys, which are announced, put in force and kept after all while peers come and go.
final class KeyChanges: SimulationPart {
  let context: SimulationContext
  private let hub: SimulatedHub
  @exclusivity(unchecked) private var chance: Chance

  /// - Parameter chance: a stream of its own.
  init(_ hub: SimulatedHub, _ chance: Chance) {
    context = hub.context
    self.hub = hub
    self.chance = chance
    guard profile.hasKeys else { return }
    hub.keys = AnnouncedKeys(session: 0, present: key())
  }

  func awaitChange() {
    guard hub.keys != nil, isChaos else { return }
    agenda.add(.changeKeys, at: now + chance.within(100...4_000))
  }

  func change() throws(Violation) {
    guard isChaos, var keys = hub.keys else { return }
    counts[.keysChanged] += 1
    if let next = keys.next {
      if chance.perMille(700) { keys.present = next.key }
      keys.next = nil
    } else {
      keys.next = AnnouncedKeys.Next(key: key(), moment: context.wall + 5_000)
    }
    record("the hub's keys change")
    hub.keys = keys
    try hub.announceKeys()
    awaitChange()
  }

  private func key() -> [UInt8] { (0..<AnnouncedKeys.keyBytes).map { _ in UInt8(chance.below(256)) } }
}
