import BindingModel
public import BindingProtocol

/// What of a model is read without types, where somebody wants to hear when it is another: made for the first of them.
struct ShownBoards: Sendable {
  fileprivate var fields: [String: StatusBoard<FieldValue?>] = [:]
  fileprivate var values: StatusBoard<[String: FieldValue]>?
  fileprivate var isCurrent: StatusBoard<Bool>?

  fileprivate static let many = 64
}

extension SharedModel {
  /// The field's shown value; nil if it has none. Read inside `withObservationTracking`, `Observations` or a SwiftUI
  /// view it is tracked, inside a `Derived` it is one of its sources; so are `values` and `isCurrent`. Who tracks hears
  /// on the model's lane.
  public subscript(field: String) -> FieldValue? {
    ReadTracking.current == .nobody ? shown(field) : board(of: field).read()
  }

  /// The shown values of all fields, the protocol's own (`@description`) among them.
  public var values: [String: FieldValue] {
    ReadTracking.current == .nobody
      ? shownValues : board(\.values) { model in model?.shownValues ?? [:] }.read()
  }

  /// Whether the committed values are complete: the link is up and no catch-up is under way.
  public var isCurrent: Bool {
    ReadTracking.current == .nobody
      ? isCurrentNow : board(\.isCurrent) { model in model?.isCurrentNow ?? false }.read()
  }

  /// The field's shown value, for whoever need not hear of another.
  func shown(_ field: String) -> FieldValue? { runtime.state.withLock { $0.session.shown(id, field) } }

  private var shownValues: [String: FieldValue] { runtime.state.withLock { $0.session.shownValues(id) } }

  private var isCurrentNow: Bool { runtime.state.withLock { $0.session.isCurrent(id) } }

  private func board(of field: String) -> StatusBoard<FieldValue?> {
    if let board = shownBoards.withLock({ $0.fields[field] }) { return board }
    let fresh = StatusBoard<FieldValue?>(
      present: { [weak self] in self?.shown(field) }, begin: { [weak self] in self?.watch($0) })
    // Names that were asked for once are not kept for ever. Who tells no reader is made anew for the next one.
    let former = shownBoards.withLock { $0.fields.count >= ShownBoards.many ? $0.fields : [:] }
    let idle = former.filter { !$0.value.isWatched }
    return shownBoards.withLock { boards in
      for (name, board) in idle where boards.fields[name] === board && !board.wasWatched { boards.fields[name] = nil }
      let board = boards.fields[field] ?? fresh
      boards.fields[field] = board
      return board
    }
  }

  private func board<Value: Sendable & Equatable>(
    _ path: any WritableKeyPath<ShownBoards, StatusBoard<Value>?> & Sendable,
    _ present: @escaping @Sendable (SharedModel?) -> Value
  ) -> StatusBoard<Value> {
    if let board = shownBoards.withLock({ $0[keyPath: path] }) { return board }
    let fresh = StatusBoard<Value>(
      present: { [weak self] in present(self) }, begin: { [weak self] in self?.watch($0) })
    return shownBoards.withLock { boards in
      let board = boards[keyPath: path] ?? fresh
      boards[keyPath: path] = board
      return board
    }
  }
}
