#if Etcd
  import BindbusTesting
  import BindingPeer
  import EtcdServer
  import Foundation
  import Testing

  /// Several hubs over one log in etcd.
  final class Cluster {
    let bench: Bench
    let etcd: EtcdServer
    let hubs: [String]

    init(nodes: Int = 1, hubs count: Int = 2) throws {
      bench = try Bench()
      etcd = try EtcdServer(nodes: nodes)
      let folder = bench.folder.path
      hubs = (0..<count).map { "ipc://\(folder)/hub\($0).sock" }
    }

    var store: String { "etcd://\(etcd.addresses)/shop" }

    func start(_ index: Int, store: String? = nil, _ more: [String] = []) throws -> RunningProcess {
      let running = try RunningProcess(
        Bench.program("bindhub"),
        ["serve", "--listen", hubs[index], "--store", store ?? self.store, "--exit-with-stdin", "--log", "error"]
          + more)
      try #require(running.line { $0.hasPrefix("listening") } != nil, "\(running.output)")
      return running
    }

    /// What tells a hub where the others are.
    var siblings: [String] { hubs.flatMap { ["--sibling", $0] } }

    /// - Parameter withSiblings: whether each hub is told where the others are.
    func startAll(withSiblings: Bool = false) throws -> [RunningProcess] {
      try hubs.indices.map { index in try start(index, withSiblings ? siblings : []) }
    }

    /// Runs `bindpeer` at a hub to its end.
    @discardableResult
    func run(_ hub: Int, _ arguments: String...) throws -> (code: Int32?, output: String) { try run(hub, arguments) }

    @discardableResult
    func run(_ hub: Int, _ arguments: [String]) throws -> (code: Int32?, output: String) {
      let running = try RunningProcess(Bench.program("bindpeer"), arguments, hub: hubs[hub])
      let code = running.end()
      return (code, running.output.joined(separator: "\n"))
    }

    /// Runs `bindhub` to its end.
    @discardableResult
    func bindhub(_ hub: Int, _ arguments: String...) throws -> (code: Int32?, output: String) {
      let running = try RunningProcess(Bench.program("bindhub"), arguments, hub: hubs[hub])
      let code = running.end()
      return (code, running.output.joined(separator: "\n"))
    }

    /// What each hub gives as the latest of a field.
    func latest(_ field: String) throws -> [String] {
      try hubs.indices.map { try run($0, "get", field, "--latest", "--raw").output }
    }

    /// A counter of a hub.
    func counter(_ name: String, _ hub: Int) throws -> Int {
      let status = try bindhub(hub, "status", "--json", "--timeout", "20000").output
      let object = try JSONSerialization.jsonObject(with: Data(status.utf8)) as? [String: Any]
      return ((object?["counters"] as? [String: Any])?[name] as? Int) ?? 0
    }

    func status(_ hub: Int) throws -> String { try bindhub(hub, "status", "--timeout", "20000").output }

    /// Records of a model that etcd keeps beside its chunks.
    func records(of model: String) throws -> Int {
      let keys = try etcd.control("get", "--prefix", "shop/r/\(model)", "--keys-only", "-w", "json")
      return keys.components(separatedBy: #""key":"#).count - 1
    }
  }
#endif
