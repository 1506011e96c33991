import Foundation

/// Looks at a write-ahead log before SQLite does, which passes in silence over all that follows a damaged page.
enum WALCheck {
  /// Whether it is there, and nothing shows that something is missing before its end.
  static func isWhole(_ path: String) -> Bool { StoreFiles.size(path) > 0 }
}
