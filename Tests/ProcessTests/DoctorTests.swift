import Foundation
import Testing

/// What `doctor` and `hubs` say of a machine.
@Suite("`doctor` and `hubs`", .serialized)
struct DoctorTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  @Test("with a hub all is well, and what is doubtful does not fail")
  func well() throws {
    let hub = try bench.startHub()
    try bench.run("set", "lamp.level=1")
    let run = try bench.run("doctor", "lamp")
    #expect(run.code == 0, "\(run.output)")
    let subjects = run.output.split(separator: "\n").map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
    for subject in ["libzmq", "files", "address", "hub", "protocol", "clock", "rights", "store"] {
      #expect(subjects.contains { $0.hasSuffix(" \(subject)") }, "\(subject): \(run.output)")
    }
    #expect(run.output.contains("reads and writes lamp"))
    let json = try bench.run("doctor", "--json")
    #expect(json.code == 0)
    for line in json.output.split(separator: "\n") {
      let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      #expect(Swift.Set(object.keys) == ["check", "state", "words", "cure"], "\(line)")
    }
    withExtendedLifetime(hub) {}
  }

  @Test("a hub in memory is doubtful, and its cure is named")
  func memory() throws {
    let hub = try bench.startHub(["--store", "memory"])
    let run = try bench.run("doctor")
    #expect(run.code == 0 && run.output.contains("warn  store"), "\(run.output)")
    #expect(run.output.contains("Omit --store memory"), "\(run.output)")
    withExtendedLifetime(hub) {}
  }

  @Test("without a hub, with an address that is none and with a folder that is not there it ends with 1 and a cure")
  func bad() throws {
    let absent = try bench.run("doctor")
    #expect(absent.code == 1 && absent.output.contains("bindhub serve"), "\(absent.output)")
    let address = try bench.run("doctor", "--hub", "tcp://")
    #expect(address.code == 1 && address.output.contains("bad   address"), "\(address.output)")
    let folder = try bench.run("doctor", "--outbox", bench.folder.path + "/none/box")
    #expect(folder.code == 1 && folder.output.contains("bad   outbox"), "\(folder.output)")
    #expect(try bench.run("doctor", "lamp/").code == 64)
  }

  @Test("writes that an outbox holds stay there")
  func outbox() throws {
    let box = bench.folder.appendingPathComponent("box").path
    #expect(try bench.run("set", "lamp.level=1", "--outbox", box, "--timeout", "100ms").code == 75)
    let hub = try bench.startHub()
    #expect(try bench.run("doctor", "--outbox", box).code == 0)
    #expect(try bench.run("get", "lamp.level").code == 1)
    withExtendedLifetime(hub) {}
  }

  @Test("no hub is known before one is joined")
  func none() throws {
    let running = try RunningProcess(
      Bench.program("bindpeer"), ["hubs"], variables: ["XDG_CONFIG_HOME": bench.folder.path])
    #expect(running.end() == 1)
    #expect(running.output == ["No hub is known. Join one:  bindpeer join"])
  }

  @Test("a joined hub is listed with whether it answers; a forgotten one is not known any more")
  func joined() throws {
    let users = try KeyedUsers()
    let hub = try users.startHub()
    #expect(try users.run("bindpeer", ["join", try users.invite("anna")], as: "guest").code == 0)
    let live = try users.run("bindpeer", ["hubs"], as: "guest")
    #expect(live.code == 0 && live.output.hasPrefix("shop  tcp://127.0.0.1:"), "\(live.output)")
    #expect(live.output.hasSuffix("  live, durability memory"), "\(live.output)")
    let doctor = try users.run("bindpeer", ["doctor", "--hub", "shop"], as: "guest")
    #expect(doctor.code == 0 && doctor.output.contains("ok    hub        shop at tcp://"), "\(doctor.output)")
    hub.send(SIGTERM)
    _ = hub.end()
    let silent = try users.run("bindpeer", ["hubs", "--json", "--timeout", "300ms"], as: "guest")
    #expect(silent.code == 0 && silent.output.contains(#""hub":"shop""#), "\(silent.output)")
    #expect(!silent.output.contains("live"), "\(silent.output)")
    #expect(try !users.run("bindpeer", ["hubs", "--no-ask"], as: "guest").output.contains("silent"))
    #expect(try users.run("bindpeer", ["hubs", "--forget", "shop"], as: "guest").code == 0)
    #expect(try users.run("bindpeer", ["hubs"], as: "guest").code == 1)
    #expect(try users.run("bindpeer", ["hubs", "--forget", "shop"], as: "guest").code == 78)
    let kept = try FileManager.default.contentsOfDirectory(atPath: users.configuration("guest") + "/bindbus/hubs")
    #expect(!kept.contains { $0.hasPrefix("shop") }, "\(kept)")
  }
}
