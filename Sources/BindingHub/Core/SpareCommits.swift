import BindingWire

/// The writers of bodies that no model's hand needs now: a writer has room for many commits, and of many models few are
/// written at the same moment.
final class SpareCommits {
  /// What a hand has that nothing was decided in; its room is shared.
  static let none = CommitsWriter()

  private var writers: [CommitsWriter] = []
  /// How many are kept; of those that have grown beyond `bigBytes` only a few.
  private static let most = 1_024
  private static let bigBytes = 16_384
  private static let mostBig = 8
  private var bigs = 0

  func take() -> CommitsWriter {
    guard let writer = writers.popLast() else { return CommitsWriter() }
    if writer.byteCount > SpareCommits.bigBytes { bigs -= 1 }
    return writer
  }

  /// Takes a writer back and leaves `none` in its place.
  func giveBack(_ writer: inout CommitsWriter) {
    let isBig = writer.byteCount > SpareCommits.bigBytes
    if writers.count < SpareCommits.most, !isBig || bigs < SpareCommits.mostBig {
      writers.append(writer)
      if isBig { bigs += 1 }
    }
    writer = SpareCommits.none
  }
}
