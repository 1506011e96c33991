#if Etcd
  import BindingHub
  import NIOCore
  import NIOSSL

  /// TLS to etcd, from the files of the options.
  struct EtcdTLS: Sendable {
    private let context: NIOSSLContext

    /// Reads the files.
    /// - Parameter protocols: what the connections are for; empty: HTTP/1.
    /// - Throws: `StoreError` that names the file.
    init(_ options: EtcdOptions, protocols: [String]) throws(StoreError) {
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.minimumTLSVersion = .tlsv12
      configuration.applicationProtocols = protocols
      if let path = options.ca {
        guard let roots = try? NIOSSLCertificate.fromPEMFile(path), !roots.isEmpty else {
          throw StoreError("\(path) has no certificate that can be read: name etcd's CA as a PEM file", .cannotOpen)
        }
        configuration.trustRoots = .certificates(roots)
      }
      if let path = options.certificate {
        guard let chain = try? NIOSSLCertificate.fromPEMFile(path), !chain.isEmpty else {
          throw StoreError("\(path) has no certificate that can be read: name a PEM file", .cannotOpen)
        }
        let keyPath = options.key ?? path
        guard let key = try? NIOSSLPrivateKey(file: keyPath, format: .pem) else {
          throw StoreError(
            "\(keyPath) has no key that can be read: name the certificate's key as a PEM file", .cannotOpen)
        }
        configuration.certificateChain = chain.map { .certificate($0) }
        configuration.privateKey = .privateKey(key)
      }
      do {
        context = try NIOSSLContext(configuration: configuration)
      } catch {
        throw StoreError("certificate and key for etcd do not belong together: \(error)", .cannotOpen)
      }
    }

    /// The handler of a connection to a node.
    func handler(for host: String) throws -> NIOSSLClientHandler {
      do {
        return try NIOSSLClientHandler(context: context, serverHostname: host)
      } catch {
        // An address is no server name: it is looked for in the certificate as an address.
        return try NIOSSLClientHandler(context: context, serverHostname: nil)
      }
    }

    /// What failed, with a cure where there is one.
    static func text(of error: any Error) -> String {
      let text = String(describing: error)
      guard error is NIOSSLError || error is BoringSSLError || text.contains("SSL") else { return text }
      if text.contains("CERTIFICATE_VERIFY_FAILED") {
        return "its certificate is not trusted: name the CA of etcd's certificates"
      }
      if text.contains("BAD_CERTIFICATE") || text.contains("CERTIFICATE_REQUIRED") || text.contains("UNKNOWN_CA") {
        return "it wants a client certificate that its CA has signed: name certificate and key"
      }
      if text.contains("WRONG_VERSION_NUMBER") { return "it does not speak TLS: use etcd:// without certificates" }
      return "TLS failed: \(text)"
    }
  }
#endif
