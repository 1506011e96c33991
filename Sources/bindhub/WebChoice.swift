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

  @Flag(name: .customLong("web-open"), help: "Require no token: any client that can connect may read and write.")
  var webOpen = false

  @Option(name: .long, help: ArgumentHelp("Directory of your own pages, served under /pages/.", valueName: "folder"))
  var pages: String?

  func validate() throws {
    if web == nil, webOpen { throw ValidationError("--web-open needs --web") }
    if web == nil, pages != nil { throw ValidationError("--pages needs --web") }
  }

  /// The configuration of the gateway; nil: no pages. Ends the program with 64 if the given text is not an address.
  /// - Parameter keyPath: the file that stores the token for the next start; nil: none.
  func configuration(isInsecureAllowed: Bool, keyPath: String?) -> WebGateway.Configuration? {
    guard let web else { return nil }
    var configuration = WebGateway.Configuration()
    do throws(WebError) { configuration.address = try WebAddress(web) } catch { fail("\(error)", error.exitCode) }
    configuration.isTokenAsked = !webOpen
    configuration.isInsecureAllowed = isInsecureAllowed
    configuration.keyPath = keyPath
    configuration.pagesFolder = pages.map(absolutePath)
    return configuration
  }

  /// Inserts the default address after a bare `--web`; the parser has no options with an optional value.
  static func completed(_ arguments: [String]) -> [String] {
    guard arguments.first == "serve" else { return arguments }
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
    case .noAddress, .pages: 64
    case .key, .members: 78
    case .addressInUse, .cannotListen: 73
    case .startedBefore: 70
    case .notLoopback: 78
    }
  }
}
