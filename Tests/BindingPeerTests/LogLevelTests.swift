import BindingProtocol
import Logging
import Testing

@testable import BindingPeer

@Suite("Log levels")
struct LogLevelTests {
  @Test("a hub error that a new hello mends is logged as info, one that ends a session permanently as an error")
  func levels() {
    for code in [ErrorCode.closing, .staleStart, .unknownSession] {
      for isFatal in [true, false] { #expect(PeerRuntime.level(of: code, isFatal: isFatal) == .info) }
    }
    for code in [ErrorCode.fenced, .notYours, .otherProtocol, .malformed] {
      #expect(PeerRuntime.level(of: code, isFatal: true) == .error)
    }
    #expect(PeerRuntime.level(of: .badName, isFatal: false) == .warning)
  }
}
