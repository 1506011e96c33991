import BindingWeb
import Foundation

/// A folder with copies of the tests' certificates (`Certificates/make`), whose keys only their owner can read.
final class CertificateFolder {
  private let folder: URL

  static let stored = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Certificates")

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("tls-\(UInt64.random(in: 0 ... .max))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    try use("hall")
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  var certificate: URL { folder.appendingPathComponent("cert.pem") }
  var key: URL { folder.appendingPathComponent("cert.key") }
  var files: WebCertificate { WebCertificate(certificatePath: certificate.path, keyPath: key.path) }

  static func text(_ name: String) throws -> String {
    try String(contentsOf: stored.appendingPathComponent(name), encoding: .utf8)
  }

  /// Puts this certificate, and the key of this or another, in the place of those of before.
  func use(_ name: String, key other: String? = nil) throws {
    try write(try CertificateFolder.text("\(name).pem"), key: try CertificateFolder.text("\(other ?? name).key"))
  }

  func write(_ certificate: String, key text: String, mode: Int = 0o600) throws {
    try Data(certificate.utf8).write(to: self.certificate)
    try Data(text.utf8).write(to: key)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: key.path)
  }
}
