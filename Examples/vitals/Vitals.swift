import ArgumentParser
import BindingPeer
import BindingTerminal
import Foundation

/// Readings of this machine, shared as `vitals/<host>`: an example with real input. Writing `interval` changes how
/// often they are taken.
struct MachineVitals: Model {
  @Field(unit: "processes") var load = 0.0
  @Field(unit: "MiB") var memoryUsed = 0
  @Field(unit: "MiB") var memoryTotal = 0
  @Field var processes = 0
  @Field(unit: "s") var uptime = 0.0
  @Field(0.05...60, unit: "s") var interval = 1.0
}

@main
struct Vitals: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "vitals",
    abstract: "Share what this machine says of itself as the model vitals/HOST, until interrupted.",
    discussion: """
      Other processes read and watch it, and change how often it speaks:
        bindpeer watch vitals/
        bindpeer set vitals/HOST.interval=0.2

      BINDPEER_HUB names the hub; without it, it is this user's.
      """)

  static func main() async {
    do {
      try await perform()
    } catch {
      leave(error)
    }
  }

  mutating func run() async throws {
    let peer = try Peer(name: "vitals")
    let host = ProcessInfo.processInfo.hostName.map {
      $0.isLetter && $0.isASCII || $0.isNumber && $0.isASCII ? $0 : "-"
    }
    let machine = try await peer.share(MachineVitals.self, id: "vitals/" + String(host), on: .direct)
    StandardStreams.print("sharing \(machine.shared?.id ?? "")")
    let (changes, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let token = machine.$interval.observe { _ in continuation.yield() }
    var waiting = changes.makeAsyncIterator()
    while true {
      let reading = Reading.now
      try machine.change { machine in
        machine.load = reading.load
        machine.memoryUsed = reading.memoryUsed
        machine.memoryTotal = reading.memoryTotal
        machine.processes = reading.processes
        machine.uptime = reading.uptime
      }
      let seconds = machine.interval
      let timer = Task {
        try? await Task.sleep(for: .seconds(seconds))
        if !Task.isCancelled { continuation.yield() }
      }
      await waiting.next()
      timer.cancel()
    }
    withExtendedLifetime(token) {}
  }
}

/// One set of readings.
struct Reading {
  var load = 0.0
  var memoryUsed = 0
  var memoryTotal = 0
  var processes = 0
  var uptime = ProcessInfo.processInfo.systemUptime

  static var now: Reading {
    var reading = Reading()
    var loads = [0.0]
    if getloadavg(&loads, 1) == 1 { reading.load = loads[0] }
    reading.memoryTotal = Int(ProcessInfo.processInfo.physicalMemory >> 20)
    reading.readProc()
    return reading
  }

  /// Reads what only Linux has in files; elsewhere these values keep their defaults.
  private mutating func readProc() {
    guard let text = try? String(contentsOfFile: "/proc/meminfo", encoding: .utf8) else { return }
    for line in text.split(separator: "\n") where line.hasPrefix("MemAvailable:") {
      let kilobytes = line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
      memoryUsed = memoryTotal - kilobytes >> 10
    }
    let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    processes = entries.count { Int($0) != nil }
  }
}
