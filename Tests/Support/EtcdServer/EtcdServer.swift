package import Foundation
import Synchronization

/// Processes of etcd in a temporary folder, on free ports. They end with this object.
package final class EtcdServer: Sendable {
  package struct Node: Sendable {
    package var name: String
    package var clientPort: Int
    package var peerPort: Int
    var arguments: [String]
  }
  /// A process cannot be started.
  package struct StartError: Error, CustomStringConvertible {
    package var description: String

    package init(description: String) { self.description = description }
  }

  package let nodes: [Node]
  package let folder: URL
  private let processes: Mutex<[pid_t?]>

  /// Starts a cluster and waits until it has a leader.
  /// - Parameter flags: more arguments, by the number of the node.
  package init(nodes count: Int = 1, flags: (Int) -> [String] = { _ in [] }, scheme: String = "http") throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("bindetcd-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let ports = try FreePorts.find(2 * count)
    let cluster = (0..<count).map { "n\($0)=http://127.0.0.1:\(ports[2 * $0 + 1])" }.joined(separator: ",")
    let folder = folder
    nodes = (0..<count).map { index in
      let (client, peer) = (ports[2 * index], ports[2 * index + 1])
      let arguments =
        [
          "--name", "n\(index)", "--data-dir", folder.appendingPathComponent("n\(index)").path,
          "--listen-client-urls", "\(scheme)://127.0.0.1:\(client)",
          "--advertise-client-urls", "\(scheme)://127.0.0.1:\(client)",
          "--listen-peer-urls", "http://127.0.0.1:\(peer)",
          "--initial-advertise-peer-urls", "http://127.0.0.1:\(peer)",
          "--initial-cluster", cluster, "--logger", "zap", "--log-outputs",
          folder.appendingPathComponent("n\(index).log").path,
        ] + flags(index)
      return Node(name: "n\(index)", clientPort: client, peerPort: peer, arguments: arguments)
    }
    processes = Mutex(Array(repeating: nil, count: count))
    for index in nodes.indices { try start(index) }
  }

  deinit {
    for index in nodes.indices { kill(index) }
    try? FileManager.default.removeItem(at: folder)
  }

  package var addresses: String { nodes.map { "127.0.0.1:\($0.clientPort)" }.joined(separator: ",") }

  package func start(_ index: Int) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in [0, 1, 2] as [Int32] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    var process: pid_t = 0
    var words: [UnsafeMutablePointer<CChar>?] = (["etcd"] + nodes[index].arguments).map { strdup($0) }
    words.append(nil)
    defer { for word in words { free(word) } }
    let result = posix_spawnp(&process, "etcd", &actions, nil, words, environ)
    guard result == 0 else {
      throw StartError(description: "etcd cannot be started: scripts/setup --etcd installs it")
    }
    processes.withLock { $0[index] = process }
  }

  /// Ends a node as a loss of power would.
  package func kill(_ index: Int) { send(SIGKILL, index, ends: true) }
  package func pause(_ index: Int) { send(SIGSTOP, index, ends: false) }
  package func resume(_ index: Int) { send(SIGCONT, index, ends: false) }

  private func send(_ signal: Int32, _ index: Int, ends: Bool) {
    guard
      let process = processes.withLock({ processes in
        defer { if ends { processes[index] = nil } }
        return processes[index]
      })
    else { return }
    Foundation.kill(process, signal)
    if ends {
      var status: Int32 = 0
      waitpid(process, &status, 0)
    }
  }

  /// Runs etcdctl.
  @discardableResult package func control(_ arguments: String..., user: String? = nil) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["etcdctl", "--endpoints", addresses, "--command-timeout", "20s", "--dial-timeout", "20s"]
      + (user.map { ["--user", $0] } ?? []) + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(["ETCDCTL_API": "3"]) { $1 }
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw StartError(description: "etcdctl \(arguments.joined(separator: " ")): \(text)")
    }
    return text
  }
}

/// Ports of this machine that nobody listens to.
package enum FreePorts {
  package static func find(_ count: Int) throws -> [Int] {
    var sockets: [Int32] = []
    defer { for socket in sockets { close(socket) } }
    return try (0..<count).map { _ in
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      sockets.append(descriptor)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = inet_addr("127.0.0.1")
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let port: in_port_t? = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { plain in
          guard bind(descriptor, plain, length) == 0, getsockname(descriptor, plain, &length) == 0 else { return nil }
          return pointer.pointee.sin_port
        }
      }
      guard let port else { throw EtcdServer.StartError(description: "no free port") }
      return Int(in_port_t(bigEndian: port))
    }
  }
}
