import BindingHub
import BindingWeb
import Logging
import Testing

@Suite("A gateway that runs in a task")
struct GatewayRunTests {
  private let hub: Hub

  init() throws { hub = try Hub.embedded() }

  @Test("it serves for as long as its task, and its address is free then")
  func cancelled() async throws {
    let first = try gateway(at: "127.0.0.1:0")
    let serving = Task { try await first.run() }
    try #require(await serves(first))
    serving.cancel()
    try await serving.value
    let second = try gateway(at: first.address)
    try second.start()
    second.stop()
  }

  @Test("its run ends where it is stopped, and throws why it cannot listen")
  func stopped() async throws {
    let first = try gateway(at: "127.0.0.1:0")
    let serving = Task { try await first.run() }
    try #require(await serves(first))
    let second = try gateway(at: first.address)
    await #expect(throws: WebError.self) { try await second.run() }
    first.stop()
    try await serving.value
  }

  /// Whether it serves before long. It starts on a thread of the tasks, which must not be blocked.
  private func serves(_ gateway: WebGateway) async -> Bool {
    for _ in 0..<2_000 where gateway.url.isEmpty { try? await Task.sleep(for: .milliseconds(10)) }
    return !gateway.url.isEmpty
  }

  private func gateway(at address: String) throws -> WebGateway {
    var configuration = WebGateway.Configuration()
    configuration.address = try WebAddress(address)
    return WebGateway(
      hub: hub, configuration: configuration, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
  }
}
