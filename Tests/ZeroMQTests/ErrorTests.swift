import Foundation
import Testing

@testable import ZeroMQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@Suite("Errors")
struct ErrorTests {
  let context: Context

  init() throws { context = try Context() }

  /// Returns the error of binding to this endpoint.
  func errorOfBinding(_ endpoint: String) throws -> ZeroMQError {
    let socket = try Socket(.router, in: context)
    do throws(ZeroMQError) { try socket.bind(endpoint) } catch { return error }
    throw TookTooLong(description: "\(endpoint) was bound")
  }

  @Test("a busy port is reported with name, call, endpoint and a remedy")
  func busyPort() throws {
    let first = try Socket.listening(.router, in: context)
    let endpoint = try first.lastEndpoint()
    let error = try errorOfBinding(endpoint)
    #expect(error.code == EADDRINUSE)
    #expect(error.name == "EADDRINUSE")
    #expect(error.call == "zmq_bind")
    #expect(error.subject == endpoint)
    #expect(error.hint?.contains("another port") == true)
    #expect(error.description.hasPrefix("zmq_bind \(endpoint): Address already in use (EADDRINUSE). "))
  }

  @Test("a missing directory, a malformed endpoint, a long path and an unknown transport have distinct errors")
  func refusedEndpoints() throws {
    let directory = try TemporaryDirectory()
    #expect(try errorOfBinding("ipc://\(directory.path)/none/hub.sock").name == "ENOENT")
    #expect(try errorOfBinding("nonsense").name == "EINVAL")
    #expect(try errorOfBinding("tcp://127.0.0.1:http:").name == "EINVAL")
    let long = String(repeating: "x", count: 200)
    #expect(try errorOfBinding("ipc://\(directory.path)/\(long)").name == "ENAMETOOLONG")
    #expect(try errorOfBinding("carrier-pigeon://here").name == "EPROTONOSUPPORT")
  }

  @Test(
    "common errors have a name and a remedy",
    arguments: [
      (EADDRINUSE, "EADDRINUSE"), (EADDRNOTAVAIL, "EADDRNOTAVAIL"), (EACCES, "EACCES"), (ENOENT, "ENOENT"),
      (EINVAL, "EINVAL"), (EMFILE, "EMFILE"), (ENAMETOOLONG, "ENAMETOOLONG"), (EPROTONOSUPPORT, "EPROTONOSUPPORT"),
      (EEXIST, "EEXIST"), (156_384_765, "ETERM"), (156_384_764, "ENOCOMPATPROTO"),
    ])
  func namesAndCures(code: Int32, name: String) {
    let error = ZeroMQError(code: code, call: "zmq_bind")
    #expect(error.name == name)
    #expect(error.hint?.isEmpty == false)
    #expect(!error.message.isEmpty)
    #expect(error.description.hasPrefix("zmq_bind: "))
  }

  @Test("an unknown error number is shown as a number")
  func unknownNumber() {
    #expect(ZeroMQError(code: 98_765, call: "zmq_bind").name == "E98765")
    #expect(ZeroMQError(code: 98_765, call: "zmq_bind").hint == nil)
  }

  @Test("binding to a path leaves an ordinary file there in place")
  func ordinaryFileStays() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/precious"
    try "do not lose".write(toFile: path, atomically: true, encoding: .utf8)
    #expect(try errorOfBinding("ipc://\(path)").name == "EEXIST")
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "do not lose")
  }

  @Test("a socket file left by a dead process is taken over")
  func staleSocketFile() throws {
    let directory = try TemporaryDirectory()
    let endpoint = "ipc://\(directory.path)/hub.sock"
    // libzmq leaves the file behind at every close, as a killed process would.
    do { _ = try Socket.listening(.router, in: context, at: endpoint) }
    #expect(access(directory.path + "/hub.sock", F_OK) == 0)
    let router = try Socket.listening(.router, in: context, at: endpoint)
    let dealer = try Socket.connected(.dealer, in: context, to: endpoint)
    try dealer.send([7])
    #expect(try router.receiveRouted().bytes == [7])
  }
}
