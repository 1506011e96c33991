/// The messages of a broker that became writes: each is acknowledged once its write has an outcome, in the order in
/// which they came (4.6 of the standard). One whose acknowledgement a lost connection has lost comes again, under the
/// same number (4.4), and must not be written twice.
struct ReceivedSets {
  /// What a message is.
  enum Arrival: Equatable {
    /// New: it becomes the write of this number.
    case write(Int)
    /// A repetition of one that waits for its outcome.
    case known
    /// A repetition of one that was acknowledged: the acknowledgement has not come.
    case acknowledged
  }

  private struct Received {
    let write: Int
    /// 0: it needs no acknowledgement.
    let id: UInt16
    let content: Int
    var isDecided = false
    /// Whether it came over a connection that was lost since.
    var isOfLostConnection = false
  }

  /// In the order in which they came.
  private var received: [Received] = []
  private var lastWrite = 0
  /// What was acknowledged last under each number, as a hash: until the number comes with something new, the broker may
  /// not know of it.
  private var acknowledged: [UInt16: Int] = [:]

  /// How many have no outcome yet.
  var undecided: Int { received.count { !$0.isDecided } }

  /// A message has come.
  mutating func take(_ message: MQTTMessage, id: UInt16) -> Arrival {
    var hasher = Hasher()
    hasher.combine(message.topic)
    hasher.combine(message.payload)
    let content = hasher.finalize()
    if message.isRepeated, id != 0 {
      if let index = received.firstIndex(where: { $0.isOfLostConnection && $0.id == id && $0.content == content }) {
        // It stands where it has come now.
        var again = received.remove(at: index)
        again.isOfLostConnection = false
        received.append(again)
        return .known
      }
      if acknowledged[id] == content { return .acknowledged }
    }
    acknowledged[id] = nil
    lastWrite += 1
    received.append(Received(write: lastWrite, id: id, content: content))
    return .write(lastWrite)
  }

  mutating func decided(_ write: Int) {
    guard let index = received.firstIndex(where: { $0.write == write }) else { return }
    received[index].isDecided = true
  }

  /// The numbers to acknowledge now, in order.
  mutating func takeAcknowledged() -> [UInt16] {
    var ids: [UInt16] = []
    // Those of a lost connection wait for their repetition and keep nothing waiting.
    while let index = received.firstIndex(where: { !$0.isOfLostConnection }), received[index].isDecided {
      let message = received.remove(at: index)
      guard message.id != 0 else { continue }
      acknowledged[message.id] = message.content
      ids.append(message.id)
    }
    return ids
  }

  /// The connection is lost.
  mutating func end() {
    received.removeAll { $0.id == 0 && $0.isDecided }
    for index in received.indices { received[index].isOfLostConnection = true }
  }

  /// The broker has forgotten the session: it repeats nothing.
  mutating func forget() {
    received.removeAll { $0.isOfLostConnection }
    acknowledged.removeAll()
  }
}
