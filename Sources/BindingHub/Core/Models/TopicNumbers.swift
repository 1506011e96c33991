import BindingProtocol

/// Which topic the nth model gets. In order, a topic tells how many models were made before, to users who may not know
/// of them. With a seed topics are scattered instead: a Feistel network of six rounds permutes the topics of models, so
/// two numbers never have the same topic, and nothing has to be remembered. It hides a number, and encrypts nothing.
///
/// Source: Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002 (cycle walking).
struct TopicNumbers: Hashable, Sendable {
  /// nil: in order.
  private let seed: UInt64?
  private static let rounds: Range<UInt64> = 0..<6

  /// - Parameter seed: random bits that no client knows; nil: topics in order.
  init(seed: UInt64?) { self.seed = seed }

  /// The numbers that have a topic begin at 0 and end below this one.
  static let count = Int(Topic.max - Topics.firstModel) + 1

  /// The topic of a number below `count`.
  func topic(of number: Int) -> Topic {
    var topic = Topics.firstModel + Topic(number)
    guard let seed else { return topic }
    repeat { topic = TopicNumbers.permuted(topic, seed) } while !Topics.isModel(topic)
    return topic
  }

  /// The number whose topic this is; nil if it is not a model's.
  func number(of topic: Topic) -> Int? {
    guard Topics.isModel(topic) else { return nil }
    var number = topic
    if let seed {
      repeat { number = TopicNumbers.restored(number, seed) } while !Topics.isModel(number)
    }
    return Int(number - Topics.firstModel)
  }

  private static func permuted(_ topic: Topic, _ seed: UInt64) -> Topic {
    var (left, right) = (UInt16(topic >> 16), UInt16(truncatingIfNeeded: topic))
    for round in rounds { (left, right) = (right, left ^ mixed(right, seed, round)) }
    return Topic(left) << 16 | Topic(right)
  }

  private static func restored(_ topic: Topic, _ seed: UInt64) -> Topic {
    var (left, right) = (UInt16(topic >> 16), UInt16(truncatingIfNeeded: topic))
    for round in rounds.reversed() { (left, right) = (right ^ mixed(left, seed, round), left) }
    return Topic(left) << 16 | Topic(right)
  }

  /// The finalizer of SplitMix64 over the seed, the round and half of a topic.
  private static func mixed(_ half: UInt16, _ seed: UInt64, _ round: UInt64) -> UInt16 {
    var bits = (seed &+ (round &+ 1) &* 0x9E37_79B9_7F4A_7C15) ^ UInt64(half)
    bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
    return UInt16(truncatingIfNeeded: bits ^ bits >> 31)
  }
}
