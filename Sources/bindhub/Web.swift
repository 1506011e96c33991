import ArgumentParser
import BindingHub
import BindingProtocol
import BindingTerminal
import BindingWeb
import Foundation

/// Prints or opens an address that gives a browser access.
struct Web: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print an address that signs a browser in to the hub's pages.",
    discussion: """
      The address works once, within five minutes. The browser that opens it stays signed in for 30 days, even if the
      hub restarts. Only the user who runs the hub can create an address: the token is in a file beside the store whose
      name ends in '.web', and only that user can read it. Programs send the token as 'Authorization: Bearer TOKEN'. To
      revoke all access, delete the file and restart the hub.

      Browsers send cookies to every port of a host. If other accounts of this machine serve pages too, use --own-name:
      it prints the address under a subdomain of 'localhost' that only this hub has. Chromium, Edge and Firefox resolve
      such names to this machine.
      """)

  @OptionGroup var choice: HubChoice

  @Flag(name: .long, help: "Also open the address in this user's browser.")
  var open = false

  @Flag(name: .long, help: "Use a subdomain of 'localhost' that only this hub has.")
  var ownName = false

  @Flag(name: .long, help: "Print one JSON object: url, address and the token for programs.")
  var json = false

  func run() throws {
    let address = choice.address()
    let entry = entry(of: address)
    guard let url = ownName ? entry.ownNameURL() : entry.url() else {
      fail(
        "--own-name needs pages that require a token, at 127.0.0.1 or on all interfaces, without --web-tls; the hub's"
          + " are at \(entry.address). Omit --own-name", 1)
    }
    if json {
      let token = entry.token.map { JSON.string($0) } ?? .null
      print(
        JSON.object([
          .init("url", .string(url)), .init("address", .string(entry.address)),
          .init("origin", .string(entry.origin)), .init("token", token),
        ]).text)
    } else {
      print(url)
    }
    if open { Web.open(url, beside: entry.path) }
  }

  /// The access data of the pages of the hub at that address; ends the program if there is none.
  private func entry(of address: HubAddress) -> WebEntry {
    guard let report = HubStatus.ask(address, timeout: .milliseconds(2_000)) else {
      fail(choice.noAnswer(at: address, to: "web"), 69)
    }
    let reported = report["store"]?["path"]
    let store = reported == nil || reported == .null ? StoreChoice.defaultPath(for: address) : reported?.plain
    do throws(WebError) {
      if let path = store.map(StoreChoice.webKeyPath), let entry = try WebEntry.read(path), entry.isServed() {
        return entry
      }
    } catch {
      fail(error.description, error.exitCode)
    }
    fail(
      "The hub at \(address) serves no pages, or its token is not in a file.\n"
        + "To serve pages:  bindhub serve --web", 1)
  }

  /// Keeps the code out of program arguments, which every account of the machine can read: the browser opens a
  /// private file that redirects to the address.
  private static func open(_ url: String, beside path: String) {
    let page = path + ".html"
    let text = "<!doctype html><meta charset=utf-8><meta http-equiv=refresh content=\"0; url=\(url)\">\n"
    unlink(page)
    let isWritten = FileManager.default.createFile(
      atPath: page, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
    #if os(macOS)
      let program = "open"
    #else
      let program = "xdg-open"
    #endif
    let opener = Process()
    opener.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    opener.arguments = [program, page]
    opener.standardOutput = FileHandle.standardError
    guard isWritten, (try? opener.run()) != nil else {
      fail("Cannot start a browser. Open the address manually", 72)
    }
    opener.waitUntilExit()
    if opener.terminationStatus != 0 { fail("\(program) cannot start a browser. Open the address manually", 72) }
  }
}
