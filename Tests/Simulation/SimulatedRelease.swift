import BindingPeer
import BindingProtocol

/// The declarations of three releases of one program, which applications share.
enum SimulatedRelease {
  static let all = 1...3
  /// The greatest number that each release allows: the newest one is not the widest.
  private static let most = [10, 30, 20]

  /// What a release declares of the counter. The newest one gives it another name.
  /// - Parameter hasList: whether all releases have the list, too.
  static func declaration(_ release: Int, hasList: Bool) -> FieldValue {
    let field = "{\"type\":\"integer\",\"max\":\(most[release - 1]),\"title\":\"\(release)\"}"
    let alias = release == all.upperBound ? ",\"alias\":{\"\(SimulatedField.names[SimulatedField.alias])\":\"n\"}" : ""
    let list = hasList ? ",\(SimulatedField.describedList)" : ""
    return FieldValue(bytes: Array("{\"release\":\(release),\"fields\":{\"n\":\(field)\(list)}\(alias)}".utf8))
  }
}
