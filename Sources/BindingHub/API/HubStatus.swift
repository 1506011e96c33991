public import BindingProtocol

/// Asks a hub for its status, as `bindhub status` does: one question without a session.
public enum HubStatus {
  /// The report; nil if no hub answers in time. Waits on the calling thread.
  public static func ask(_ address: HubAddress, timeoutMilliseconds: Int) -> JSON? {
    guard let inquiry = HubInquiry(to: address),
      case .statusReport(let report)? = inquiry.ask(.status, timeoutMilliseconds: timeoutMilliseconds)
    else { return nil }
    return try? report.json.json
  }
}
