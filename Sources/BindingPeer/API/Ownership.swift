import BindingModel
public import BindingProtocol

/// This peer's right to approve every other peer's write to a model; see `Model.validate`.
///
/// It ends when it is released or no longer referenced, and with the peer's session.
public final class Ownership: Sendable {
  private let ephemeral: SharedModel
  private let model: SharedModel

  init(of model: SharedModel, in ephemeral: SharedModel) {
    self.model = model
    self.ephemeral = ephemeral
  }

  deinit { release() }

  /// Gives the ownership up: other peers' writes are applied without approval. Harmless when repeated.
  public func release() {
    let wasOwner = model.approver.withLock { approver in
      defer { approver = nil }
      return approver != nil
    }
    // It fails only for a peer that has stopped, whose session owns nothing.
    if wasOwner { _ = try? ephemeral.write(Proposal(operations: [FieldOperation(.delete, Names.owner)])) }
  }
}

/// Why a model's owner refuses a write: `throw RefusalError("turn it on first")`.
public struct RefusalError: Error, Sendable, CustomStringConvertible {
  public var description: String

  /// Creates a refusal with the reason that the writer receives.
  public init(_ reason: String) { description = reason }
}

extension Model {
  /// Makes this peer the model's owner: the hub asks it before it applies any other peer's write.
  ///
  /// - Parameter check: gets the model as the write would leave it, as a detached copy, and the writer. If it throws,
  ///   the write is refused with the error as the reason. It runs on the model's lane, one write after the other; a
  ///   check longer than 2 s refuses the write. So it should only inspect.
  /// - Returns: the ownership; keep it. A model has one owner at most.
  /// - Throws: `FieldError` if the model is not shared, `RefusalError` if this peer owns it already, `WriteError`, or
  ///   `RejectionError` if another peer owns it or the hub does not support owners; `CancellationError` if the task
  ///   is cancelled first: then the request for ownership is withdrawn.
  public func validate(
    _ check: @escaping @Sendable (_ new: Self, _ by: Origin) throws -> Void
  ) async throws -> Ownership {
    guard let model = shared else { throw FieldError.notShared(field: "\(Self.self)") }
    return try await model.own { [weak model] request in
      guard let model else { return nil }
      do {
        try check(Self.detached(from: model, with: request.fields), request.origin)
        return nil
      } catch {
        return "\(error)"
      }
    }
  }

  /// A detached copy of the model, with these values in place of those that show.
  private static func detached(from model: SharedModel, with fields: [ApprovalField]) -> Self {
    let copy = Self()
    let cells = copy.fieldCells
    var values = model.present(cells.map(\.name)).merged
    for field in fields { values[field.name] = field.value }
    for (name, cell) in cells { cell.accept(.init(value: values[name], stamp: 1)) }
    return copy
  }
}

extension SharedModel {
  /// Makes this peer the owner of a model without types, as `Model.validate` does: `approve` returns the reason to
  /// refuse a write, or nil.
  public func own(_ approve: @escaping @Sendable (ApprovalRequest) -> String?) async throws -> Ownership {
    let ephemeral = self.ephemeral
    let isFirst = approver.withLock { approver in
      defer { approver = approver ?? approve }
      return approver == nil
    }
    guard isFirst else { throw RefusalError("this peer already owns \(id); release that ownership first") }
    let value = FieldValue(json: .string(peer.name))
    let claim = try ephemeral.write(Proposal(operations: [FieldOperation(.set, Names.owner, value)]))
    do {
      _ = try await claim.committed
    } catch {
      approver.withLock { $0 = nil }
      guard error.isWaitCancelled else { throw error }
      // The claim may yet be granted: this write, which follows it, gives it up.
      _ = try? ephemeral.write(Proposal(operations: [FieldOperation(.delete, Names.owner)]))
      throw CancellationError()
    }
    return Ownership(of: self, in: ephemeral)
  }
}

extension PeerRuntime {
  /// Answers for the model's owner, on its lane. A peer that owns nothing any more approves every write.
  func answer(_ request: ApprovalRequest, of model: SharedModel?) {
    let approver = model?.approver.withLock { $0 }
    (model?.lane ?? .direct).run { [self] in
      let reason = approver?(request)
      perform { state, now in state.session.answer(request, refusing: reason, now: now, into: &state.effects) }
    }
  }
}
