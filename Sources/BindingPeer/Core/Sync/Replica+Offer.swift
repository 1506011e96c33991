import BindingProtocol

extension Replica {
  /// The committed values, as they were in the old epoch, for a hub that lacks them.
  /// - Parameters:
  ///   - numbers: whether the hub wants to know which numbers of other writers were seen.
  ///   - limit: the most bytes of a message, unless one field has more.
  mutating func offers(answering ask: AskOffer, withNumbers numbers: Bool, limit: Int) -> [Offer] {
    let latest = seen.latest()
    var offers: [Offer] = []
    var part: [OfferedField] = []
    var bytes = 0
    func close(isLast: Bool) {
      offers.append(
        Offer(
          request: ask.request, topic: ask.topic, epoch: epoch, version: version,
          chunk: UInt32(offers.count), isLast: isLast, fields: part, numbers: isLast && numbers ? latest : nil))
      part.removeAll()
      bytes = 0
    }
    for field in fields where field.version > 0 {
      let size = 64 + field.name.utf8.count + field.origin.name.utf8.count + (field.value?.bytes.count ?? 0)
      if bytes > 0, bytes + size > limit { close(isLast: false) }
      part.append(
        OfferedField(
          name: field.name, version: field.version, origin: field.origin, number: field.number, time: field.time,
          value: field.value))
      bytes += size
    }
    close(isLast: true)
    return offers
  }
}
