public import BindingWire
import ZeroMQ

/// Asks a hub for its status, as `bindhub status` does: one question without a session.
public enum HubStatus {
  /// The report; nil if no hub answers in time. Waits on the calling thread.
  public static func ask(_ address: HubAddress, timeoutMilliseconds: Int) -> JSON? {
    guard let context = try? Context(), let socket = try? Socket(.dealer, in: context),
      (try? socket.connect(address.description)) != nil,
      (try? socket.send(PeerMessage.status.encode(session: 0, start: 0), [])) == .sent
    else { return nil }
    var message = Message()
    guard (try? socket.wait(for: .readable, timeoutMilliseconds: timeoutMilliseconds)) == true,
      (try? socket.receive(into: &message)) == true,
      case (_, .statusReport(let report))? = try? HubMessage.decode(message.unsafeBytes)
    else { return nil }
    return try? report.json.json
  }
}
