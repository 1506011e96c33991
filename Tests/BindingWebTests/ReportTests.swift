import BindingHub
import BindingPeer
import BindingProtocol
import Foundation
import Testing

@testable import BindingWeb

@Suite("Reports for programs", .serialized)
struct ReportTests {
  @Test("a gateway is healthy while it answers, and ready once the hub has welcomed it")
  func healthAndReadiness() throws {
    let site = try Site()
    #expect(try site.ask("GET", "/healthz", []).text == "ok\n")
    #expect(site.waitUntilReady())
  }

  @Test("the status is the hub's report with the gateway's part in it")
  func status() throws {
    let site = try Site()
    let page = try site.welcomedPage()
    let reply = try site.ask("GET", "/status.json")
    #expect(reply["content-type"] == "application/json")
    let report = try JSON(parsing: reply.body)
    #expect(report["name"]?.string == "embedded")
    #expect(report["sessions"]?.elements?.contains { $0["name"]?.string == "web" } == true)
    #expect(report["web"]?["isLive"]?.boolean == true)
    #expect(report["web"]?["counters"]?["sockets"]?.int64 == 1)
    #expect(report["web"]?["openPages"]?.int64 == 1)
    #expect(report["web"]?["refusals"]?["foreignHost"]?.int64 == 0)
    withExtendedLifetime(page) {}
  }

  @Test("the metrics are in Prometheus text format: each name is declared once and labels are few")
  func metrics() throws {
    let site = try Site()
    let page = try site.welcomedPage()
    let reply = try site.ask("GET", "/metrics")
    #expect(reply["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
    let lines = reply.text.split(separator: "\n").map(String.init)
    let declared = lines.filter { $0.hasPrefix("# TYPE ") }.map { $0.split(separator: " ")[2] }
    #expect(Swift.Set(declared).count == declared.count)
    for line in lines where !line.hasPrefix("#") {
      let parts = line.split(separator: " ")
      #expect(parts.count == 2 && UInt64(parts[1]) != nil, "\(line)")
      let name = parts[0].prefix { $0 != "{" }
      #expect(declared.contains(name), "\(line)")
      #expect(name.allSatisfy { $0.isLowercase || $0.isNumber || $0 == "_" }, "\(line)")
    }
    for line in ["bindbus_hub_up 1", "bindbus_web_live 1", "bindbus_web_pages 1", "bindbus_web_sockets_total 1"] {
      #expect(lines.contains(line), "\(line)")
    }
    #expect(lines.contains("bindbus_web_refusals_total{reason=\"foreignHost\"} 0"))
    #expect(lines.contains { $0.hasPrefix("bindbus_hub_commits_total ") })
    #expect(lines.contains { $0.hasPrefix("bindbus_hub_refusals_total{code=\"") })
    #expect(lines.contains { $0.hasPrefix("bindbus_hub_gate_cut_subscribers_total ") })
    withExtendedLifetime(page) {}
  }

  @Test("names of counters become names of metrics")
  func snake() {
    #expect(MetricsText.snake("cutSubscribers") == "cut_subscribers")
    #expect(MetricsText.snake("notUTF8") == "not_utf8")
    #expect(MetricsText.snake("frames") == "frames")
  }
}

@Suite("Message budgets")
struct MessageBudgetTests {
  @Test("a budget allows a burst, then a rate per second")
  func refills() {
    var budget = MessageBudget(perSecond: 500, atOnce: 1_000, now: 0)
    func spent(at now: UInt64) -> Int {
      var count = 0
      while budget.spend(now: now) { count += 1 }
      return count
    }
    #expect(spent(at: 0) == 1_000)
    #expect(spent(at: 1_900_000) == 0)
    #expect(spent(at: 4_100_000) == 2)
    #expect((499...501).contains(spent(at: 1_004_100_000)))
    #expect(spent(at: 100_000_000_000) == 1_000)
  }
}
