#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The files of a certificate and its private key, with which a gateway encrypts its connections itself.
public struct WebCertificate: Hashable, Sendable {
  /// A PEM file: the certificate of this host first, then those of its issuers.
  public var certificatePath: String
  /// A PEM file with the private key, without a passphrase. Its owner alone may read it; if it is another user's, such
  /// as root's, a group may too.
  public var keyPath: String

  /// Bytes of one file.
  static let maxFileBytes = 1_048_576

  /// Names the two files. `WebGateway.start` reads them, and `WebGateway.reloadCertificate` reads them again.
  public init(certificatePath: String, keyPath: String) {
    self.certificatePath = certificatePath
    self.keyPath = keyPath
  }

  // MARK: Reading

  func readCertificate() throws(WebError) -> [UInt8] {
    let bytes = try WebCertificate.read(certificatePath) { _ in nil }
    let text = String(decoding: bytes, as: UTF8.self)
    guard text.contains("-----BEGIN CERTIFICATE-----") || text.contains("-----BEGIN TRUSTED CERTIFICATE-----") else {
      throw .certificate(
        path: certificatePath,
        problem: text.contains("PRIVATE KEY-----")
          ? "it holds a private key; name the certificate first:  --web-tls CERT KEY"
          : "it holds no certificate in PEM form, which begins with -----BEGIN CERTIFICATE-----")
    }
    return bytes
  }

  func readKey() throws(WebError) -> [UInt8] {
    let path = keyPath
    let bytes = try WebCertificate.read(path) { info in
      let isOwn = info.st_uid == geteuid()
      if info.st_mode & (isOwn ? 0o077 : 0o027) == 0 { return nil }
      return "other users can read it; restrict it:  chmod \(isOwn ? "600" : "640") \(path)"
    }
    let text = String(decoding: bytes, as: UTF8.self)
    guard text.contains("PRIVATE KEY-----") else {
      throw .certificate(
        path: path, problem: "it holds no private key in PEM form; name the key second:  --web-tls CERT KEY")
    }
    guard !text.contains("ENCRYPTED") else {
      throw .certificate(
        path: path,
        problem: "a passphrase protects the key; store it without one:  openssl pkey -in \(path) -out NEW")
    }
    return bytes
  }

  private static func read(_ path: String, check: (stat) -> String?) throws(WebError) -> [UInt8] {
    // What is no file, such as a pipe, must not block.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .certificate(path: path, problem: String(cString: strerror(errno))) }
    defer { close(descriptor) }
    var info = stat()
    guard fstat(descriptor, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
      throw .certificate(path: path, problem: "it is not a file")
    }
    if let problem = check(info) { throw .certificate(path: path, problem: problem) }
    guard info.st_size <= WebCertificate.maxFileBytes else {
      throw .certificate(path: path, problem: "it is longer than \(WebCertificate.maxFileBytes) bytes")
    }
    var bytes = [UInt8](repeating: 0, count: WebCertificate.maxFileBytes)
    var filled = 0
    while filled < bytes.count {
      let count = bytes[filled...].withUnsafeMutableBytes { systemRead(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .certificate(path: path, problem: String(cString: strerror(errno))) }
      if count == 0 { break }
      filled += count
    }
    return Array(bytes[..<filled])
  }
}

// Inside the type, `read` would mean its own function.
private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, bytes, count)
}
