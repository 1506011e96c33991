import BindingHub
import BindingWeb
import Foundation
import Testing

@Suite("Pages of the user", .serialized)
struct UserPageTests {
  private let folder: URL
  private let site: Site

  init() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("web-\(UInt32.random(in: 0 ... .max))")
    let inside = folder.appendingPathComponent("pages")
    try FileManager.default.createDirectory(
      at: inside.appendingPathComponent("deep"), withIntermediateDirectories: true)
    for (name, text) in [
      "pages/index.html": "<p>home", "pages/deep/index.html": "<p>deep", "pages/a b.js": "1", "pages/ä.txt": "ä",
      "pages/.hidden.txt": "secret", "pages/code.swift": "secret",
      "pages/big.txt": String(repeating: "x", count: 2_000),
      "outside.txt": "secret",
    ] {
      try Data(text.utf8).write(to: folder.appendingPathComponent(name))
    }
    let links = FileManager.default
    try links.createSymbolicLink(
      atPath: inside.path + "/out.txt", withDestinationPath: folder.path + "/outside.txt")
    try links.createSymbolicLink(atPath: inside.path + "/up", withDestinationPath: folder.path)
    try links.createSymbolicLink(atPath: inside.path + "/in.txt", withDestinationPath: inside.path + "/big.txt")
    self.folder = folder
    site = try Site {
      $0.pagesFolder = inside.path
      $0.limits.fileBytes = 2_000
    }
  }

  @Test("user files are served with their type, and a folder by its index.html")
  func files() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    #expect(try site.ask("GET", "/pages/").text == "<p>home")
    #expect(try site.ask("GET", "/pages/deep/").text == "<p>deep")
    #expect(try site.ask("GET", "/pages/a%20b.js")["content-type"] == "text/javascript; charset=utf-8")
    let text = try site.ask("GET", "/pages/%C3%A4.txt?v=1")
    #expect(text.text == "ä")
    #expect(text["content-security-policy"] != nil)
    #expect(
      try site.ask("GET", "/pages/%C3%A4.txt", [site.bearer, "If-None-Match: \(text["etag"] ?? "")"]).status == 304)
    #expect(try site.ask("HEAD", "/pages/")["content-length"] == "7")
    #expect(try site.ask("GET", "/pages/in.txt").body.count == 2_000)
    #expect(try site.ask("GET", "/pages/", []).status == 401)
  }

  @Test("user files have their media type, and the folder is found without its slash")
  func types() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    for (kind, type) in [
      "jpg": "image/jpeg", "jpeg": "image/jpeg", "webp": "image/webp", "gif": "image/gif", "avif": "image/avif",
      "mjs": "text/javascript; charset=utf-8", "wasm": "application/wasm", "map": "application/json",
      "webmanifest": "application/manifest+json", "mp3": "audio/mpeg",
    ] {
      try Data("x".utf8).write(to: folder.appendingPathComponent("pages/file.\(kind)"))
      #expect(try site.ask("GET", "/pages/file.\(kind)")["content-type"] == type)
    }
    let reply = try site.ask("GET", "/pages")
    #expect(reply.status == 301 && reply["location"] == "/pages/")
    #expect(try site.ask("GET", "/pages", []).status == 401)
  }

  @Test("hidden files, unknown types and anything outside the folder are not served by any path")
  func outside() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    for path in [
      "../outside.txt", "%2e%2e/outside.txt", "..%2foutside.txt", "deep/../../outside.txt",
      "deep/..%2f..%2foutside.txt",
      "/outside.txt", "%2fetc%2fpasswd", "out.txt", "up/outside.txt", ".hidden.txt", "./index.html", "code.swift",
      "deep", "deep//index.html", "nothing.txt", "index.html/",
    ] {
      let reply = try site.ask("GET", "/pages/\(path)")
      #expect(reply.status == 404, "\(path)")
      #expect(!reply.text.contains("secret"), "\(path)")
    }
  }

  @Test("a user file that is too long is refused")
  func tooLong() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    try Data(repeating: 0x78, count: 2_001).write(to: folder.appendingPathComponent("pages/big.txt"))
    #expect(try site.ask("GET", "/pages/big.txt").status == 500)
    #expect(try site.refusals("fileTooLong") == 1)
  }

  @Test("a pages folder that is not a folder is named in the error")
  func noFolder() throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let hub = try Hub.embedded()
    for path in [folder.path + "/none", folder.path + "/outside.txt"] {
      var configuration = WebGateway.Configuration()
      configuration.pagesFolder = path
      #expect { try WebGateway(hub: hub, configuration: configuration).start() } throws: { error in
        if case .pages(path, _)? = error as? WebError { true } else { false }
      }
    }
  }
}
