extension ValueSource {
  /// Writes this value into another location, now and each time it changes: one way, on the writing thread.
  /// `celsius.derived { $0 * 9 / 5 + 32 }.assign(to: fahrenheit).store(in: tokens)`
  ///
  /// The target may be an observable, a state, a binding or part of one, or a field shared with other processes. A
  /// value that others write there stays until this value changes. Neither owner is kept alive. The assignment lasts
  /// until the token is cancelled or released, or one of the owners is gone. The writer of each write is passed on.
  ///
  /// - Parameters:
  ///   - target: where the values are written.
  ///   - onProblem: called each time the target refuses a value, on the writing thread.
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
