import ArgumentParser
import BindingWeb

/// Selects whether and where a hub also serves pages to browsers.
struct WebChoice: ParsableArguments {
  @Option(
    name: .customLong("web"),
    help: ArgumentHelp(
      "Also serve pages for browsers. Default address: \(WebAddress.standard); port 0 picks a free port.",
      discussion: "Prints the address to open, with a one-time code. To get another:  bindhub web",
      valueName: "address"))
  var web: String?

  @Option(
    name: .customLong("web-tls"), parsing: .upToNextOption,
    help: ArgumentHelp(
      "Encrypt the pages, with a certificate and its key in two PEM files.",
      discussion: "Sent SIGHUP, the hub reads them again.", valueName: "cert> <key"))
  var tls: [String] = []

  @Option(
    name: .customLong("web-origin"),
    help: ArgumentHelp(
      "Origin under which browsers reach the pages, such as https://panel.example. Repeatable; the first is printed.",
      valueName: "origin"))
  var origins: [String] = []

  @Option(
    name: .customLong("web-proxy"),
    help: ArgumentHelp(
      "Address or range of a reverse proxy, such as 10.0.0.2 or 10.0.0.0/24, whose X-Forwarded headers count. "
        + "Repeatable.", valueName: "address"))
  var proxies: [String] = []

  @Flag(name: .customLong("web-open"), help: "Require no token: any client that can connect may read and write.")
  var webOpen = false

  @Option(name: .long, help: ArgumentHelp("Directory of your own pages, served under /pages/.", valueName: "folder"))
  var pages: String?

  func validate() throws {
    if web == nil, webOpen { throw ValidationError("--web-open needs --web") }
    if web == nil, !tls.isEmpty { throw ValidationError("--web-tls needs --web") }
    if web == nil, !origins.isEmpty { throw ValidationError("--web-origin needs --web") }
    if web == nil, !proxies.isEmpty { throw ValidationError("--web-proxy needs --web") }
    if !tls.isEmpty, tls.count != 2 {
      throw ValidationError("--web-tls takes two files, the certificate and its key, not \(tls.count)")
    }
    if web == nil, pages != nil { throw ValidationError("--pages needs --web") }
  }

  /// The configuration of the gateway; nil: no pages. Ends the program with 64 if the given text is not an address.
  /// - Parameter keyPath: the file that stores the token for the next start; nil: none.
  func configuration(isInsecureAllowed: Bool, keyPath: String?) -> WebGateway.Configuration? {
    guard let web else { return nil }
    var configuration = WebGateway.Configuration()
    do throws(WebError) {
      configuration.address = try WebAddress(web)
      configuration.origins = try origins.map { text throws(WebError) in try WebOrigin(text) }
      configuration.proxies = try proxies.map { text throws(WebError) in try WebProxy(text) }
    } catch {
      fail("\(error)", error.exitCode)
    }
    if tls.count == 2 {
      configuration.certificate = WebCertificate(
        certificatePath: absolutePath(tls[0]), keyPath: absolutePath(tls[1]))
    }
    configuration.isTokenAsked = !webOpen
    configuration.isInsecureAllowed = isInsecureAllowed
    configuration.keyPath = keyPath
    configuration.pagesFolder = pages.map(absolutePath)
    return configuration
  }

  /// Inserts the default address after a bare `--web`; the parser has no options with an optional value.
  static func completed(_ arguments: [String]) -> [String] {
    guard let verb = arguments.first, Serve.takesOptions(verb) else { return arguments }
    return arguments.indices.flatMap { index in
      let next = arguments.indices.contains(index + 1) ? arguments[index + 1] : "-"
      return arguments[index] == "--web" && next.hasPrefix("-")
        ? ["--web", WebAddress.standard.description] : [arguments[index]]
    }
  }
}

extension WebError {
  /// The exit code for scripts (EX_USAGE, EX_CANTCREAT, EX_SOFTWARE, EX_CONFIG of sysexits).
  var exitCode: Int32 {
    switch self {
    case .noAddress, .pages, .noOrigin, .noProxy, .tooMany, .twoSchemes: 64
    case .key, .members, .certificate, .noTLS: 78
    case .addressInUse, .cannotListen: 73
    case .startedBefore: 70
    case .notLoopback: 78
    }
  }
}
