package import BindingProtocol

/// The committed values of a model at one moment.
package struct CommittedValues: Sendable {
  package var epoch: Epoch
  package var version: Version
  /// The digest of the values, as the hub computes it.
  package var digest: UInt64
  /// The fields that were committed after the version that was asked about, as `Session.committed` returns them.
  package var fields: [CommittedField]

  /// Makes the values of a moment.
  package init(epoch: Epoch, version: Version, digest: UInt64, fields: [CommittedField]) {
    self.epoch = epoch
    self.version = version
    self.digest = digest
    self.fields = fields
  }
}

extension SharedModel {
  /// The fields committed after `version` in `epoch`, deleted ones included; in another epoch, or after 0, all that
  /// have a value. nil: the model is not joined.
  package func committed(after version: Version, in epoch: Epoch) -> CommittedValues? {
    let id = id
    return runtime.state.withLock { state in
      let present = state.session.version(of: id)
      guard let digest = state.session.digest(of: id) else { return nil }
      let fields = state.session.committed(id, after: present.epoch == epoch ? version : 0)
      return CommittedValues(epoch: present.epoch, version: present.version, digest: digest, fields: fields)
    }
  }
}
