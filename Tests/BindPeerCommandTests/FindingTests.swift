import Testing

@testable import bindpeer

@Suite("Findings of `doctor`")
struct FindingTests {
  @Test("what is bad or doubtful names its cure, and what is well does not")
  func cures() {
    let all: [(Finding, Finding.Grade)] = [
      (.libzmq("4.3.4", hasEncryption: true), .good), (.libzmq("4.3.4", hasEncryption: false), .doubtful),
      (.libzmq("4.2.5", hasEncryption: true), .bad), (.libzmq("5.0.0", hasEncryption: true), .good),
      (.grammar(["hubs", "draft-1"], own: "draft-1"), .good), (.grammar(["draft-2"], own: "draft-1"), .doubtful),
      (.grammar([], own: "draft-1"), .doubtful),
      (.clock(aheadBy: 1_999), .good), (.clock(aheadBy: 2_001), .doubtful), (.clock(aheadBy: -9_000), .doubtful),
      (.space("store", "/x", free: 100_000_000), .good), (.space("store", "/x", free: 99_000_000), .doubtful),
      (.space("store", "/x", free: 999_999), .bad), (.openFiles(256), .good), (.openFiles(255), .doubtful),
    ]
    for (finding, grade) in all {
      #expect(finding.grade == grade, "\(finding)")
      #expect((finding.cure == nil) == (grade == .good), "\(finding)")
    }
  }

  @Test("a clock says which one is ahead, and by how much")
  func clocks() {
    #expect(Finding.clock(aheadBy: 3_500).words == "the hub's is 3.5 s ahead of this machine's")
    #expect(Finding.clock(aheadBy: -3_500).words == "the hub's is 3.5 s behind this machine's")
  }
}
