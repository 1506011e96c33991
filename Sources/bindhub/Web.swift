import ArgumentParser
import BindingHub
import BindingProtocol
import BindingTerminal
import BindingWeb
import Foundation

/// Prints or opens an address that gives a browser access.
struct Web: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print an address of the hub's pages that lets a browser in.",
    discussion: """
      The address is good once, for five minutes. The browser that opens it is known for 30 days, also after the hub was
      started again. Only the user who runs the hub can make one: the token behind it lies beside the store, in a file
      whose name ends in '.web', which only that user can read. Programs send that token as 'Authorization: Bearer
      TOKEN'. To make all of it void, remove the file and start the hub again.

      Browsers give cookies to every port of a host. If other accounts of this machine serve pages too, --own-name
      prints the address under a name below 'localhost' that only this hub has; Chromium, Edge and Firefox know that
      such names are this machine.
      """)

  @OptionGroup var choice: HubChoice

  @Flag(name: .long, help: "Open it in this user's browser as well.")
  var open = false

  @Flag(name: .long, help: "Under a name of its own below 'localhost'.")
  var ownName = false

  @Flag(name: .long, help: "Print one JSON object: url, address and the token for programs.")
  var json = false

  func run() throws {
    let address = choice.address()
    let entry = entry(of: address)
    guard let url = ownName ? entry.ownNameURL() : entry.url() else {
      fail(
        "Pages at \(entry.address) have no name of their own: that is for a hub that listens at 127.0.0.1 or"
          + " everywhere, and asks who comes. Leave --own-name out", 1)
    }
    if json {
      let token = entry.token.map { JSON.string($0) } ?? .null
      print(
        JSON.object([
          .init("url", .string(url)), .init("address", .string(entry.address)), .init("token", token),
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
      "The hub at \(address) serves no pages, or keeps no token that is found again.\n"
        + "Start it with them:  bindhub serve --web", 1)
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
      fail("No browser could be started: open the address by hand", 72)
    }
    opener.waitUntilExit()
    if opener.terminationStatus != 0 { fail("\(program) could start no browser: open the address by hand", 72) }
  }
}
