import ArgumentParser
import BindingHub
import BindingKeys
import BindingPeer
import BindingTerminal
import Foundation
import ZeroMQ

/// Looks at all that a peer needs.
struct Doctor: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Check what a peer needs: libzmq, address, hub, protocol, clock, rights and disk.",
    discussion: """
      Writes nothing, and sends nothing that an outbox holds. Exit code 1: something is bad. What is bad or doubtful \
      names its cure.
      """)

  @OptionGroup var common: CommonOptions
  @Argument(help: "MODEL or MODEL.FIELD, to check what this user may do there.")
  var address: String?

  mutating func run() async throws {
    let named = try address.map { text throws(Failure) in try Address(text) }
    if let named, named.isPrefix || named.element != nil {
      throw Failure(.usage, "doctor checks one model or one field")
    }
    var isBad = false
    func note(_ findings: [Finding]) {
      for finding in findings { finding.print(asJSON: common.json) }
      isBad = isBad || findings.contains { $0.grade == .bad }
    }
    note([.libzmq(Context.libraryVersion, hasEncryption: Context.canEncrypt)])
    note([.openFiles(OpenFiles.limit)])
    note(keeping())
    note(await hub(named))
    if isBad { Terminal.leave(.no) }
  }

  /// The folder of the outbox or the kept replicas.
  private func keeping() -> [Finding] {
    guard let path = common.outboxPath else { return [] }
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    guard access(folder, W_OK) == 0 else {
      return [
        Finding(
          .bad, "outbox", "no file can be made in \(folder): \(StandardStreams.words(errno))",
          cure: "Make that folder, or choose another file")
      ]
    }
    return [.space("outbox", folder, free: Doctor.free(folder))]
  }

  private static func free(_ folder: String) -> Int {
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: folder)
    return (attributes?[.systemFreeSize] as? NSNumber)?.intValue ?? .max
  }

  /// Where the hub should be, and what it says.
  private func hub(_ named: Address?) async -> [Finding] {
    let (peer, addresses): (Peer, [HubAddress])
    do throws(Failure) { (peer, addresses) = (try common.makePeer(common.name), try common.addresses()) } catch {
      return [Finding(.bad, "address", PrintedText.escaped(error.text))]
    }
    let source = common.hub != nil ? "--hub" : Terminal.environment("BINDPEER_HUB") == nil ? "default" : "BINDPEER_HUB"
    let places = addresses.map(\.description).joined(separator: ", ")
    var findings = [Finding(.good, "address", "\(places), from \(source)")]
    defer { Task { await peer.close(flush: .zero) } }
    guard await common.isLive(peer), let welcome = peer.welcome else {
      return findings + [unreachable(peer, addresses)]
    }
    let now = UInt64(Date().timeIntervalSince1970 * 1_000)
    let time = await peer.ping(timeout: common.timeout.duration)
    let roundTrip = time.map { ", round trip \(($0 / .milliseconds(1)).formatted(places: 1)) ms" } ?? ""
    findings.append(
      Finding(
        .good, "hub", "\(PrintedText.escaped(welcome.hub)) at \(peer.status.hub ?? places)\(roundTrip)"))
    findings.append(.grammar(welcome.capabilities, own: Capability.draft))
    findings.append(.clock(aheadBy: Int64(clamping: welcome.now) - Int64(clamping: now)))
    findings += warnings(peer.status)
    findings += await rights(named, peer)
    return findings + store(peer.status)
  }

  private func unreachable(_ peer: Peer, _ addresses: [HubAddress]) -> Finding {
    let failure = common.noHub(peer)
    let lines = failure.text.split(separator: "\n", maxSplits: 1).map(String.init)
    for address in addresses where address.transport == .ipc {
      let path = address.hostOrPath
      if access(path, F_OK) == 0, access(path, W_OK) != 0 {
        return Finding(
          .bad, "hub", "\(path) belongs to another user, who alone may connect",
          cure: "Run it as that user, or have the hub listen at tcp:// with keys")
      }
    }
    return Finding(.bad, "hub", lines[0], cure: lines.count > 1 ? lines[1] : nil)
  }

  private func warnings(_ status: PeerStatus) -> [Finding] {
    var findings: [Finding] = []
    if status.isInsecure {
      findings.append(
        Finding(
          .doubtful, "access", "every client on the network may read and write everything, and nothing is encrypted",
          cure: "bindhub invite NAME makes keys; then serve without --insecure"))
    }
    if status.waitsForUpstream {
      findings.append(
        Finding(
          .bad, "upstream", "the hub does not reach the hub or the log behind it: values may be old, and writes wait",
          cure: "bindhub status names the reason"))
    }
    return findings
  }

  /// What this user may do with the named model.
  private func rights(_ named: Address?, _ peer: Peer) async -> [Finding] {
    guard let named else { return [] }
    guard let model = try? peer.model(named.model), await model.whenCurrent(timeout: common.timeout.duration) else {
      let reason = await ModelReader(peer: peer, timeout: common.timeout).refusal(of: named.model)
      return [Finding(.bad, "rights", reason ?? "\(named.model) did not arrive", cure: "Ask who runs the hub")]
    }
    let fields = named.field.map { [model.storedName(of: $0)] } ?? model.fields.keys.sorted()
    let locked = fields.filter { !model.mayWrite($0) }
    guard !locked.isEmpty else { return [Finding(.good, "rights", "reads and writes \(named.description)")] }
    let all = locked.count == fields.count
    return [
      Finding(
        all ? .bad : .doubtful, "rights",
        "reads \(named.model), and may not write \(all ? "it" : locked.joined(separator: ", "))",
        cure: "Ask who runs the hub for the right; bindhub access shows them there")
    ]
  }

  /// What the hub says of its store; nothing if this user may not ask.
  private func store(_ status: PeerStatus) -> [Finding] {
    let member = (common.hub ?? HubAddress.namedInEnvironment).flatMap { try? KnownHub(named: $0) }
    guard let hub = status.hub, let address = try? HubAddress(hub),
      case .report(let report) = HubStatus.answer(from: address, as: member, timeout: common.timeout.duration),
      report["upstream"] == nil, let store = report["store"]
    else { return [] }
    guard case .string(let path)? = store["path"] else {
      let cure = "Omit --store memory and --durability memory of bindhub serve to keep them"
      return [Finding(.doubtful, "store", "memory: values are lost when the hub ends", cure: cure)]
    }
    if store["isFull"] == .bool(true) {
      return [Finding(.bad, "store", "\(path) has no room: writes wait", cure: "Make room on the hub's disk")]
    }
    let grade = status.durability.map { ", durability \($0)" } ?? ""
    // Of a hub on this machine the disk can be seen.
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
    guard FileManager.default.fileExists(atPath: path) else { return [Finding(.good, "store", path + grade)] }
    return [.space("store", path + grade, free: Doctor.free(folder))]
  }
}
