import BindingHub
import BindingProtocol

/// Checks on what shares make of a description.
extension LogOracle {
  /// §8: a share only widens, follows the highest release, and is a commit only if it changes something. Only shares
  /// give a description a release.
  func checkDescription(_ value: FieldValue?, after former: FieldValue?, at point: Point) throws(Violation) {
    guard let json = try? value?.json, let release = json["release"]?.int64 else { return }
    func fault(_ words: String) -> Violation {
      Violation(
        .description,
        "version \(point.version) of \(title(point)) \(words): it made \(describe(value)) of \(describe(former))")
    }
    if value == former { throw fault("is a share that changes nothing") }
    let field = json["fields"]?["n"]
    if field?["title"]?.string != "\(release)" { throw fault("does not have the title of the highest release") }
    guard let before = try? former?.json else { return }
    if release < before["release"]?.int64 ?? 0 { throw fault("lowered the release") }
    guard let described = before["fields"]?["n"] else { return }
    switch (described["max"]?.int64, field?["max"]?.int64) {
    case (nil, nil): break
    case (nil, _?): throw fault("narrowed the range")
    case (let old?, let new): if let new, new < old { throw fault("narrowed the range") }
    }
  }
}
