import BindingModel

/// Carries a value past the compiler's check for crossing threads.
// SAFETY: used for closures that run on the lane they were written on, and for the values that such closures receive.
// A source of values that are not Sendable is not Sendable itself, so it is written where its closures are.
struct Unshared<Content>: @unchecked Sendable {
  let content: Content
}

extension Lane {
  /// The lane on which code of this isolation runs.
  ///
  /// Outside any actor the main thread stands for the main actor, as in programs older than actors. Off the main
  /// thread the lane of a closure is unknown: it runs where the value is written, so write the value there only.
  static func of(_ isolation: (any Actor)?) -> Lane {
    guard let isolation else { return Lane.main.isCurrent ? .main : .direct }
    if isolation === MainActor.shared { return .main }
    return Lane(
      isCurrent: { false }, enqueue: { [weak isolation] work in Task { await isolation?.run(work) } })
  }
}

extension Actor {
  fileprivate func run(_ work: @Sendable () -> Void) { work() }
}

extension BindingSource {
  /// Observes with a closure that runs where it was written, as long as `owner` lives, from the
  /// present value on.
  func observeHere(
    owner: AnyObject, isolation: (any Actor)?, _ body: @escaping (Value) -> Void
  ) -> ObserverToken {
    let body = Unshared(content: body)
    return LaneDelivery<Unshared<Value>>(lane: .of(isolation)) { body.content($0.content) }
      .observe(binding.location, owner: owner) { Unshared(content: $0) }
  }

  /// Observes later values with a closure that runs where it was written, as long as `owner` lives.
  func observeLaterHere(
    owner: AnyObject, isolation: (any Actor)?, _ body: @escaping (Value) -> Void
  ) -> ObserverToken {
    var isFirst = true
    return observeHere(owner: owner, isolation: isolation) { value in
      if isFirst { isFirst = false } else { body(value) }
    }
  }
}
