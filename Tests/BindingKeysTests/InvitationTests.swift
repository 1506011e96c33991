import BindingProtocol
import Testing
import ZeroMQ

@testable import BindingKeys

@Suite("Invitations")
struct InvitationTests {
  let invitation: Invitation

  init() throws {
    invitation = Invitation(
      hub: "shop", member: "anna",
      addresses: [.init(tcp: "10.0.0.1", port: 7877), .init(tcp: "[fe80::1]", port: 7877)],
      hubKey: try KeyPair.random().publicKey, secret: try KeyPair.random().secretKey, until: 1_800_000_000)
  }

  @Test("a line reads back, whatever breaks a mail program puts into it")
  func line() throws {
    #expect(try Invitation(line: invitation.line) == invitation)
    let broken = invitation.line.enumerated().map { $0.offset % 60 == 59 ? "\($0.element)\r\n " : "\($0.element)" }
    #expect(try Invitation(line: "  " + broken.joined() + "\n") == invitation)
  }

  @Test("a line needs no quoting in a shell")
  func letters() {
    #expect(invitation.line.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "_-:".contains($0)) })
  }

  @Test("a line that is cut anywhere is refused")
  func cut() {
    for count in 0..<invitation.line.count {
      #expect(throws: KeyError.self) { try Invitation(line: String(invitation.line.prefix(count))) }
    }
  }

  @Test("a line with one other letter is refused")
  func altered() {
    let letters = Array(invitation.line)
    for index in letters.indices {
      var other = letters
      other[index] = letters[index] == "A" ? "B" : "A"
      #expect(throws: KeyError.self) { try Invitation(line: String(other)) }
    }
  }

  @Test("the secret does not show in a description")
  func secrecy() { #expect(!"\(invitation)".contains(invitation.secret.text)) }
}
