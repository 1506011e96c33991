package import BindingKeys
public import BindingProtocol

/// Has a hub compare all peers' replicas with its own models, as `bindhub verify` does. Needs no session.
public enum HubVerification {
  /// The result for one model.
  public struct Finding: Sendable, Hashable {
    /// The model's id.
    public var model: String
    /// The hub's version at its answer.
    public var version: Version
    /// The hub's digest at its answer, hexadecimal.
    public var digest: String
    /// The number of peers with the hub's values.
    public var equal: Int
    /// Peers with other values at the same version, each as `name-tag`.
    public var different: [String]
    /// Peers that did not answer in time, each as `name-tag`.
    public var silent: [String]
    /// Peers too old to be asked, each as `name-tag`.
    public var unable: [String]
  }

  /// Why there is no result.
  public enum VerificationError: Error, Sendable, Hashable {
    /// No hub answered.
    case noHub
    /// The hub does not know the question.
    case hubTooOld
    /// The hub refused for now, in its words.
    case refused(String)
    /// The user lacks the right to ask, in the hub's words.
    case notPermitted(String)
    /// The hub was restarted meanwhile.
    case restarted
  }

  /// Compares all models that `names` selects, and waits on the calling thread.
  /// - Parameters:
  ///   - address: the hub's address.
  ///   - names: model ids, and prefixes that end in `/`, the first 255 of them; empty: all models.
  ///   - timeout: how long the hub may wait for peers, for each of its answers (64 models).
  /// - Returns: the findings, ordered by model id.
  /// - Throws: `VerificationError` when the hub does not answer, refuses or restarts.
  public static func ask(
    _ address: HubAddress, names: [String] = [], timeout: Duration
  ) throws(VerificationError) -> [Finding] {
    try ask(address, as: nil, names: names, timeout: timeout)
  }

  /// The same over a connection of a member.
  /// - Parameter member: the hub as this user has joined it, for an encrypted address.
  package static func ask(
    _ address: HubAddress, as member: KnownHub?, names: [String], timeout: Duration
  ) throws(VerificationError) -> [Finding] {
    guard let inquiry = HubInquiry(to: address, as: member) else { throw .noHub }
    var findings: [Finding] = []
    var (after, start): (Topic, String?) = (Topics.none, nil)
    repeat {
      let question = Verify(
        timeoutMilliseconds: UInt32(clamping: timeout.wholeMilliseconds), after: after, names: Array(names.prefix(255)))
      // The hub gets one second more than it may take; after that it counts as absent.
      switch inquiry.ask(.verify(question), timeout: timeout + .seconds(1)) {
      case nil: throw .noHub
      case .error(let error) where error.code == .unknownKind: throw .hubTooOld
      case .error(let error) where error.code == .notPermitted: throw .notPermitted(error.text)
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

extension HubVerification {
  /// What several hubs of one log have found, as one: the peers of all of them. Where two hubs have other values at the
  /// same version, the latter is among the different ones under its address.
  package static func sum(_ hubs: [(address: HubAddress, findings: [Finding])]) -> [Finding] {
    var sums: [String: Finding] = [:]
    for (address, findings) in hubs {
      for finding in findings {
        guard var sum = sums[finding.model] else {
          sums[finding.model] = finding
          continue
        }
        sum.equal += finding.equal
        sum.different += finding.different
        sum.silent += finding.silent
        sum.unable += finding.unable
        if finding.version == sum.version, finding.digest != sum.digest { sum.different.append("\(address)") }
        if finding.version > sum.version { (sum.version, sum.digest) = (finding.version, finding.digest) }
        sums[finding.model] = sum
      }
    }
    return sums.values.sorted { $0.model < $1.model }
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

  /// The finding as a JSON object. A test pins the names.
  public var json: JSON {
    func list(_ names: [String]) -> JSON { .array(names.map(JSON.string)) }
    return .object([
      .init("model", .string(model)), .init("version", .integer(Int64(clamping: version))),
      .init("digest", .string(digest)), .init("equal", .integer(Int64(equal))), .init("different", list(different)),
      .init("silent", list(silent)), .init("unable", list(unable)),
    ])
  }

  /// The finding as one line of text.
  public var words: String {
    var words = "\(model)  \(version)  \(digest)  \(equal) equal"
    for (what, names) in [("different", different), ("not answering", silent), ("not supported", unable)]
    where !names.isEmpty {
      words += "  \(names.count) \(what): \(names.joined(separator: ", "))"
    }
    return words
  }
}
