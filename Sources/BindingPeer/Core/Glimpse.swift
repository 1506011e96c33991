package import BindingWire

/// What one model holds and shows, taken at once: for a simulation that holds it against its own truth.
package struct Glimpse {
  package var epoch: Epoch = 0
  package var version: Version = 0
  /// By the fields asked for.
  package var committed: [FieldValue?] = []
  package var shown: [FieldValue?] = []
  /// Writes that still lie over the committed values, oldest first.
  package var laidOver: [WriteID] = []

  package init() {}
}

extension Session {
  /// Whether a line is joined, or was left and something that was written to it has no outcome.
  package func knows(_ id: String) -> Bool { models.place(of: id) != nil }

  /// Fills a glimpse with what is here of a model; with nothing if it is not joined. What shows is looked at for the
  /// fields that are `meant`; the others show as they are committed.
  package func look(at id: String, _ fields: [String], meant: [Bool], into glimpse: inout Glimpse) {
    glimpse.committed.removeAll(keepingCapacity: true)
    glimpse.shown.removeAll(keepingCapacity: true)
    glimpse.laidOver.removeAll(keepingCapacity: true)
    (glimpse.epoch, glimpse.version) = (0, 0)
    guard let place = models.place(of: id) else { return }
    models[at: place].look(at: fields, meant: meant, into: &glimpse)
  }
}

extension PeerModel {
  fileprivate func look(at fields: [String], meant: [Bool], into glimpse: inout Glimpse) {
    (glimpse.epoch, glimpse.version) = (replica.epoch, replica.version)
    for _ in fields {
      glimpse.committed.append(nil)
      glimpse.shown.append(nil)
    }
    for place in replica.fields.indices {
      guard let field = fields.firstIndex(of: replica.fields[place].name) else { continue }
      glimpse.committed[field] = replica.fields[place].value
      glimpse.shown[field] = replica.fields[place].value
    }
    guard !outbox.isEmpty else { return }
    glimpse.laidOver.append(contentsOf: outbox.laidOver)
    for field in outbox.fields {
      guard let place = fields.firstIndex(of: field), meant[place] else { continue }
      glimpse.shown[place] = outbox.shown(field, over: glimpse.committed[place])
    }
  }
}
