import BindingProtocol

@testable import BindingPeer

extension PreviousRun {
  /// The run of `PeerBench` that left these entries after its first welcome, as a file keeps it; nil: nothing is to be
  /// sent.
  static func left(by entries: [JournalEntry]) -> PreviousRun? {
    var content = OutboxContent()
    content.apply(OutboxRecord(run: 1, content: .began(PeerBench.identity)), bytes: 1)
    for entry in [.welcomed(log: 1, epoch: 100)] + entries {
      content.apply(OutboxRecord(run: 1, content: .entry(entry)), bytes: 1)
    }
    return content.unfinished.first
  }
}
