import Testing

@testable import BindingHub

@Suite("The limit of open files")
struct OpenFilesTests {
  @Test("the limit of open files is raised as far as allowed and useful, and never lowered")
  func raised() {
    #expect(OpenFiles.raised(1_024, upTo: 4_096) == 4_096)
    #expect(OpenFiles.raised(1_024, upTo: .max) == 65_536)
    #expect(OpenFiles.raised(100_000, upTo: 1_000_000) == 100_000)
  }
}
