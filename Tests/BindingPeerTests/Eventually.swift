/// Polls until `condition` holds, for 20 s and at least 50 times: among many concurrent tests a pause may take
/// seconds.
func eventually(_ condition: () -> Bool) async -> Bool {
  let end = ContinuousClock.now + .seconds(20)
  var looks = 0
  while !condition() {
    looks += 1
    if looks > 50, ContinuousClock.now > end { return false }
    try? await Task.sleep(for: .milliseconds(2))
  }
  return true
}
