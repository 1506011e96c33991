public import BindingProtocol

/// Asks a hub for its status, as `bindhub status` does. Needs no session.
public enum HubStatus {
  /// Asks for the report and waits on the calling thread; nil if no hub answers in time.
  public static func ask(_ address: HubAddress, timeout: Duration) -> JSON? {
    guard let inquiry = HubInquiry(to: address),
      case .statusReport(let report)? = inquiry.ask(.status, timeout: timeout)
    else { return nil }
    return try? report.json.json
  }
}
