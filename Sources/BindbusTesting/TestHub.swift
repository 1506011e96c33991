// A test that makes its own hub needs no second import.
@_exported import class BindingHub.Hub

/// Runs a test with a hub of its own, in this process, in memory and without a socket, and stops the hub afterwards.
/// ```swift
/// try await withHub { hub in
///   let app = try Peer(name: "app", hub: .inProcess(hub))
///   let lamp = try await app.share(Lamp.self, id: "lamp", on: .direct)
/// }
/// ```
/// - Throws: what `body` throws; `HubError` if the system has no threads or sockets left.
public func withHub<Result>(_ body: (Hub) async throws -> Result) async throws -> Result {
  let hub = try Hub.embedded()
  defer { hub.stop() }
  return try await body(hub)
}

/// Waits until a condition holds: looks at it every two milliseconds until `timeout` has passed, and at least 50 times,
/// because a busy machine may pause a test for seconds.
/// ```swift
/// #expect(await eventually { theirs.level == 0.8 })
/// ```
/// - Returns: whether it held; false as soon as the task is cancelled.
public func eventually(timeout: Duration = .seconds(20), _ condition: () async throws -> Bool) async rethrows -> Bool {
  let end = ContinuousClock.now + timeout
  var looks = 0
  while try await !condition() {
    looks += 1
    if Task.isCancelled || (looks > 50 && ContinuousClock.now > end) { return false }
    try? await Task.sleep(for: .milliseconds(2))
  }
  return true
}
