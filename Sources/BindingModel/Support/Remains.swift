/// What an object that is gone held.
final class Remains {
  private var contents: [Any] = []

  /// Nobody else may hold it from here on: what is let go of elsewhere is not let go of link by link.
  func add(_ content: Any) { contents.append(content) }

  func release() { contents = [] }
}
