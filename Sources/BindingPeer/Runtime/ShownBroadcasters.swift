import BindingModel
public import BindingProtocol

/// Broadcasters for tracked reads of a model without types, each created for the first reader that tracks.
struct ShownBroadcasters: Sendable {
  fileprivate var fields: [String: StatusBroadcaster<FieldValue?>] = [:]
  fileprivate var values: StatusBroadcaster<[String: FieldValue]>?
  fileprivate var isCurrent: StatusBroadcaster<Bool>?

  fileprivate static let many = 64
}

extension SharedModel {
  /// The field's shown value; nil if it has none. Reads inside `withObservationTracking`, `Observations` or a SwiftUI
  /// view are tracked; inside a `Derived` it is a source. The same holds for `values` and `isCurrent`. Trackers are
  /// notified on the model's lane.
  public subscript(field: String) -> FieldValue? {
    ReadTracking.current == .nobody ? shown(field) : broadcaster(of: field).read()
  }

  /// The shown values of all fields, the protocol's own (`@description`) included.
  public var values: [String: FieldValue] {
    ReadTracking.current == .nobody
      ? shownValues : broadcaster(\.values) { model in model?.shownValues ?? [:] }.read()
  }

  /// Whether the committed values are complete: the link is up and no catch-up is under way.
  public var isCurrent: Bool {
    ReadTracking.current == .nobody
      ? isCurrentNow : broadcaster(\.isCurrent) { model in model?.isCurrentNow ?? false }.read()
  }

  /// The field's shown value, without tracking.
  func shown(_ field: String) -> FieldValue? { runtime.state.withLock { $0.session.presentValue(id, field) } }

  private var shownValues: [String: FieldValue] { runtime.state.withLock { $0.session.presentValues(id) } }

  private var isCurrentNow: Bool { runtime.state.withLock { $0.session.isCurrent(id) } }

  private func broadcaster(of field: String) -> StatusBroadcaster<FieldValue?> {
    if let broadcaster = shownBroadcasters.withLock({ $0.fields[field] }) { return broadcaster }
    let fresh = StatusBroadcaster<FieldValue?>(
      present: { [weak self] in self?.shown(field) }, begin: { [weak self] in self?.observers.register($0) })
    // Names that were read once are not kept forever. A broadcaster without readers is recreated for the next one.
    let former = shownBroadcasters.withLock { $0.fields.count >= ShownBroadcasters.many ? $0.fields : [:] }
    let idle = former.filter { !$0.value.isObserved }
    return shownBroadcasters.withLock { broadcasters in
      for (name, broadcaster) in idle where broadcasters.fields[name] === broadcaster && !broadcaster.wasObserved {
        broadcasters.fields[name] = nil
      }
      let broadcaster = broadcasters.fields[field] ?? fresh
      broadcasters.fields[field] = broadcaster
      return broadcaster
    }
  }

  private func broadcaster<Value: Sendable & Equatable>(
    _ path: any WritableKeyPath<ShownBroadcasters, StatusBroadcaster<Value>?> & Sendable,
    _ present: @escaping @Sendable (SharedModel?) -> Value
  ) -> StatusBroadcaster<Value> {
    if let broadcaster = shownBroadcasters.withLock({ $0[keyPath: path] }) { return broadcaster }
    let fresh = StatusBroadcaster<Value>(
      present: { [weak self] in present(self) }, begin: { [weak self] in self?.observers.register($0) })
    return shownBroadcasters.withLock { broadcasters in
      let broadcaster = broadcasters[keyPath: path] ?? fresh
      broadcasters[keyPath: path] = broadcaster
      return broadcaster
    }
  }
}
