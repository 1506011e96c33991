import BindingProtocol
import Foundation
import Testing

/// The hub enforces a model's description for every writer.
@Suite("Descriptions at a running hub", .serialized)
struct DescriptionTests {
  private let bench: Bench
  private let hub: RunningProcess

  init() throws {
    bench = try Bench()
    hub = try bench.startHub()
    let described = "{\"fields\":{\"level\":{\"type\":\"number\",\"min\":0,\"max\":1}}}"
    try #require(try bench.run("set", "lamp.@description:=\(described)").code == 0)
    try #require(try bench.run("set", "lamp.level=0.5").code == 0)
  }

  @Test("a peer that ignores the description is refused, and its next number is accepted")
  func rawPeer() throws {
    let raw = try RawPeer(bench.hub)
    try raw.hello()
    try raw.join("lamp")
    try raw.propose(1, "level", "7")
    #expect(try raw.outcome() == .refused(Refusal(.doesNotFit, "lamp.level: 7 is not in 0...1")))
    try raw.propose(2, "level", "0.75")
    #expect(try raw.outcome() == .committed(count: 1, version: 3))
    #expect(try bench.run("get", "lamp.level", "--raw").output == "0.75")
  }

  @Test("`bindpeer set` exits 65 for a value that does not fit, and 3 with the reason when the hub refuses")
  func exitCodes() throws {
    #expect(try bench.run("set", "lamp.level=7").code == 65)
    let (code, output) = try bench.run("set", "lamp.level+=5")
    #expect(code == 3)
    #expect(
      output == """
        refused: lamp.level: 5.5 is not in 0...1 (add of 5 to 0.5)
        To see the allowed values:  bindpeer describe lamp
        """)
    let (ofDescription, words) = try bench.run("set", "lamp.@description:={\"fields\":{\"on\":{\"type\":\"bool\"}}}")
    #expect(ofDescription == 3)
    #expect(words.hasPrefix("refused: lamp.@description: fields.on.type is \"bool\", not one of boolean, "), "\(words)")
    #expect(try bench.run("get", "lamp.level", "--raw").output == "0.5")
  }

  @Test("`bindpeer set --json` prints the code, the text and the current value of a refusal")
  func json() throws {
    let (code, output) = try bench.run("set", "lamp.level+=5", "--json")
    #expect(code == 3)
    let line = try #require(output.split(separator: "\n").first { $0.hasPrefix("{") }, "\(output)")
    let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    #expect(object["outcome"] as? String == "refused")
    #expect(object["code"] as? String == "doesNotFit")
    #expect(object["text"] as? String == "lamp.level: 5.5 is not in 0...1 (add of 5 to 0.5)")
    #expect((object["current"] as? [String: Double])?["level"] == 0.5)
  }

  @Test("`bindpeer pipe` names the refused lines and exits 3")
  func pipe() throws {
    let lines = "'{\"level\":0.25}' '{\"level\":7}' '{\"level\":1}'"
    let command = "printf '%s\\n' \(lines) | \(Bench.program("bindpeer")) pipe lamp"
    let running = try RunningProcess("/bin/sh", ["-c", command], hub: bench.hub)
    #expect(running.end() == 3)
    #expect(running.output.contains("line 2: refused: lamp.level: 7 is not in 0...1"), "\(running.output)")
    #expect(running.output.last == "1 of 3 lines were refused.", "\(running.output)")
    #expect(try bench.run("get", "lamp.level", "--raw").output == "1")
  }
}
