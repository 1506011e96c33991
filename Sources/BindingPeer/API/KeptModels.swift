package import BindingProtocol
import Foundation

/// What a keep file holds, as a peer without a hub would show it. It is read without a lock, up to its last whole
/// record, so another process may have the file.
package struct KeptModels: Sendable {
  /// A field as it shows.
  package struct Field: Sendable {
    /// The field's name.
    package var name: String
    /// The shown value.
    package var value: FieldValue
    /// The version and writer of the committed value below it.
    package var version: Version
    package var origin: Origin
    /// Whether a write without an outcome shows.
    package var isPending: Bool
  }
  /// A model as it shows.
  package struct Kept: Sendable {
    /// The version of the committed values; 0: there are only writes without an outcome.
    package var version: Version
    /// When the values were last known to be complete: milliseconds since 1970; nil: never.
    package var completeAt: UInt64?
    /// The fields that have a value, by name.
    package var fields: [Field]
  }
  /// The log that the file's program followed last; nil: none.
  package let logID: LogID?
  /// The ids of the models of that log, sorted.
  package let models: [String]
  private let session: Session
  private let replicas: KeptReplicas

  /// Reads a keep file.
  /// - Throws: `OutboxError` if it is not one, or cannot be read.
  package init(readingFrom path: String) throws(OutboxError) {
    let descriptor = try OutboxFile.openDescriptor(path, O_RDONLY)
    let bytes: [UInt8]
    do throws(OutboxError) {
      bytes = try OutboxFile.readAll(descriptor, path, isShared: true)
    } catch {
      Foundation.close(descriptor)
      throw error
    }
    Foundation.close(descriptor)
    self.init(try OutboxFile.parse(bytes, path, isShared: true).content)
  }

  init(_ content: OutboxContent) {
    replicas = content.replicas
    logID = replicas.lastLog
    let runs = content.unfinished
    models = Swift.Set(replicas.models + runs.flatMap { $0.writes.map(\.model) }).sorted()
    var session = Session(
      identity: Identity(secret: Secret(high: 0, low: 0), name: "reader"), seed: 1, now: 0, keeping: KeepChoice(),
      stored: replicas)
    for run in runs { _ = session.carry(run, wall: 0) }
    var effects = PeerEffects()
    for model in models { session.join(model, now: 0, into: &effects) }
    self.session = session
  }

  /// A model as it shows; without fields if the file has nothing of it.
  package subscript(model: String) -> Kept {
    let fields = session.shownValues(model).sorted { $0.key < $1.key }.map { name, value in
      let record = session.fieldRecord(model, name)
      return Field(
        name: name, value: value, version: record?.version ?? 0, origin: record?.origin ?? .none,
        isPending: record?.isPending ?? true)
    }
    return Kept(
      version: session.version(of: model).version, completeAt: logID.flatMap { replicas[$0, model] }?.time,
      fields: fields)
  }
}
