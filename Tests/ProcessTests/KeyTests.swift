import BindbusTesting
import Foundation
import Testing
import ZeroMQ

/// Two users of different machines: each has a configuration folder of its own, and they share a network only.
@Suite("Keys and invitations, between processes", .serialized)
struct KeyTests {
  private let users: KeyedUsers

  init() throws { users = try KeyedUsers() }

  @Test("an invited user joins with one command, and reaches the hub by its name from then on")
  func journey() throws {
    let hub = try users.startHub()
    let file = try users.invite("anna")
    let joined = try users.run("bindpeer", ["join", file], as: "guest")
    #expect(joined.code == 0 && joined.output.contains("This user is anna at the hub shop"), "\(joined.output)")
    #expect(try users.run("bindpeer", ["--hub", "shop", "set", "lamp.level=0.5"], as: "guest").code == 0)
    let read = try users.run("bindpeer", ["--hub", "shop", "get", "lamp.level", "--raw"], as: "guest")
    #expect(read.output == "0.5")
    let members = try users.run("bindhub", ["members"], as: "host")
    #expect(members.output.hasPrefix("anna  "), "\(members.output)")
    withExtendedLifetime(hub) {}
  }

  @Test("a value names the user who wrote it, beside the name that the program chose")
  func attribution() throws {
    let hub = try users.startHub()
    let joined = try users.run("bindpeer", ["join", try users.invite("anna")], as: "guest")
    #expect(joined.code == 0, "\(joined.output)")
    let wrote = try users.run(
      "bindpeer", ["--hub", "shop", "--name", "ben", "set", "lamp.level=0.5"], as: "guest")
    #expect(wrote.code == 0, "\(wrote.output)")
    let read = try users.run("bindpeer", ["--hub", "shop", "get", "lamp.level", "--meta"], as: "guest")
    #expect(read.output.contains(" by ben-") && read.output.contains(" (anna) at "), "\(read.output)")
    let json = try users.run("bindpeer", ["--hub", "shop", "get", "lamp.level", "--meta", "--json"], as: "guest")
    #expect(json.output.contains("\"user\":\"anna\""), "\(json.output)")
    withExtendedLifetime(hub) {}
  }

  @Test("a revoked member's watch loses the hub, and its next command says why")
  func revoked() throws {
    let hub = try users.startHub()
    #expect(try users.run("bindpeer", ["join", try users.invite("anna")], as: "guest").code == 0)
    #expect(try users.run("bindpeer", ["--hub", "shop", "set", "lamp.level=0.5"], as: "guest").code == 0)
    let watch = try users.start("bindpeer", ["--hub", "shop", "watch", "lamp"], as: "guest")
    try #require(watch.line { $0.contains("0.5") } != nil, "\(watch.output)")
    #expect(try users.run("bindhub", ["revoke", "anna"], as: "host").code == 0)
    #expect(watch.line { $0.contains("does not answer") } != nil, "\(watch.output)")
    let refused = try users.run("bindpeer", ["--hub", "shop", "--timeout", "5s", "get", "lamp"], as: "guest")
    #expect(
      refused.code == 69 && refused.output.contains("the hub refuses this key: it was revoked"), "\(refused.output)")
    withExtendedLifetime(hub) {}
  }

  @Test("a kicked member's watch loses the hub, says why, and is back by itself; its next write is told the same")
  func kicked() throws {
    let hub = try users.startHub()
    #expect(try users.run("bindpeer", ["join", try users.invite("anna")], as: "guest").code == 0)
    #expect(try users.run("bindpeer", ["--hub", "shop", "set", "lamp.level=0.5"], as: "guest").code == 0)
    let watch = try users.start("bindpeer", ["--hub", "shop", "watch", "lamp"], as: "guest")
    try #require(watch.line { $0.contains("level") } != nil, "\(watch.output)")
    #expect(try users.run("bindhub", ["kick", "anna", "--for", "1h"], as: "host").code == 0)
    try #require(watch.line { $0.contains("kicked for a time") } != nil, "\(watch.output)")
    let refused = try users.run(
      "bindpeer", ["--hub", "shop", "set", "lamp.level=0.7", "--timeout", "3"], as: "guest")
    #expect(refused.code == 69 && refused.output.contains("kicked for a time"), "\(refused)")
    let members = try users.run("bindhub", ["members"], as: "host")
    #expect(members.output.contains("anna  kicked until "), "\(members.output)")
    #expect(try users.run("bindhub", ["kick", "anna", "--end"], as: "host").code == 0)
    #expect(try users.run("bindpeer", ["--hub", "shop", "set", "lamp.level=0.9"], as: "guest").code == 0)
    try #require(watch.line { $0.contains("0.9") } != nil, "\(watch.output)")
    withExtendedLifetime(hub) {}
  }

  @Test("a member asks a hub for its status by name; without the right it is told so")
  func status() throws {
    let hub = try users.startHub()
    #expect(try users.run("bindpeer", ["join", try users.invite("anna")], as: "guest").code == 0)
    let status = try users.run("bindhub", ["status", "--hub", "shop"], as: "guest")
    #expect(status.code == 0 && status.output.hasPrefix("shop  epoch "), "\(status)")
    let verified = try users.run("bindhub", ["verify", "--hub", "shop"], as: "guest")
    #expect(verified.code == 0, "\(verified)")
    try Data(#"{"bindbus":"access","version":1,"roles":{"r":{"read":["*"]}},"members":{"*":["r"]}}"#.utf8)
      .write(to: URL(fileURLWithPath: users.configuration("host") + "/bindbus/hub/access.json"))
    #expect(try users.run("bindhub", ["access", "apply"], as: "host").code == 0)
    for command in ["status", "verify"] {
      let refused = try users.run("bindhub", [command, "--hub", "shop"], as: "guest")
      #expect(refused.code == 77 && refused.output.contains("anna (r) lacks the right admin"), "\(refused)")
    }
    let unknown = try users.run("bindhub", ["status", "--hub", "shopp"], as: "guest")
    #expect(unknown.code == 1 && unknown.output.contains("shop"), "\(unknown)")
    withExtendedLifetime(hub) {}
  }

  @Test("a kick of nobody, of the hub's own user, or for no time is refused with the cure")
  func kickedNobody() throws {
    #expect(try users.run("bindhub", ["keys", "init"], as: "host").code == 0)
    for (arguments, code, words) in [
      (["zoe"], Int32(1), "bindhub members"), (["uid:\(getuid())"], 64, "may always connect"),
      (["uid:4000", "--for", "0s"], 64, "from 1s to 366d"), (["uid:4000", "--end"], 1, "is not kicked"),
    ] {
      let kicked = try users.run("bindhub", ["kick"] + arguments, as: "host")
      #expect(kicked.code == code && kicked.output.contains(words), "\(arguments): \(kicked)")
    }
  }

  @Test("an invitation is used once, expires, and is none when part of it is missing")
  func badInvitations() throws {
    let hub = try users.startHub()
    let file = try users.invite("anna")
    #expect(try users.run("bindpeer", ["join", file], as: "guest").code == 0)
    let used = try users.run("bindpeer", ["join", file], as: "other")
    #expect(used.code == 77 && used.output.contains("has been used"), "\(used.output)")
    let short = try users.invite("ben", ["--for", "1s"])
    let end = Date(timeIntervalSinceNow: 20)
    var late = try users.run("bindpeer", ["join", short], as: "late-0")
    var number = 0
    // Who comes in time enrols one key; the next one meets a used or an expired invitation.
    while late.code == 0, Date() < end {
      number += 1
      late = try users.run("bindpeer", ["join", short], as: "late-\(number)")
    }
    #expect(late.code == 77, "\(late.output)")
    let half = users.bench.folder.appendingPathComponent("half")
    try Data(try Data(contentsOf: URL(fileURLWithPath: file)).dropLast(9)).write(to: half)
    let torn = try users.run("bindpeer", ["join", half.path], as: "other")
    #expect(torn.code == 78 && torn.output.contains("part of it is missing"), "\(torn.output)")
    withExtendedLifetime(hub) {}
  }

  @Test("an invitation on the command line is refused with 64, because other users can read it there")
  func argument() throws {
    let found = try users.run("bindpeer", ["join", "bindbus1:AAAA"], as: "guest")
    #expect(found.code == 64 && found.output.contains("every user of this machine"), "\(found.output)")
  }

  @Test("no secret is in the arguments, the output or a file that others can read")
  func secrets() throws {
    let hub = try users.startHub()
    #expect(try users.run("bindpeer", ["join", try users.invite("anna")], as: "guest").code == 0)
    for path in ["host/bindbus/hub/hub.key", "guest/bindbus/hubs/shop.key"] {
      let file = users.bench.folder.appendingPathComponent(path).path
      let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
      #expect(mode == 0o600, "\(path)")
    }
    let file = users.bench.folder.appendingPathComponent("guest/bindbus/hubs/shop.key").path
    chmod(file, 0o644)
    let found = try users.run("bindpeer", ["--hub", "shop", "get", "lamp"], as: "guest")
    #expect(found.code == 78 && found.output.contains("can be read by other users"), "\(found.output)")
    withExtendedLifetime(hub) {}
  }

  /// A C compiler; nil: there is none.
  private static let compiler: String? = {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    let paths = folders.flatMap { folder in ["cc", "clang", "gcc"].map { "\(folder)/\($0)" } }
    return paths.first { FileManager.default.isExecutableFile(atPath: $0) }
  }()

  /// A library that drops the authentication domain of sockets of one kind.
  private func leakyLibrary() throws -> String {
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Support/LeakyZMQ/leaky.c").path
    let library = users.bench.folder.appendingPathComponent("leaky.so").path
    let compiling = try RunningProcess(
      try #require(KeyTests.compiler), ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl", "-lzmq"])
    try #require(compiling.end() == 0, "\(compiling.output)")
    return library
  }

  @Test(
    "a hub whose library lets strangers in at one of its ports does not start",
    .enabled(if: compiler != nil), arguments: ["6", "9"])
  func leaky(_ kind: String) throws {
    #expect(try users.run("bindhub", ["keys", "init"], as: "host").code == 0)
    let hub = try RunningProcess(
      Bench.program("bindhub"), ["serve", "--listen", "tcp://127.0.0.1:0", "--store", "memory"],
      folder: users.bench.folder,
      variables: [
        "XDG_CONFIG_HOME": users.configuration("host"), "LD_PRELOAD": try leakyLibrary(),
        "LEAKY_KIND": kind,
      ])
    #expect(hub.end() == 78)
    #expect(hub.line { $0.contains("let a stranger in") } != nil, "\(hub.output)")
  }

  @Test("a hub does not start with a key that others can read, that is torn, or that is a peer's")
  func badHubKey() throws {
    #expect(try users.run("bindhub", ["keys", "init"], as: "host").code == 0)
    let path = users.configuration("host") + "/bindbus/hub/hub.key"
    let serve = ["serve", "--listen", "tcp://127.0.0.1:0", "--store", "memory"]
    chmod(path, 0o644)
    let exposed = try users.run("bindhub", serve, as: "host")
    #expect(exposed.code == 78 && exposed.output.contains("can be read by other users"), "\(exposed)")
    let whole = try String(contentsOfFile: path, encoding: .utf8)
    for (text, words) in [
      (String(whole.dropLast(20)), "is not a complete file of keys"),
      (whole.replacingOccurrences(of: #""of":"hub""#, with: #""of":"peer""#), "does not hold the key of a hub"),
    ] {
      try text.write(toFile: path, atomically: true, encoding: .utf8)
      chmod(path, 0o600)
      let found = try users.run("bindhub", serve, as: "host")
      #expect(found.code == 78 && found.output.contains(words), "\(found)")
    }
  }

  @Test("a local client that claims to be somebody in its handshake stays a local user")
  func forgedUser() throws {
    #expect(try users.run("bindhub", ["keys", "init"], as: "host").code == 0)
    let hub = try users.start(
      "bindhub", ["serve", "--listen", users.bench.hub, "--listen", "tcp://127.0.0.1:0", "--store", "memory"],
      as: "host")
    try #require(hub.line { $0.hasPrefix("listening tcp://") } != nil, "\(hub.output)")
    _ = try users.invite("anna")
    let members = try users.run("bindhub", ["members", "--json"], as: "host").output
    let id = try #require(members.range(of: #"[0-9a-f]{10}"#, options: .regularExpression).map { members[$0] })
    let forger = try RawZMTP(users.bench.hub, kind: "DEALER", properties: [("User-Id", "invite:\(id)")])
    // An enrolment, which the holder of the invitation may send (protocol.md §15.2).
    let frame: [UInt8] = [0x0F] + [UInt8](repeating: 0, count: 12) + [UInt8](repeating: 9, count: 32) + [0]
    #expect(forger.send(RawZMTP.whole(frame)))
    let answer = try #require(forger.frame())
    #expect(answer[4] == 0x88, "\(answer)")
    #expect(try users.run("bindhub", ["members", "--json"], as: "host").output == members)
  }

  @Test("a peer without keys learns that the hub may have some")
  func withoutKeys() throws {
    let hub = try users.startHub()
    let address = String(try #require(hub.line { $0.hasPrefix("listening tcp://") }).dropFirst("listening ".count))
    let found = try users.run("bindpeer", ["--hub", address, "--timeout", "5s", "get", "lamp"], as: "guest")
    #expect(found.code == 69 && found.output.contains("as a hub with keys does"), "\(found.output)")
  }

  @Test("machines that programs set up exchange public keys alone")
  func byFile() throws {
    let hub = try users.startHub()
    let address = try #require(hub.line { $0.hasPrefix("listening tcp://") }).dropFirst("listening ".count)
    let hubKey = try users.run("bindhub", ["keys", "show"], as: "host").output
    let trusted = try users.run("bindpeer", ["trust", "plant", hubKey, "--address", String(address)], as: "robot")
    try #require(trusted.code == 0, "\(trusted.output)")
    #expect(try users.run("bindhub", ["admit", "robot", trusted.output], as: "host").code == 0)
    #expect(try users.run("bindpeer", ["--hub", "plant", "set", "arm.angle=3"], as: "robot").code == 0)
    withExtendedLifetime(hub) {}
  }

  @Test("a public key may begin with a dash, as one in 85 does")
  func dashedKey() throws {
    #expect(try users.run("bindhub", ["keys", "init"], as: "host").code == 0)
    var keys: [String] = []
    while keys.count < 2 {
      let key = "\(try KeyPair.random().publicKey)"
      if key.hasPrefix("-") { keys.append(key) }
    }
    for key in keys {
      #expect(try users.run("bindhub", ["admit", "robot", key, "--label", "x"], as: "host").code == 0)
    }
    #expect(try users.run("bindhub", ["revoke", keys[0]], as: "host").code == 0)
    let listed = try users.run("bindhub", ["members"], as: "host").output
    #expect(!listed.contains(keys[0]) && listed.contains(keys[1]), "\(listed)")
    let trusted = try users.run(
      "bindpeer", ["trust", "plant", keys[0], "--address", "tcp://127.0.0.1:7877"], as: "robot")
    #expect(trusted.code == 0, "\(trusted.output)")
  }

  @Test("with keys a hub may listen beyond loopback, and keys are never replaced")
  func beyondLoopback() throws {
    #expect(try users.run("bindhub", ["keys", "init"], as: "host").code == 0)
    let again = try users.run("bindhub", ["keys", "init"], as: "host")
    #expect(again.code == 73 && again.output.contains("never overwritten"), "\(again.output)")
    let hub = try users.start("bindhub", ["serve", "--listen", "tcp://0.0.0.0:0", "--store", "memory"], as: "host")
    #expect(hub.line { $0.hasPrefix("listening tcp://0.0.0.0:") } != nil, "\(hub.output)")
  }

  @Test("a member restarts with the hub: keys and members outlive it")
  func restart() throws {
    #expect(try users.run("bindhub", ["keys", "init"], as: "host").code == 0)
    // A hub at a given port publishes at the next one, and another program may have either.
    var started: (hub: RunningProcess, address: String)?
    for _ in 0..<20 where started == nil {
      let address = "tcp://127.0.0.1:\(Int.random(in: 20_000..<30_000))"
      let hub = try users.start(
        "bindhub", ["serve", "--listen", address, "--store", "memory", "--name", "shop"], as: "host")
      if hub.line(where: { $0.hasPrefix("listening tcp://") }) != nil { started = (hub, address) }
    }
    let (first, address) = try #require(started)
    #expect(try users.run("bindpeer", ["join", try users.invite("anna")], as: "guest").code == 0)
    first.send(SIGKILL)
    _ = first.end()
    let second = try users.start("bindhub", ["serve", "--listen", address, "--store", "memory"], as: "host")
    try #require(second.line { $0.hasPrefix("listening tcp://") } != nil, "\(second.output)")
    #expect(try users.run("bindpeer", ["--hub", "shop", "set", "lamp.level=1"], as: "guest").code == 0)
    withExtendedLifetime(second) {}
  }
}
