public import BindingModel
public import BindingProtocol

/// Why a peer cannot share a model.
public enum ShareError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The id is not a valid model id.
  case badID(WireError)
  /// A stored property is not a `@Field`, a field's name is invalid, or two fields have the same name.
  case badModel(type: String, problem: String)
  /// The peer has ended permanently: it was closed, or the hub ended it.
  case stopped(StopReason)

  public var description: String {
    switch self {
    case .badID(let error): "the model's id \(error.problem)"
    case .badModel(let type, let problem): "\(type) cannot be shared: \(problem)"
    case .stopped(let reason): "this peer has stopped (\(reason)); start a new one"
    }
  }
}

extension Peer {
  /// Creates a model of a type and connects it to an id, for this process to read, write and observe.
  ///
  /// ```swift
  /// let lamp = try await peer.share(Lamp.self, id: "lamp")                                  // for a user interface
  /// let same = try await peer.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(3))   // for a tool
  /// ```
  /// Works with and without a hub. With one, it returns when the model shows the hub's values; without, after
  /// `timeout`, and the model catches up later. A model that was kept on disk (`Peer.Keeping`) is returned immediately
  /// with the last known values, which are stale until the hub's arrive. The first peer to share a model writes its
  /// description and defaults; both yield to what exists. A cancelled task stops waiting and gets the model as it is.
  /// - Parameters:
  ///   - lane: where observers run: the main queue, a queue of the program, or the thread that delivers (`.direct`,
  ///     for tools).
  ///   - timeout: how long to wait for a hub's values.
  /// - Throws: `ShareError` if a stored property is not a `@Field` (it is named), the id is invalid, or this peer has
  ///   stopped.
  public func share<Shared: Model>(
    _ type: Shared.Type, id: String, on lane: Lane = .main, timeout: Duration = .seconds(1)
  ) async throws(ShareError) -> Shared {
    let (instance, proposed) = try attach(type, id: id, on: lane)
    guard let model = instance.shared else { return instance }
    let isKept = model.isKept
    // What the program writes next is decided under its own declaration.
    if !isKept, await model.whenCurrent(timeout: timeout) { await proposed.value }
    let fields = Dictionary(grouping: instance.fieldCells) { $0.cell.sharedModel?.id }
    if !isKept, let ephemeral = fields[Names.ephemeral(id)]?.first?.cell.sharedModel {
      _ = await ephemeral.whenCurrent(timeout: timeout)
    }
    // The lane may not have delivered what the hub sent; a caller that has waited for it finds it here.
    for cells in fields.values { cells.first?.cell.sharedModel?.showPresent(cells) }
    if case .stopped(let reason) = status.phase { throw .stopped(reason) }
    return instance
  }

  /// Shares a model without waiting for the hub's values.
  /// - Returns: the model, and a task that ends when its declaration is proposed to a hub.
  func attach<Shared: Model>(
    _ type: Shared.Type, id: String, on lane: Lane
  ) throws(ShareError) -> (Shared, proposed: Task<Void, Never>) {
    let model = try self.model(id, on: lane)
    let instance = Shared()
    let fields = instance.fieldCells
    if let other = Mirror(reflecting: instance).children.first(where: { !($0.value is any AnyField) })?.label {
      let other = other.hasPrefix("_") ? String(other.dropFirst()) : other
      throw .badModel(type: "\(type)", problem: "\(other) is not a @Field; write '@Field var \(other)'")
    }
    guard !fields.isEmpty else { throw .badModel(type: "\(type)", problem: "it has no @Field") }
    var names: Swift.Set<String> = []
    for (name, cell) in fields {
      if let problem = cell.misdeclaration { throw .badModel(type: "\(type)", problem: "'\(name)' \(problem)") }
      do throws(WireError) { try Names.checkField(name) } catch {
        throw .badModel(type: "\(type)", problem: "'\(name)' is not a field name: it \(error.problem)")
      }
      guard names.insert(name).inserted else {
        throw .badModel(type: "\(type)", problem: "two fields are named '\(name)'")
      }
    }
    for (alias, stored) in instance.fieldAliases {
      do throws(WireError) { try Names.checkField(alias) } catch {
        throw .badModel(type: "\(type)", problem: "'\(alias)' is not a field name: it \(error.problem)")
      }
      guard !names.contains(alias) else {
        throw .badModel(type: "\(type)", problem: "'\(alias)', which was '\(stored)', is the name of another field")
      }
    }
    let ephemeral = fields.filter { $0.cell.description.isEphemeral }
    let stored = fields.filter { !$0.cell.description.isEphemeral }
    for (model, cells) in [(model, stored)] + (ephemeral.isEmpty ? [] : [(model.ephemeral, ephemeral)]) {
      DeclaredLimits(of: cells).declare(to: model)
      for (name, cell) in cells where cell.attach(to: model, as: name) { model.observers.add(cell, to: name) }
      model.showPresent(cells)
      model.showRejections()
    }
    let declaration = Declaration(fields, release: Shared.release, aliases: instance.fieldAliases)
    return (instance, describe(model, as: declaration))
  }

  /// All models of one type below a prefix, as an observable collection.
  /// - Parameter prefix: ends in `/`, as `lamps/`.
  /// - Throws: `ShareError` if the prefix is invalid, or this peer has stopped.
  public func models<Shared: Model>(
    _ type: Shared.Type, under prefix: String, on lane: Lane = .main
  ) throws(ShareError) -> ModelCollection<Shared> {
    try ModelCollection(peer: self, prefix: prefix, lane: lane)
  }
}

extension SharedModel {
  /// Whether it shows values from a keep file, and was not current since.
  fileprivate var isKept: Bool { runtime.state.withLock { $0.session.isFromFile(id) } }

  /// Shows newly connected fields what the replica holds: another part of the program may have joined the model
  /// before.
  fileprivate func showPresent(_ fields: [(name: String, cell: any AnyFieldCell)]) {
    observers.show(present(fields.map(\.name)), in: fields)
  }
}
