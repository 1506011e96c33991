import BindingProtocol

/// Which sibling decides what.
extension SiblingParts {
  /// The link to the home of a model; nil: it is this hub.
  /// - Parameter start: the number of this hub's start. Every hub draws one, so that all that reach each other agree.
  func home(of model: String, start: StartNumber) -> Int? {
    var (home, most): (Int?, UInt64) = (nil, SiblingParts.weight(of: model, at: start))
    for link in links.indices where takesForwards(link) {
      guard let start = links[link].homeStart else { continue }
      let weight = SiblingParts.weight(of: model, at: start)
      if weight > most { (home, most) = (link, weight) }
    }
    return home
  }

  /// Whether proposals can be passed on over a link.
  func takesForwards(_ link: Int) -> Bool {
    links[link].isReached && links[link].homeStart != nil
  }

  /// The link to the hub with this number; nil: nothing can be passed on to it.
  func link(to start: StartNumber) -> Int? {
    links.indices.first { links[$0].homeStart == start && takesForwards($0) }
  }

  /// Since when the hub with this number is lost, on the monotonic clock; nil: nobody knows.
  func lostAt(of start: StartNumber) -> UInt64? { links.first { $0.homeStart == start }?.lostAt }

  /// Whether models may have owners: there are siblings, and those that can be reached ask them.
  var askOwners: Bool { !links.isEmpty && links.allSatisfy { !$0.isReached || $0.asksOwners } }

  /// Rendezvous hashing (Thaler and Ravishankar, 1998): FNV-1a of the name, mixed with the hub's number by the
  /// finisher of SplitMix64, because similar names must not have one home.
  private static func weight(of model: String, at start: StartNumber) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in model.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    hash ^= UInt64(start) &* 0x9E37_79B9_7F4A_7C15
    hash = (hash ^ hash >> 30) &* 0xBF58_476D_1CE4_E5B9
    hash = (hash ^ hash >> 27) &* 0x94D0_49BB_1331_11EB
    return hash ^ hash >> 31
  }
}
