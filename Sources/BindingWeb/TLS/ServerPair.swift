import NIOCore

#if WebTLS
  import NIOSSL

  /// A certificate with its key, ready for new connections.
  struct ServerPair: Sendable {
    /// The names and addresses that the certificate is for; an IPv6 address in brackets.
    let names: [String]
    let term: CertificateTerm
    private let context: NIOSSLContext

    /// Certificates of one file.
    static let maxCertificates = 16

    /// Reads both files.
    /// - Throws: `WebError.certificate`, with what to do.
    init(_ files: WebCertificate) throws(WebError) {
      let path = files.certificatePath
      let (chainBytes, keyBytes) = (try files.readCertificate(), try files.readKey())
      guard let chain = try? NIOSSLCertificate.fromPEMBytes(chainBytes), let first = chain.first else {
        throw .certificate(path: path, problem: "a certificate in it is damaged")
      }
      guard chain.count <= ServerPair.maxCertificates else {
        throw .certificate(
          path: path, problem: "it holds \(chain.count) certificates; at most \(ServerPair.maxCertificates) are served")
      }
      guard let key = try? NIOSSLPrivateKey(bytes: keyBytes, format: .pem) else {
        throw .certificate(path: files.keyPath, problem: "the key in it is damaged, or of a kind that TLS does not use")
      }
      guard let context = ServerPair.context(chain, key) else {
        throw .certificate(
          path: path,
          problem: chain.dropFirst().contains { ServerPair.context([$0], key) != nil }
            ? "the certificate of the key is not the first in it: write it first, then those of its issuers"
            : "no certificate in it is that of the key in \(files.keyPath): name two files that belong together")
      }
      self.context = context
      names = ServerPair.names(of: first)
      term = CertificateTerm(from: Int64(first.notValidBefore), until: Int64(first.notValidAfter))
    }

    /// The encryption of a new connection.
    func add(to pipeline: ChannelPipeline.SynchronousOperations) throws {
      try pipeline.addHandler(NIOSSLServerHandler(context: context))
    }

    /// Whether a handshake failed by what the other side sent.
    static func isHandshake(_ error: any Error) -> Bool {
      guard case NIOSSLError.handshakeFailed(let reason) = error else { return false }
      return reason != .sslError([.eofDuringHandshake])
    }

    /// Ends a connection at once: for the farewell of TLS, its other side could let the gateway wait.
    static func cut(_ channel: any Channel) {
      if let context = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
        context.close(promise: nil)
      } else {
        channel.close(promise: nil)
      }
    }

    /// Nil if the key is not that of the first certificate.
    private static func context(_ chain: [NIOSSLCertificate], _ key: NIOSSLPrivateKey) -> NIOSSLContext? {
      var configuration = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
      configuration.minimumTLSVersion = .tlsv12
      configuration.applicationProtocols = ["http/1.1"]
      configuration.shutdownTimeout = .seconds(1)
      return try? NIOSSLContext(configuration: configuration)
    }

    private static func names(of certificate: NIOSSLCertificate) -> [String] {
      certificate._subjectAlternativeNames().compactMap { name in
        switch name.nameType {
        case .ipAddress: return NumericAddress(packed: Array(name.contents))?.host
        case .dnsName:
          let text = String(decoding: name.contents, as: UTF8.self).lowercased()
          return WebAddress.isHost(text.hasPrefix("*.") ? String(text.dropFirst(2)) : text) ? text : nil
        default: return nil
        }
      }
    }
  }
#else
  /// This build has no TLS: there is never such a pair.
  struct ServerPair: Sendable {
    let names: [String]
    let term: CertificateTerm

    init(_ files: WebCertificate) throws(WebError) { throw .noTLS }

    func add(to pipeline: ChannelPipeline.SynchronousOperations) throws { throw WebError.noTLS }

    static func isHandshake(_ error: any Error) -> Bool { false }

    static func cut(_ channel: any Channel) { channel.close(promise: nil) }
  }
#endif
