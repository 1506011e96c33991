import NIOCore

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A folder of the user's own pages.
struct UserPages: Sendable {
  private let root: String

  init(_ path: String) throws(WebError) {
    guard let root = UserPages.realPath(path) else {
      throw .pages(path: path, problem: String(cString: strerror(errno)))
    }
    guard UserPages.kind(of: root) == S_IFDIR else { throw .pages(path: path, problem: "it is not a directory") }
    self.root = root
  }

  /// The result of a lookup.
  enum Found {
    case file(ServedFile)
    case nothing
    /// Something exists there, of a kind that is not served.
    case otherKind
    case tooLong
  }

  /// Reads a file; blocks for the disk. Finds nothing at a path with an empty part, with `..` or with a name that
  /// begins with a dot, or where a symbolic link leads out of the folder.
  func read(_ parts: [String], limit: Int) -> Found {
    let parts = parts.last == "" ? parts.dropLast() + ["index.html"] : parts
    guard !parts.contains(where: { $0.isEmpty || $0.hasPrefix(".") || $0.contains("/") }) else { return .nothing }
    guard let path = UserPages.realPath(root + "/" + parts.joined(separator: "/")),
      path.hasPrefix(root == "/" ? root : root + "/")
    else { return .nothing }
    guard UserPages.kind(of: path) == S_IFREG else { return .nothing }
    guard let type = ServedFile.type(of: parts[parts.count - 1]) else { return .otherKind }
    guard let file = fopen(path, "rbe") else { return .nothing }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&part, 1, part.count, file), count > 0 {
      bytes += part[..<count]
      if bytes.count > limit { return .tooLong }
    }
    return ferror(file) != 0 ? .nothing : .file(ServedFile(type: type, body: ByteBuffer(bytes: bytes)))
  }

  private static func realPath(_ path: String) -> String? {
    guard let found = realpath(path, nil) else { return nil }
    defer { free(found) }
    return String(cString: found)
  }

  private static func kind(of path: String) -> mode_t? {
    var info = stat()
    return stat(path, &info) == 0 ? info.st_mode & S_IFMT : nil
  }
}
