import BindingProtocol

/// A frame that must be refused, with the reason.
struct BadVector {
  var file: String
  var direction: String
  var bytes: [UInt8]
  var problem: String
  /// The code of the `error` with which a hub answers; 0 for frames to a peer, which drops them.
  var error: UInt16 = 0
  /// The part of the grammar that the frame violates, as the decoder names it; empty if it decodes.
  var place: String {
    do throws(WireError) {
      _ = try Vector.decode(bytes, direction: direction)
      return ""
    } catch {
      return error.place
    }
  }
  /// Whether the `error` ends the session. Otherwise it concerns only a part of the frame.
  var isFatal = true
  /// The code of the refusal, if only the proposal is refused and the session continues.
  var refusal: UInt16?
}

/// The source of docs/reference/vectors/bad/. Each frame is a good one with one fault.
enum BadVectors {
  static var all: [BadVector] { headers + counts + names + numbers + proposals + past }

  private static func good(_ file: String) -> [UInt8] {
    GoodVectors.all.first { $0.file == file }?.vector.bytes ?? []
  }

  private static func toHub(_ file: String, _ bytes: [UInt8], _ problem: String, error: ErrorCode = .malformed)
    -> BadVector
  {
    BadVector(
      file: file, direction: Vector.toHubName, bytes: bytes, problem: problem, error: error.rawValue)
  }

  /// A frame whose only fault is the name in its join: the hub refuses that join alone.
  private static func badJoin(_ file: String, _ bytes: [UInt8], _ problem: String) -> BadVector {
    var vector = toHub(file, bytes, problem, error: .badName)
    vector.isFatal = false
    return vector
  }

  private static func toPeer(_ file: String, _ bytes: [UInt8], _ problem: String) -> BadVector {
    BadVector(file: file, direction: Vector.toPeerName, bytes: bytes, problem: problem)
  }

  /// Returns `bytes` with the bytes from `offset` on overwritten.
  private static func patched(_ bytes: [UInt8], _ offset: Int, _ new: UInt8...) -> [UInt8] {
    var bytes = bytes
    for (index, byte) in new.enumerated() { bytes[offset + index] = byte }
    return bytes
  }

  /// Returns `bytes` with the first occurrence of `old` replaced by `new`.
  private static func replaced(_ bytes: [UInt8], _ old: String, _ new: [UInt8]) -> [UInt8] {
    let old = Array(old.utf8)
    guard let at = (0...(bytes.count - old.count)).first(where: { Array(bytes[$0..<($0 + old.count)]) == old })
    else { return [] }
    return Array(bytes[..<at]) + new + Array(bytes[(at + old.count)...])
  }

  /// The body of a request begins at 13, of a page at 9.
  private static var past: [BadVector] {
    [
      toHub("history-topic", patched(good("history"), 20, 0), "0x00000001 is no model's topic"),
      toHub("history-flags", patched(good("history"), 21, 2), "bit 1 is not defined"),
      toHub("history-oversize", patched(good("history"), 64, 9), "nine names do not fit in the bytes left"),
      toHub(
        "history-field-dot", replaced(good("history-some"), "level", Array("le.el".utf8)), "a field's name has no dot",
        error: .badName),
      toPeer("past-end", patched(good("past-none"), 21, 6), "ends are 0 to 5"),
      toPeer("past-reason", patched(good("past-none"), 38, 4), "reasons are 0 to 3"),
      toPeer("past-oversize", patched(good("past-none"), 51, 1), "a commit takes 32 bytes at least"),
      toPeer("past-name-dot", replaced(good("past"), "level", Array("le.el".utf8)), "a field's name has no dot"),
      toPeer("past-under-session-topic", patched(good("past"), 0, 0, 0, 0, 0), "a page is about a model"),
    ]
  }

  private static var headers: [BadVector] {
    [
      toHub("empty", [], "an empty frame has no kind"),
      toHub("short-header", Array(good("ping").prefix(12)), "the header is 13 bytes"),
      toHub("unknown-kind-to-hub", patched(good("ping"), 0, 0x7F), "0x7F is no kind", error: .unknownKind),
      toHub("kind-of-a-hub", patched(good("ping"), 0, 0x89), "0x89 is a hub's kind", error: .unknownKind),
      toHub("session-zero", patched(good("ping"), 1, 0, 0, 0, 0, 0, 0, 0, 0), "a session is not 0"),
      toHub("hello-with-start", patched(good("hello"), 9, 1), "a hello's start is 0"),
      toHub("hello-tag-zero", patched(good("hello"), 15, 0, 0, 0, 0, 0, 0, 0, 0), "a tag of zeros stands for nobody"),
      toHub("trailing-byte", good("ping") + [0], "one byte follows the token"),
      toHub("trailing-status", good("status") + [0], "a status has no body"),
      toHub("truncated-propose", Array(good("propose").dropLast()), "the value is one byte short"),
      toPeer("unknown-kind-to-peer", patched(good("heartbeat"), 4, 0x7F), "0x7F is no kind"),
      toPeer("kind-of-a-peer", patched(good("heartbeat"), 4, 0x07), "0x07 is a peer's kind"),
      toPeer("start-zero", patched(good("heartbeat"), 5, 0, 0, 0, 0), "a hub's start is not 0"),
      toPeer("heartbeat-under-other-topic", patched(good("heartbeat"), 3, 0x01), "heartbeats have topic 0x01000000"),
      toPeer("welcome-under-model-topic", patched(good("welcome"), 0, 1, 0, 0, 1), "a welcome has topic 0"),
      toPeer("commits-under-heartbeat-topic", patched(good("commits"), 3, 0), "a model's topic is from 0x01000001 on"),
      toPeer("truncated-commits", Array(good("commits").dropLast(3)), "the value is three bytes short"),
      toPeer("trailing-commits", good("commits") + [0, 0, 0, 0], "four bytes follow the last commit"),
    ]
  }

  private static var counts: [BadVector] {
    [
      toHub("joins-oversize", patched(good("join"), 13, 0xFF, 0xFF), "65,535 joins do not fit in the bytes left"),
      toHub("leave-oversize", patched(good("leave"), 13, 1, 0), "one topic needs four bytes"),
      toHub(
        "offer-numbers-oversize", good("offer-empty") + [1, 0, 0, 0], "one number of a writer needs twelve bytes"),
      toHub("offer-oversize", patched(good("offer-empty"), 42, 0xFF, 0xFF, 0xFF, 0xFF), "4,294,967,295 fields"),
      toHub(
        "value-oversize", patched(good("propose"), 38, 0xFE, 0xFF, 0xFF, 0xFF), "a value of 4,294,967,294 bytes"),
      toHub("operations-oversize", patched(good("propose"), 31, 0xFF, 0xFF), "65,535 operations"),
      toPeer("commits-oversize", patched(good("commits-without-changes"), 59, 0xFF, 0xFF), "65,535 commits"),
      toPeer("commits-none", Array(good("commits-without-changes").prefix(59)) + [0, 0], "no commit at all"),
      toPeer("names-oversize", patched(good("commits"), 55, 0xFF, 0xFF, 0xFF, 0xFF), "4,294,967,295 names"),
      toPeer("origins-oversize", patched(good("commits"), 33, 0xFF, 0xFF), "65,535 origins"),
      toPeer("catchup-oversize", patched(good("catchup-empty"), 65, 0xFF, 0xFF, 0xFF, 0xFF), "4,294,967,295 fields"),
      toHub("report-oversize", patched(good("report"), 13, 3), "three models do not fit in the bytes left"),
      toHub("report-none", Array(good("report").prefix(13)) + [0, 0], "a report is about one model at least"),
      toHub("counted-oversize", patched(good("counted-nobody"), 25, 1), "a name needs one byte"),
      toPeer("awaited-oversize", patched(good("awaited"), 30, 1), "a name needs one byte"),
      toPeer("outcomes-oversize", patched(good("outcomes-none"), 25, 1, 0), "one outcome needs nine bytes"),
    ]
  }

  private static var names: [BadVector] {
    func join(_ name: [UInt8], form: UInt8 = 0) -> [UInt8] {
      [0x02] + Array(good("join")[1..<13]) + [1, 0, 1, 0, 0, 0, form, UInt8(name.count)] + name
        + [UInt8](repeating: 0, count: 20) + [form == 0 ? 1 : 0, 0, 0, 0]
    }
    let long = [UInt8](repeating: UInt8(ascii: "a"), count: 201)
    return [
      badJoin("model-empty", join([]), "a model id has at least one byte"),
      badJoin("model-long", join(long), "201 bytes; a model id has at most 200"),
      badJoin("model-slash-first", join(Array("/lamp".utf8)), "an empty segment"),
      badJoin("model-slash-last", join(Array("lamp/".utf8)), "an empty segment at the end"),
      badJoin("model-slash-twice", join(Array("a//b".utf8)), "an empty segment"),
      badJoin("model-dot", join(Array("a.b".utf8)), "a dot"),
      badJoin("model-at", join(Array("@hub".utf8)), "@ begins the protocol's own names"),
      badJoin("model-umlaut", join(Array("Gerät".utf8)), "a letter beyond A–Z and a–z"),
      toHub("model-not-utf8", join([0x61, 0xFF]), "0xFF stands nowhere in UTF-8"),
      badJoin("prefix-without-slash", join(Array("shop".utf8), form: 1), "a prefix ends in /"),
      badJoin("prefix-slash-alone", join(Array("/".utf8), form: 1), "an empty segment"),
      toHub(
        "peer-name-empty", replaced(good("hello"), "\u{7}kitchen", [0]), "a peer's name has at least one byte",
        error: .badName),
      toHub(
        "peer-name-escape", replaced(good("hello"), "kitchen", [0x1B, 0x5B, 0x32, 0x4A, 0x61, 0x61, 0x61]),
        "a control character", error: .badName),
      toHub(
        "peer-name-newline", replaced(good("hello"), "kitchen", Array("kit\nhen".utf8)), "a control character",
        error: .badName),
      toHub(
        "peer-name-c1", replaced(good("hello"), "kitchen", [0xC2, 0x9B] + Array("31mab".utf8)),
        "U+009B is a control character too", error: .badName),
      toHub(
        "peer-name-override", replaced(good("hello"), "kitchen", [0xE2, 0x80, 0xAE] + Array("abcd".utf8)),
        "U+202E turns the direction of what stands beside it", error: .badName),
      toHub("hello-encoding", replaced(good("hello"), "json", Array("cbor".utf8)), "the encoding is json"),
      toHub("hello-no-encoding", replaced(good("hello"), "\u{4}json", [0]), "the encoding is json"),
      toHub(
        "peer-name-not-utf8", replaced(good("hello"), "kitchen", [0xC0, 0x80, 0x61, 0x61, 0x61, 0x61, 0x61]),
        "0xC0 0x80 is an overlong form"),
      toHub(
        "offer-field-slash", replaced(good("offer"), "level", Array("le/el".utf8)), "a slash in a field name",
        error: .badName),
      toPeer(
        "names-at", replaced(good("commits-new-names"), "@description", Array("@descriptioN".utf8)),
        "of names with @ only the protocol's own are names"),
      toPeer("names-empty", replaced(good("commits-new-names"), "\u{2}on", [0]), "a field name has at least one byte"),
      toPeer(
        "names-surrogate", replaced(good("commits-new-names"), "level", [0x61, 0xED, 0xA0, 0x80, 0x61]),
        "half of a surrogate pair in UTF-8"),
      toPeer(
        "origin-not-utf8", replaced(good("commits"), "kitchen", [0x6B, 0x69, 0x74, 0x63, 0x68, 0xE2, 0x98]),
        "a character is cut off"),
      toPeer("model-of-topic", replaced(good("topic"), "lamp", Array("la p".utf8)), "a space in a model id"),
    ]
  }

  private static var numbers: [BadVector] {
    [
      toHub("hello-numbers-crossed", patched(good("hello"), 13, 1, 0), "lowest is above highest"),
      toHub(
        "hello-unknown-flag", replaced(good("hello"), "kitchen\u{0}", Array("kitchen".utf8) + [2]),
        "bit 1 has no meaning"),
      toHub("join-form", patched(good("join"), 19, 2), "forms are 0 and 1"),
      toHub("join-unacknowledged-zero", patched(good("join"), 45, 0), "numbers begin with 1"),
      toHub("alive-topic", patched(good("alive-models"), 23, 0, 0, 0, 0), "topic 0 is no model's"),
      toHub("offer-last-two", patched(good("offer-empty"), 41, 2), "last is 0 or 1"),
      toHub("await-topic", patched(good("await"), 17, 0), "0x01000000 is the topic of heartbeats"),
      toHub("report-topic", patched(good("report"), 15, 0), "0x01000000 is the topic of heartbeats"),
      toHub("verify-with-start", patched(good("verify"), 9, 1), "a verify's start is 0"),
      toPeer("awaited-end", patched(good("awaited"), 29, 5), "ends are 0 to 4"),
      toPeer("count-all", patched(good("count"), 42, 2), "a flag is 0 or 1"),
      toPeer(
        "count-ephemeral", replaced(good("count"), "lamp", Array("l@mp".utf8)), "an @ in a model id"),
      toPeer("ask-flags", patched(good("ask"), 25, 1), "no bit has a meaning"),
      toPeer("ask-without-model", patched(good("ask"), 3, 0), "a model's topic is from 0x01000001 on"),
      toPeer("welcome-durability", patched(good("welcome"), 35, 3), "durabilities are 0, 1 and 2"),
      toPeer("error-code", patched(good("error"), 17, 15), "codes are 1 to 14"),
      toPeer(
        "status-report-without-value", Array(good("status-report").prefix(17)) + [0xFF, 0xFF, 0xFF, 0xFF],
        "a report has a value"),
      toPeer("joined-way", patched(good("joined"), 53, 2), "ways are 0 and 1"),
      toPeer("joined-follows", patched(good("joined"), 54, 3), "follows is 0, 1 or 2"),
      toPeer("catchup-form", patched(good("catchup-empty"), 45, 0), "forms are 1 and 2"),
      toPeer("catchup-snapshot-previous", patched(good("catchup-empty"), 29, 1), "a snapshot's previous is 0"),
      toPeer("catchup-backwards", patched(good("catchup-delta"), 29, 13), "previous lies beyond version"),
      toPeer("commits-origin", patched(good("commits"), 61, 1), "position 1 of a table of one"),
      toPeer(
        "commits-user-empty", replaced(good("commits-users"), "\u{4}anna", [0]), "what announces a user names one"),
      toPeer("commits-field", patched(good("commits"), 70, 0xFF, 0xFF, 0xFF, 0xFF), "0xFFFFFFFF is no field's id"),
      toPeer(
        "commits-last-version", patched(good("commits"), 17, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF),
        "no version follows the last"),
      toPeer("outcome-kind", patched(good("outcomes-unchanged"), 35, 9), "kinds are 1 to 8"),
      toPeer("outcome-number-zero", patched(good("outcomes-unchanged"), 31, 0), "numbers begin with 1"),
      toPeer("outcome-count-zero", patched(good("outcomes-committed"), 36, 0), "a count is at least 1"),
      toPeer(
        "outcome-count-over", patched(good("outcomes-committed"), 31, 0xFE, 0xFF, 0xFF, 0xFF),
        "three numbers from 4,294,967,294 on"),
      toPeer("outcome-refusal-code", patched(good("outcomes-refused"), 36, 18), "codes are 1 to 17"),
      toHub("approval-accept", patched(good("approval"), 21, 2), "accept is 0 or 1"),
      toHub(
        "approval-long", good("approval").dropLast(2) + [0xE9, 0x03] + [UInt8](repeating: 0x61, count: 1_001),
        "1,001 bytes; a reason has at most 1,000"),
      toPeer("rights-pattern-dot", replaced(good("rights"), "level", Array("le.el".utf8)), "a dot in a pattern"),
      toPeer("keys-two-next", patched(good("keys-next"), 49, 2) + [UInt8](repeating: 9, count: 40), "two next keys"),
      toPeer(
        "keys-next-is-present", Array(good("keys-next")[..<50] + good("keys-next")[17..<49] + good("keys-next")[82...]),
        "the next key is the present one"),
      toPeer("keys-short", Array(good("keys").dropLast(2)), "the present key is one byte short"),
      toPeer("approve-field-dot", replaced(good("approve"), "old", Array("o.d".utf8)), "a dot in a field name"),
      badJoin(
        "join-ephemeral-of-nothing", replaced(good("join-ephemeral"), "/lamp", Array("/l@mp".utf8)),
        "an @ in a model id"),
      toPeer("outcome-retry-later-code", patched(good("outcomes-retry-later"), 36, 6), "codes are 1 to 5"),
      toPeer("hubs-port", replaced(good("hubs"), "7877", Array("0000".utf8)), "no peer can connect to port 0"),
      toPeer(
        "hubs-many", patched(good("hubs-none"), 17, 33) + (0..<33).flatMap { _ in [9] + Array("ipc:///a/".utf8) },
        "33 addresses; at most 32 are allowed"),
      toHub(
        "forward-ephemeral", replaced(good("forward"), "lamp", Array("l@mp".utf8)), "an @ in a model id",
        error: .badName),
      toHub("forward-short", Array(good("forward").dropLast(1)), "the value is one byte short"),
      toHub("drain-anyway", patched(good("drain"), 17, 2), "a flag is 0 or 1"),
      toPeer("upstream-reached", patched(good("upstream"), 17, 2), "a flag is 0 or 1"),
    ]
  }

  private static var proposals: [BadVector] {
    func refused(_ file: String, _ bytes: [UInt8], _ problem: String, _ code: RefusalCode) -> BadVector {
      BadVector(
        file: file, direction: Vector.toHubName, bytes: bytes, problem: problem, refusal: code.rawValue)
    }
    return [
      toHub("propose-number-zero", patched(good("propose"), 19, 0), "numbers begin with 1"),
      toHub("propose-topic", patched(good("propose"), 15, 0), "0x01000000 is the topic of heartbeats"),
      toHub("propose-flags", patched(good("propose"), 27, 4), "bit 2 has no meaning"),
      toHub(
        "propose-name-not-utf8", replaced(good("propose-every-verb"), "label", [0x61, 0x62, 0x80, 0x63, 0x64]),
        "0x80 begins no character"),
      refused(
        "propose-condition-umlaut", replaced(good("propose-conditions"), "label", [0x6C, 0xC3, 0xA4, 0x65, 0x6C]),
        "a condition on a name that is no field's", .badName),
      refused("verb-unknown", patched(good("propose"), 33, 255), "255 is no verb", .unknownVerb),
      refused(
        "propose-name-dot", replaced(good("propose-every-verb"), "label", Array("la.el".utf8)), "a dot in a field name",
        .badName),
      refused(
        "propose-name-empty", replaced(good("propose-every-verb"), "\u{5}label", [0]),
        "a field name has at least one byte", .badName),
      refused(
        "propose-element-twice", replaced(good("propose-every-verb"), "label", Array("l@b@l".utf8)),
        "the id of an element has no @", .badName),
      refused(
        "propose-element-without-id", replaced(good("propose-every-verb"), "label", Array("labe@".utf8)),
        "the id of an element has at least one byte", .badName),
    ]
  }
}
