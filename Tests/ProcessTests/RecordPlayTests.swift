import Foundation
import Testing

@Suite("Recording and playing", .serialized)
struct RecordPlayTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  private var file: String { bench.folder.appendingPathComponent("run.history").path }

  private func lines() -> [String] {
    (try? String(contentsOfFile: file, encoding: .utf8))?.split(separator: "\n").map(String.init) ?? []
  }

  /// Waits until the file has a line with this text.
  private func waitForLine(_ text: String) -> Bool {
    let end = Date(timeIntervalSinceNow: 20)
    while Date() < end {
      if lines().contains(where: { $0.contains(text) }) { return true }
      usleep(5_000)
    }
    return false
  }

  /// Records three writes of `panel` and one of `arm`, with values that only bytes keep.
  private func record() throws {
    let hub = try bench.startHub()
    try bench.run("set", "robot/arm.torque:=1e400", "robot/arm.name=start", "other.x=1")
    let recorder = try bench.start("record", "robot/", file)
    #expect(waitForLine("torque"), "\(recorder.output)")
    for assignment in ["robot/arm.speed:=0.10", "robot/arm.speed=0.5", "robot/gripper.open=true"] {
      #expect(try bench.run("set", assignment, "--name", "panel").code == 0)
    }
    try bench.run("rm", "robot/arm.name", "--name", "arm")
    #expect(waitForLine("[[\"name\"]]"), "\(lines())")
    #expect(waitForLine("gripper"))
    recorder.send(SIGKILL)
    _ = recorder.end()
    withExtendedLifetime(hub) {}
  }

  private func play(_ arguments: String...) throws -> (code: Int32?, output: String) {
    let running = try RunningProcess(Bench.program("bindpeer"), ["play", file] + arguments, hub: bench.hub)
    let code = running.end()
    return (code, running.output.joined(separator: "\n"))
  }

  @Test("a recording outlives `kill -9`, has only the models below its prefix, and plays with equal digests")
  func plays() throws {
    try record()
    #expect(!lines().contains { $0.contains("other") })
    let played = try play("--speed", "max", "--check")
    #expect(played.code == 0, "\(played.output)")
    #expect(played.output.contains("of 2 models"), "\(played.output)")
    #expect(played.output.contains("all as recorded"), "\(played.output)")
  }

  @Test("a program reads a played model as it was, byte for byte")
  func reads() throws {
    try record()
    let address = "ipc://\(bench.folder.path)/play.sock"
    let player = try RunningProcess(
      Bench.program("bindpeer"), ["play", file, "--speed", "max", "--listen", address, "--stay"])
    #expect(player.line { $0.contains("2 models") } != nil, "\(player.output)")
    let read = try RunningProcess(Bench.program("bindpeer"), ["get", "robot/arm", "--json"], hub: address)
    #expect(read.end() == 0)
    let output = read.output.joined()
    #expect(output.contains("1e400"), "\(output)")
    #expect(output.contains("0.5"), "\(output)")
    #expect(!output.contains("start"), "\(output)")
    player.send(SIGINT)
    #expect(player.end() == 130)
    #expect(!FileManager.default.fileExists(atPath: "\(bench.folder.path)/play.sock"))
  }

  @Test("a program that writes as recorded passes the check, and one that does not is named with its first write")
  func compares() throws {
    try record()
    func script(_ speed: String) -> String {
      let bindpeer = Bench.program("bindpeer")
      return "\(bindpeer) set robot/arm.speed:=0.1 && \(bindpeer) set robot/arm.speed=\(speed)"
        + " && \(bindpeer) set robot/gripper.open=true"
    }
    let arguments = ["--speed", "max", "--without", "panel", "--check", "--timeout", "20s", "--", "sh", "-c"]
    for (speed, code) in [("0.5", Int32(0)), ("0.7", 1)] {
      let running = try RunningProcess(
        Bench.program("bindpeer"), ["play", file] + arguments + [script(speed)], hub: bench.hub)
      #expect(running.end() == code, "\(running.output)")
      if code == 1 {
        #expect(
          running.line { $0.contains("robot/arm.speed: write 2 is 0.7; recorded is 0.5") } != nil, "\(running.output)")
      }
    }
  }

  /// Records a model while its hub ends and another one begins with its store; the recorder is stopped meanwhile.
  private func recordAcrossRestart(_ meanwhile: () throws -> Void) throws {
    let store = ["--store", bench.folder.appendingPathComponent("store").path]
    let first = try bench.startHub(store)
    try bench.run("set", "robot/arm.torque:=1e400")
    let recorder = try bench.start("record", "robot/arm", file)
    #expect(waitForLine("torque"), "\(recorder.output)")
    recorder.send(SIGSTOP)
    first.send(SIGTERM)
    #expect(first.end() == 0)
    let second = try bench.startHub(store)
    for speed in 1...5 { try bench.run("set", "robot/arm.speed=\(speed)", "--name", "panel") }
    try meanwhile()
    recorder.send(SIGCONT)
    #expect(waitForLine("\"version\":6"), "\(lines())")
    try bench.run("set", "robot/arm.speed=0.10")
    #expect(waitForLine("\"version\":7"), "\(lines())")
    recorder.send(SIGKILL)
    _ = recorder.end()
    withExtendedLifetime(second) {}
  }

  @Test("commits of a time in which the recorder heard no hub are read from the hub's history")
  func fills() throws {
    try recordAcrossRestart {}
    #expect(lines().count { $0.contains("\"e\":\"commit\"") } == 6, "\(lines())")
    #expect(lines().count { $0.contains("\"e\":\"state\"") } == 1, "\(lines())")
    #expect(lines().count { $0.contains("panel") } == 5, "\(lines())")
    let played = try play("--speed", "max", "--check")
    #expect(played.code == 0, "\(played.output)")
  }

  @Test("commits whose values were removed from the history stay one state, which a check names")
  func marks() throws {
    try recordAcrossRestart {
      let store = bench.folder.appendingPathComponent("store").path
      let dropped = try RunningProcess(
        Bench.program("bindhub"),
        ["history", "drop", "robot/arm", "--field", "speed", "--yes", "--store", store])
      #expect(dropped.end() == 0, "\(dropped.output)")
    }
    #expect(lines().count { $0.contains("\"e\":\"commit\"") } == 1, "\(lines())")
    let played = try play("--speed", "max", "--check")
    #expect(played.code == 1)
    #expect(
      played.output.contains("robot/arm: the commits after version 1, up to 6, are one state"), "\(played.output)")
  }

  @Test("a file that is there, that is no history, and a peer that wrote nothing are refused with the cure")
  func refused() throws {
    let hub = try bench.startHub()
    try "no history\n".write(toFile: file, atomically: true, encoding: .utf8)
    let taken = try bench.run("record", "", file)
    #expect(taken.code == 73)
    #expect(taken.output.contains("Name a new file"), "\(taken.output)")
    let bad = try play("--check")
    #expect(bad.code == 65)
    #expect(bad.output.contains("\(file):1"), "\(bad.output)")
    withExtendedLifetime(hub) {}
  }
}
