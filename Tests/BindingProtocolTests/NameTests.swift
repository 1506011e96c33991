import BindingProtocol
import Testing

@Suite("Names")
struct NameTests {
  private func isModel(_ name: String) -> Bool { (try? Names.checkModel(name)) != nil }
  private func isField(_ name: String) -> Bool { (try? Names.checkField(name)) != nil }
  private func isPrefix(_ name: String) -> Bool { (try? Names.checkPrefix(name)) != nil }

  @Test(
    "a model id is segments of letters, digits, _ and -, joined by slashes",
    arguments: [
      "a", "lamp", "shop/kiosk-3", "A/b/C/0/_/-", "vitals/my-host_2", "--", String(repeating: "x", count: 200),
    ])
  func models(_ name: String) {
    #expect(isModel(name))
    #expect(Array(name.utf8).withUnsafeBytes { Names.isModel($0) })
  }

  @Test(
    "other texts are not model ids",
    arguments: [
      "", "/", "a/", "/a", "a//b", "a.b", "a b", "@hub", "ä", "a\u{0}", "a\n", "日本", "a:b", "a+b",
      String(repeating: "x", count: 201),
    ])
  func noModels(_ name: String) {
    #expect(!isModel(name))
    #expect(!Array(name.utf8).withUnsafeBytes { Names.isModel($0) })
  }

  @Test("a peer's name is 1 to 64 bytes of any text without control characters and direction marks")
  func peers() {
    for name in ["a", "kitchen 2", "Küche", "日本 👩‍👩‍👧", "\u{200F}שלום", String(repeating: "x", count: 64)] {
      #expect((try? Names.checkPeer(name)) != nil, "\(name)")
    }
    for name in ["", "a\u{1B}", "a\n", "\0", "a\u{7F}", "\u{85}", "\u{9F}", "\u{2028}", "\u{202A}", "\u{2069}"] {
      #expect((try? Names.checkPeer(name)) == nil, "\(name)")
    }
    #expect((try? Names.checkPeer(String(repeating: "x", count: 65))) == nil)
  }

  @Test("any text can be made into a peer's name")
  func fitting() {
    for text in ["", "kitchen", "a\u{1B}[2J\n\u{202E}b", String(repeating: "\u{1F469}\u{200D}", count: 40), "\0"] {
      #expect((try? Names.checkPeer(Names.fittingPeer(text))) != nil, "\(text)")
    }
    #expect(Names.fittingPeer("") == "peer" && Names.fittingPeer("a\u{1B}[2J\n\u{202E}b") == "a_[2J__b")
  }

  @Test("foreign names are shown on one line with control and direction characters escaped")
  func shown() {
    let origin = Origin(tag: Tag(rawValue: 0), name: "a\u{1B}[2J\n\u{202E}b")
    #expect(origin.fullName == "a\\u{1b}[2J\\u{a}\\u{202e}b-0000" && origin.description.hasSuffix("b#0000"))
    #expect(PrintedText.escaped("日本 é", limit: 3) == "日本 …")
    // The name of a page already ends with these digits.
    #expect(Origin(tag: Tag(rawValue: 0), name: "page-0000").fullName == "page-0000")
  }

  @Test("a field name is 1 to 64 characters of a model id's, without a slash, or one of the protocol's own")
  func fields() {
    for name in [
      "a", "_", "-", "Level-2", "@description", "@me", "@owner", "@peer-0", "@peer-99999",
      String(repeating: "x", count: 64),
    ] { #expect(isField(name)) }
    for name in [
      "", "a/b", "@", "@other", "@Description", "@peer-", "@peer-x", "@peer-123456", "a.b", "é",
      String(repeating: "x", count: 65),
    ] {
      #expect(!isField(name))
      #expect(!Array(name.utf8).withUnsafeBytes { Names.isField($0) })
    }
  }

  @Test("a prefix is empty or whole segments that end in a slash")
  func prefixes() {
    for prefix in ["", "a/", "shop/kiosk-3/", String(repeating: "x", count: 199) + "/"] { #expect(isPrefix(prefix)) }
    for prefix in ["a", "/", "//", "a//", "a/b", "@/", "a /", String(repeating: "x", count: 200) + "/"] {
      #expect(!isPrefix(prefix))
      #expect(!Array(prefix.utf8).withUnsafeBytes { Names.isPrefix($0) })
    }
  }

  @Test("an element's name is that of its list, @ and an id of 1 to 40 of the same characters")
  func elements() {
    func problem(_ name: String) -> String? {
      do throws(WireError) { try Names.checkField(name) } catch { return error.problem }
      return nil
    }
    let (list, id) = (String(repeating: "l", count: 64), String(repeating: "i", count: 40))
    for name in ["cues@7", "a@a", "\(list)@\(id)", "-@_"] {
      #expect(problem(name) == nil, "\(name)")
      #expect(ListElements.parts(of: name).map { "\($0.list)@\($0.id)" } == name)
    }
    #expect(problem("cues@")?.hasPrefix("is an element whose id is empty") == true)
    #expect(problem("cues@a@b")?.hasPrefix("is an element whose id has byte 0x40") == true)
    #expect(problem("cues@i\(id)") == "is an element whose id has 41 bytes; 1 to 40 are allowed")
    #expect(problem("l\(list)@a") == "has 65 bytes; 1 to 64 are allowed")
    #expect(problem("cu.es@a")?.hasPrefix("has byte 0x2e") == true)
    #expect(problem("@me@a") != nil && problem("@peer-1@a") != nil && problem("@@") != nil && problem("@a") != nil)
    #expect(ListElements.parts(of: "@me") == nil && ListElements.parts(of: "plain") == nil)
  }

  @Test("each of the 256 bytes is classified as allowed or not")
  func everyByte() {
    let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-".utf8)
    for byte in UInt8.min...UInt8.max {
      [0x61, byte, 0x61].withUnsafeBytes {
        #expect(Names.isField($0) == (allowed.contains(byte) || byte == UInt8(ascii: "@")))
        #expect(Names.isElement($0) == (byte == UInt8(ascii: "@")))
      }
      [0x61, 0x40, byte].withUnsafeBytes { #expect(Names.isField($0) == allowed.contains(byte)) }
      [0x61, byte, 0x61].withUnsafeBytes {
        #expect(Names.isModel($0) == (allowed.contains(byte) || byte == UInt8(ascii: "/")))
      }
    }
  }

  @Test("a refused name is reported with the fault and with what is allowed")
  func problems() {
    func problem(_ check: () throws(WireError) -> Void) -> WireError? {
      do throws(WireError) { try check() } catch { return error }
      return nil
    }
    let dot = problem { () throws(WireError) in try Names.checkModel("my.host") }
    #expect(dot?.code == .badName)
    #expect(dot?.problem == "has byte 0x2e at byte 2; allowed are A-Z a-z 0-9 _ - in segments joined by /")
    let empty = problem { () throws(WireError) in try Names.checkField("") }
    #expect(empty?.problem == "is empty; 1 to 64 bytes of A-Z a-z 0-9 _ - are allowed")
    let long = problem { () throws(WireError) in try Names.checkPeer(String(repeating: "é", count: 33)) }
    #expect(long?.problem == "has 66 bytes; 1 to 64 are allowed")
  }

  @Test("topics are big-endian, and a session's topic is 0x00 followed by the session as in the header")
  func topics() throws {
    #expect(Topics.bytes(Topics.heartbeat) == [1, 0, 0, 0])
    #expect(Topics.bytes(0x0102_0304) == [1, 2, 3, 4])
    let session: SessionID = 0x8877_6655_4433_2211
    #expect(Topics.sessionTopic(session) == [0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88])
    func read(_ bytes: [UInt8]) -> Topics.Subscription? { bytes.withUnsafeBytes { Topics.subscription($0) } }
    #expect(read(Topics.sessionTopic(session)) == .session(session))
    #expect(read(Topics.bytes(Topics.heartbeat)) == .heartbeat)
    #expect(read(Topics.bytes(Topics.firstModel)) == .model(Topics.firstModel))
    for bytes in [[], [0], [0, 0, 0, 0], [1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 1, 0], Topics.sessionTopic(0)] as [[UInt8]]
    {
      #expect(read(bytes) == nil)
    }
  }

  @Test("a tag is shown in the order of its bytes, a secret is not shown")
  func identities() {
    #expect(Tag(rawValue: 0x0807_0605_0403_0201).description == "0102030405060708")
    #expect(Tag(rawValue: 0x0807_0605_0403_0201).short == "0102")
    #expect(Tag(rawValue: 1) < Tag(rawValue: 2))
    #expect(!"\(Secret(high: 0xABCD, low: 0x1234))".contains("12"))
    #expect(Origin(tag: Tag(rawValue: 0xFF), name: "k").description == "k#ff00")
  }
}
