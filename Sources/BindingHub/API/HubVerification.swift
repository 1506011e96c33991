public import BindingProtocol

/// Has a hub compare the replicas of all peers with its own models, as `bindhub verify` does: without a session.
public enum HubVerification {
  /// What was found of one model.
  public struct Finding: Sendable, Hashable {
    public var model: String
    /// The hub's, when it answered.
    public var version: Version
    public var digest: String
    /// How many peers had the hub's values.
    public var equal: Int
    /// Peers that had others at the same version; that did not say in time; that cannot be asked, since they are too
    /// old. Each as `name-tag`.
    public var different: [String]
    public var silent: [String]
    public var unable: [String]
  }

  public enum Failure: Error, Sendable, Hashable {
    case noHub
    /// The hub does not know the question.
    case hubTooOld
    /// The hub could not, in its words.
    case refused(String)
    /// The hub was started anew meanwhile.
    case restarted
  }

  /// Asks until all models that `names` means are answered for, and waits on the calling thread.
  /// - Parameters:
  ///   - names: model ids, and prefixes that end in `/`; none: all models.
  ///   - timeoutMilliseconds: how long the hub may wait for peers, for each of its answers (64 models).
  /// - Returns: by the models' ids, in order.
  public static func ask(
    _ address: HubAddress, names: [String] = [], timeoutMilliseconds: Int
  ) throws(Failure) -> [Finding] {
    guard let inquiry = HubInquiry(to: address) else { throw .noHub }
    var findings: [Finding] = []
    var (after, start): (Topic, String?) = (Topics.none, nil)
    repeat {
      let question = Verify(
        timeoutMilliseconds: UInt32(clamping: timeoutMilliseconds), after: after, names: Array(names.prefix(255)))
      // A second more than the hub takes: then there is none.
      switch inquiry.ask(.verify(question), timeoutMilliseconds: timeoutMilliseconds + 1_000) {
      case nil: throw .noHub
      case .error(let error) where error.code == .unknownKind: throw .hubTooOld
      case .error(let error): throw .refused(error.text)
      case .statusReport(let report):
        guard let json = try? report.json.json, let next = json["next"]?.int64 else { throw .noHub }
        if let start, start != json["start"]?.string { throw .restarted }
        start = json["start"]?.string
        findings += json["models"]?.elements?.compactMap(Finding.init) ?? []
        after = Topic(truncatingIfNeeded: next)
      default: throw .noHub
      }
    } while after != Topics.none
    return findings.sorted { $0.model < $1.model }
  }
}

extension HubVerification.Finding {
  init?(_ json: JSON) {
    func names(_ member: String) -> [String] { json[member]?.elements?.compactMap(\.string) ?? [] }
    guard let model = json["model"]?.string, let version = json["version"]?.int64, let digest = json["digest"]?.string,
      let equal = json["equal"]?.int64
    else { return nil }
    self.init(
      model: model, version: Version(clamping: version), digest: digest, equal: Int(equal),
      different: names("different"), silent: names("silent"), unable: names("unable"))
  }

  /// One object; the names are pinned by a test.
  public var json: JSON {
    func list(_ names: [String]) -> JSON { .array(names.map(JSON.string)) }
    return .object([
      .init("model", .string(model)), .init("version", .integer(Int64(clamping: version))),
      .init("digest", .string(digest)), .init("equal", .integer(Int64(equal))), .init("different", list(different)),
      .init("silent", list(silent)), .init("unable", list(unable)),
    ])
  }

  /// One line for people.
  public var words: String {
    var words = "\(model)  \(version)  \(digest)  \(equal) equal"
    for (what, names) in [("different", different), ("not answering", silent), ("cannot be asked", unable)]
    where !names.isEmpty {
      words += "  \(names.count) \(what): \(names.joined(separator: ", "))"
    }
    return words
  }
}
