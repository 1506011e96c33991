public import BindingModel
public import BindingProtocol

/// Why a peer gives no model.
public enum ShareError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The id is no model's.
  case badID(WireError)
  /// A stored property is no `@Field`, a name is no field's, or two fields have one name.
  case badModel(type: String, problem: String)
  /// The peer has ended for good: it was closed, or the hub ended it.
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
  /// Makes a model of that type and ties it to the id, for this process to read, write and observe.
  ///
  /// ```swift
  /// let lamp = try await peer.share(Lamp.self, id: "lamp")                                  // for a user interface
  /// let same = try await peer.share(Lamp.self, id: "lamp", on: .direct, timeout: .seconds(3))   // for a tool
  /// ```
  /// Works with and without a hub. With one, it returns when the model shows what the hub has; without, after
  /// `timeout`, and catches up later. The first to share a model writes its description and defaults; both yield to
  /// what is there. A task that is cancelled waits no longer and gets the model as it is.
  /// - Parameters:
  ///   - lane: where observers run: the main queue, a queue of yours, or whichever thread brings the news (`.direct`,
  ///     for tools).
  ///   - timeout: how long to wait for a hub's values.
  /// - Throws: `ShareError`: a stored property is no `@Field` (it is named), the id is none, or this peer has stopped.
  public func share<Shared: Model>(
    _ type: Shared.Type, id: String, on lane: Lane = .main, timeout: Duration = .seconds(1)
  ) async throws(ShareError) -> Shared {
    let instance = try attach(type, id: id, on: lane)
    guard let model = instance.shared else { return instance }
    _ = await model.whenCurrent(timeout: timeout)
    let fields = Dictionary(grouping: instance.fieldCells) { $0.cell.sharedModel?.id }
    if let ephemeral = fields[Names.ephemeral(id)]?.first?.cell.sharedModel {
      _ = await ephemeral.whenCurrent(timeout: timeout)
    }
    // The lane may not have got to what the hub sent; whoever has waited for it finds it here.
    for cells in fields.values { cells.first?.cell.sharedModel?.showPresent(cells) }
    if case .stopped(let reason) = status.phase { throw .stopped(reason) }
    return instance
  }

  /// `share` without waiting.
  func attach<Shared: Model>(_ type: Shared.Type, id: String, on lane: Lane) throws(ShareError) -> Shared {
    let model = try self.model(id, on: lane)
    let instance = Shared()
    let fields = instance.fieldCells
    if let other = Mirror(reflecting: instance).children.first(where: { !($0.value is any AnyField) })?.label {
      let other = other.hasPrefix("_") ? String(other.dropFirst()) : other
      throw .badModel(type: "\(type)", problem: "\(other) is not a @Field; write '@Field var \(other)'")
    }
    guard !fields.isEmpty else { throw .badModel(type: "\(type)", problem: "it has no @Field") }
    var names: Swift.Set<String> = []
    for (name, _) in fields {
      do throws(WireError) { try Names.checkField(name) } catch {
        throw .badModel(type: "\(type)", problem: "'\(name)' is no field name: it \(error.problem)")
      }
      guard names.insert(name).inserted else {
        throw .badModel(type: "\(type)", problem: "two fields are named '\(name)'")
      }
    }
    let ephemeral = fields.filter { $0.cell.description.isEphemeral }
    let stored = fields.filter { !$0.cell.description.isEphemeral }
    for (model, cells) in [(model, stored)] + (ephemeral.isEmpty ? [] : [(model.ephemeral, ephemeral)]) {
      for (name, cell) in cells { _ = model.attach(cell, as: name) }
      model.showPresent(cells)
    }
    describe(model, as: fields)
    return instance
  }

  /// All models of one type below a prefix, as a collection that can be observed.
  /// - Parameter prefix: ends in `/`, as `lamps/`.
  /// - Throws: `ShareError` if it is no prefix, or this peer has stopped.
  public func models<Shared: Model>(
    _ type: Shared.Type, under prefix: String, on lane: Lane = .main
  ) throws(ShareError) -> ModelCollection<Shared> {
    try ModelCollection(peer: self, prefix: prefix, lane: lane)
  }
}

extension SharedModel {
  /// Shows fields that were just tied what the replica holds already: another part of the program may have joined the
  /// model before.
  func showPresent(_ fields: [(name: String, cell: any AnyFieldCell)]) {
    let present = present(fields.map(\.name))
    staged.withLock { staged in
      for name in present.ours { staged.fields.index(of: name).map { staged.fields[at: $0].isOurs = true } }
    }
    for (name, cell) in fields {
      cell.accept(.init(value: present.merged[name], stamp: present.stamp, isOurs: present.ours.contains(name)))
      cell.publish()
    }
  }
}
