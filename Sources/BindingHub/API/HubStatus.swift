package import BindingKeys
public import BindingProtocol

/// Asks a hub for its status, as `bindhub status` does. Needs no session.
public enum HubStatus {
  /// What became of the question.
  package enum Answer {
    case report(JSON)
    /// The hub refuses it, in its words: the user lacks the right.
    case refused(String)
    case none
  }

  /// Asks for the report and waits on the calling thread; nil if no hub answers in time, or if it refuses.
  public static func ask(_ address: HubAddress, timeout: Duration) -> JSON? {
    if case .report(let report) = answer(from: address, timeout: timeout) { report } else { nil }
  }

  /// The same with the hub's refusal.
  /// - Parameter member: the hub as this user has joined it, for an encrypted address.
  package static func answer(from address: HubAddress, as member: KnownHub? = nil, timeout: Duration) -> Answer {
    switch HubInquiry(to: address, as: member)?.ask(.status, timeout: timeout) {
    case .statusReport(let report)?: (try? report.json.json).map { .report($0) } ?? .none
    case .error(let error)? where error.code == .notPermitted: .refused(error.text)
    default: .none
    }
  }
}
