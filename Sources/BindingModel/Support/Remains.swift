/// The contents of an object that is gone.
final class Remains {
  private var contents: [Any] = []

  /// The caller must hold no other reference: what is released elsewhere is not released link by link.
  func add(_ content: Any) { contents.append(content) }

  func release() { contents = [] }
}
