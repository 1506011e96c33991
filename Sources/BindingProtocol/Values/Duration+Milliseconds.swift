extension Duration {
  /// In milliseconds, rounded up; 0 for a negative duration.
  package var wholeMilliseconds: UInt64 {
    guard self > .zero else { return 0 }
    let (seconds, attoseconds) = components
    return UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000).partialValue
      &+ UInt64((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }
}
