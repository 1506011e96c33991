import BindingPeer
import BindingTerminal
import Foundation

/// A form on the terminal: gives keys to its state, does what that says, and draws.
final class FormSession {
  private enum Event: Sendable {
    case screen(FullScreen.Event)
    /// The model, those who are in it, or the link has changed.
    case changed
    case outcome(field: String, PendingWrite, draft: String?, Outcome)
    case said(String)
  }

  private let peer: Peer
  private let model: SharedModel
  private let presence: Presence
  private var state = FormState()
  private let events: AsyncStream<Event>
  private let post: AsyncStream<Event>.Continuation
  /// Whether a change is on its way: many are one drawing.
  private let isChangePosted = Protected(false)
  /// The last write to each field: an outcome of an earlier one says nothing.
  private var writes: [String: PendingWrite] = [:]

  init(peer: Peer, model: SharedModel, presence: Presence) {
    (self.peer, self.model, self.presence) = (peer, model, presence)
    (events, post) = AsyncStream.makeStream(of: Event.self)
  }

  /// Runs until somebody ends it.
  /// - Returns: why the peer has stopped, if it has.
  func run(from field: String?) async throws(Failure) -> StopReason? {
    let post = post
    guard let screen = FullScreen(isColoured: Terminal.isColoured, handler: { post.yield(.screen($0)) }) else {
      throw Failure(.usage, "form needs a terminal. To print values:  bindpeer get \(model.id)")
    }
    defer { screen.close() }
    let changed: @Sendable () -> Void = { [isChangePosted] in
      let isFirst = isChangePosted.withLock { isPosted in
        defer { isPosted = true }
        return !isPosted
      }
      if isFirst { post.yield(.changed) }
    }
    let tokens = [
      model.observe { _, _ in changed() }, presence.observe { _ in changed() }, peer.observeStatus { _ in changed() },
    ]
    defer { for token in tokens { token.cancel() } }
    // Writes are recorded from now on.
    let undoing = model.undoing
    state.update(FormField.all(in: model))
    if let field { state.focus(on: field) }
    announce()
    draw(on: screen)
    for await event in events {
      switch event {
      case .screen(.ended): return nil
      case .screen(.changed): break
      case .screen(.key(let key)):
        let locked = Swift.Set(state.fields.map(\.name).filter { !model.mayWrite($0) })
        for action in state.take(key, model.values, locked: locked) {
          if action == .end { return nil }
          perform(action, undoing)
        }
      case .changed:
        isChangePosted.withLock { $0 = false }
        if case .stopped(let reason) = peer.status.phase { return reason }
        state.update(FormField.all(in: model))
      case .outcome(let field, let write, let draft, let outcome):
        if writes[field] === write { note(outcome, of: field, draft) }
      case .said(let words): state.say(words)
      }
      draw(on: screen)
    }
    return nil
  }

  private func announce() {
    // Others see where this form is; a refusal of that changes nothing here.
    if let focus = state.focus { _ = try? presence.announce(json: .object([.init("field", .string(focus.name))])) }
  }

  // MARK: - Writing

  private func perform(_ action: FormState.Action, _ undoing: SharedModel.Undoing) {
    let post = post
    switch action {
    case .end: break
    case .moved: announce()
    case .undo: Task { post.yield(.said(FormSession.words(await undoing.undo(), "Taken back"))) }
    case .redo: Task { post.yield(.said(FormSession.words(await undoing.redo(), "Written again"))) }
    case .write(let field, let value, let base): write(value, to: field, base)
    }
  }

  private static func words(_ outcome: SharedModel.Undoing.Outcome, _ done: String) -> String {
    switch outcome {
    case .done: "\(done): \(outcome)."
    case .nothing: "There is nothing to take back, or to write again."
    case .failed(let reason): reason
    case .waitCancelled: "\(outcome)"
    }
  }

  private func write(_ value: FieldValue, to field: String, _ base: FieldValue?) {
    let draft = base.map { _ in state.fields.first { $0.name == field }?.typed(value) ?? "" }
    let write: PendingWrite
    do { write = try begin(value, to: field, base) } catch {
      return state.note(field, refused: "\(error)", draft: draft)
    }
    writes[field] = write
    let post = post
    Task { post.yield(.outcome(field: field, write, draft: draft, await write.outcome)) }
  }

  private func begin(_ value: FieldValue, to field: String, _ base: FieldValue?) throws -> PendingWrite {
    if let write = try model.merge(value, into: field, editedFrom: base) { return write }
    return try model.write(Proposal(operations: try model.operations(setting: field, to: value)))
  }

  private func note(_ outcome: Outcome, of field: String, _ draft: String?) {
    switch outcome {
    case .committed, .unchanged, .superseded: state.note(field, refused: nil)
    case .refused(let refusal): state.note(field, refused: refusal.report(on: model.id), draft: draft)
    default: state.note(field, refused: outcome.explanation(of: field), draft: draft)
    }
  }

  // MARK: - Drawing

  private func draw(on screen: FullScreen) {
    let (lines, caret) = FormView(state: state, reading: reading(), size: screen.size).drawing()
    screen.draw(lines, caret: caret)
  }

  private func reading() -> FormReading {
    let (values, status) = (model.values, peer.status)
    var reading = FormReading(model: model.id)
    let others = presence.peers.filter { $0.tag != peer.tag }
    reading.present = others.map { Origin(tag: $0.tag, name: $0.name).fullName }
    reading.isLive = status.isLive && !status.waitsForUpstream
    reading.link = FormSession.words(status)
    for field in state.fields {
      let record = model.record(field.name)
      var known = FormReading.Field(value: values[field.name])
      known.isPending = record?.isPending ?? false
      known.isExpired = record?.isExpired ?? false
      known.isLocked = !model.mayWrite(field.name)
      if let record, record.time > 0, record.origin.tag != peer.tag {
        known.writer = "\(record.origin.attribution) \(Terminal.clock(record.time).prefix(8))"
      }
      known.present = others.filter { $0.announcement?["field"] == .string(field.name) }.map(\.name)
      reading.fields[field.name] = known
    }
    return reading
  }

  private static func words(_ status: PeerStatus) -> String {
    let waiting = status.unconfirmed > 0 ? ", \(status.unconfirmed) pending" : ""
    guard status.isLive else { return "offline\(waiting)" }
    return (status.waitsForUpstream ? "waiting(upstream)" : "live") + waiting
  }
}
