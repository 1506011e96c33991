extension ValueSource {
  /// Writes this value into another place, now and each time it changes: one way, on whatever thread writes.
  /// `celsius.derived { $0 * 9 / 5 + 32 }.assign(to: fahrenheit).store(in: tokens)`
  ///
  /// The target may be an observable, a state, a binding or part of one, a field shared with other processes. What is
  /// written there by others stays until this value changes. Neither owner is kept alive. It lasts until the token is
  /// cancelled or released, or one of the two is gone. The writer of a write is passed on.
  ///
  /// - Parameters:
  ///   - target: where the values are written.
  ///   - onProblem: told each time the target does not take a value, on the thread that writes.
  public func assign(
    to target: some BindingSource<Value>, onProblem: (@Sendable (BindingError) -> Void)? = nil
  ) -> ObserverToken {
    let target = target.binding.location
    return location.observe(owner: nil) { value, writer in
      do throws(BindingError) {
        try target.write(value, by: writer)
      } catch {
        if error.reason != .ended { onProblem?(error) }
      }
    }
  }
}
