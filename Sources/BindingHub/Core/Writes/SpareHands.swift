import BindingProtocol

/// Hands that no model needs now: a hand has lists with room for many commits, and of many models few are written at
/// the same moment. Those few then share memory that the processor has at hand.
final class SpareHands {
  /// The hand of a model of which nothing is decided: always empty.
  let none = ModelLog.Hand()

  private var hands: [ModelLog.Hand] = []
  /// How many are kept; of those that have grown beyond `bigBytes` only a few.
  private static let most = 1_024
  private static let bigBytes = 16_384
  private static let mostBig = 8
  private var bigs = 0

  func take() -> ModelLog.Hand {
    guard let hand = hands.popLast() else { return ModelLog.Hand() }
    if hand.commits.byteCount > SpareHands.bigBytes { bigs -= 1 }
    return hand
  }

  /// Empties a hand and takes it back.
  func giveBack(_ hand: ModelLog.Hand) {
    hand.clear()
    let isBig = hand.commits.byteCount > SpareHands.bigBytes
    guard hands.count < SpareHands.most, !isBig || bigs < SpareHands.mostBig else { return }
    hands.append(hand)
    if isBig { bigs += 1 }
  }
}
