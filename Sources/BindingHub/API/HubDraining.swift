package import BindingKeys
package import BindingProtocol

/// Has a hub send its peers to the others of its log and then end, as `bindhub drain` does. Needs no session.
package enum HubDraining {
  /// How a drain ended.
  package struct Report: Sendable, Hashable {
    /// The sessions that were sent to other hubs.
    package var moved: Int
    /// Those that were left when the time was over.
    package var left: Int
    /// How long it took.
    package var milliseconds: Int
  }

  /// Why there is no report.
  package enum DrainingError: Error, Sendable, Hashable {
    /// No hub answered.
    case noHub
    /// The hub does not know the request.
    case hubTooOld
    /// The hub refused, in its words: it knows no other hub.
    case refused(String)
    /// The user lacks the right to ask, in the hub's words.
    case notPermitted(String)
    /// The hub ended, or hung, before it could say how the drain went.
    case silent
  }

  /// Drains a hub, and waits on the calling thread.
  /// - Parameters:
  ///   - address: the hub's address.
  ///   - member: the hub as this user has joined it, for an encrypted address.
  ///   - limit: when the hub ends even if peers are left; at most an hour.
  ///   - isAnyway: whether a hub that knows no other one ends too.
  /// - Throws: `DrainingError` when the hub does not answer or refuses.
  package static func drain(
    _ address: HubAddress, as member: KnownHub? = nil, within limit: Duration, isAnyway: Bool = false
  ) throws(DrainingError) -> Report {
    // The answer comes at the end: whether a hub is there at all is asked first.
    switch HubStatus.answer(from: address, as: member, timeout: .seconds(2)) {
    case .none: throw .noHub
    case .refused(let text): throw .notPermitted(text)
    case .report: break
    }
    guard let inquiry = HubInquiry(to: address, as: member) else { throw .noHub }
    let request = DrainRequest(
      withinMilliseconds: UInt32(clamping: min(limit, .seconds(3_600)).wholeMilliseconds), isAnyway: isAnyway)
    // The hub gets some time more than it may take.
    switch inquiry.ask(.drain(request), timeout: limit + .seconds(5)) {
    case nil: throw .silent
    case .error(let error) where error.code == .unknownKind: throw .hubTooOld
    case .error(let error) where error.code == .notPermitted: throw .notPermitted(error.text)
    case .error(let error): throw .refused(error.text)
    case .statusReport(let report):
      guard let json = try? report.json.json, let moved = json["moved"]?.int64, let left = json["left"]?.int64,
        let milliseconds = json["milliseconds"]?.int64
      else { throw .silent }
      return Report(moved: Int(moved), left: Int(left), milliseconds: Int(milliseconds))
    default: throw .silent
    }
  }
}
