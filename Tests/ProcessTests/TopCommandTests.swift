import Foundation
import Testing

/// `bindhub top` at a terminal and in a pipe.
@Suite("`bindhub top`", .serialized)
struct TopCommandTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  @Test("models, peers and rates show live; q gives the terminal back")
  func live() throws {
    let hub = try bench.startHub(["--name", "shop"])
    try bench.run("set", "lamp.level=1")
    let top = try PseudoTerminal(
      Bench.program("bindhub"), ["top", "--every", "200ms"], variables: ["BINDPEER_HUB": bench.hub])
    #expect(top.shows { $0.hasPrefix("shop") && $0.hasSuffix("live") } && top.shows { $0.hasPrefix("lamp") })
    try bench.run("set", "shop/kiosk.level=1")
    #expect(top.shows { $0.hasPrefix("shop/kiosk") })
    let watch = try bench.start("watch", "lamp", "--name", "ann")
    top.type("\t")
    #expect(top.shows { $0.hasPrefix("ann-") }, "\(top.lines)")
    hub.send(SIGKILL)
    #expect(top.shows("No hub answers"))
    let again = try bench.startHub(["--name", "shop"])
    #expect(top.shows { $0.hasPrefix("shop") && $0.hasSuffix("live") })
    top.type("q")
    #expect(top.end() == 0 && !top.isFullScreen && !top.isRaw)
    withExtendedLifetime((again, watch)) {}
  }

  @Test("in a pipe it prints both tables once; without a hub it says so with 69")
  func piped() throws {
    let absent = try RunningProcess(Bench.program("bindhub"), ["top"], hub: bench.hub)
    #expect(absent.end() == 69 && absent.output.first?.hasPrefix("No hub answers") == true, "\(absent.output)")
    let hub = try bench.startHub()
    try bench.run("set", "lamp.level=1")
    let top = try RunningProcess(Bench.program("bindhub"), ["top", "--every", "100ms"], hub: bench.hub)
    #expect(top.end() == 0)
    for name in ["MODEL", "lamp", "PEER", "a second:"] {
      #expect(top.output.contains { $0.hasPrefix(name) }, "\(name): \(top.output)")
    }
    let short = try RunningProcess(Bench.program("bindhub"), ["top", "--every", "1ms"], hub: bench.hub)
    #expect(short.end() == 64)
    withExtendedLifetime(hub) {}
  }
}
