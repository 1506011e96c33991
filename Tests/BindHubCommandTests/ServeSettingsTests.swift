import ArgumentParser
import Testing

@testable import bindhub

@Suite("Where the options of `bindhub serve` come from")
struct ServeSettingsTests {
  private func settings(
    _ words: [String] = [], environment: [String: String] = [:], file text: String? = nil
  ) throws(ServeSettings.Problem) -> ServeSettings {
    let words = text == nil ? words : words + ["--config", "/etc/hub.conf"]
    return try ServeSettings(words, environment: environment) { path throws(ServeSettings.Problem) in
      #expect(path == "/etc/hub.conf")
      return text ?? ""
    }
  }

  /// The words that are added to those of the command line.
  private func added(_ environment: [String: String] = [:], file text: String? = nil) throws -> [String] {
    Array(try settings(environment: environment, file: text).words.dropFirst(text == nil ? 0 : 2))
  }

  private func problem(_ environment: [String: String] = [:], file text: String? = nil) -> String? {
    do throws(ServeSettings.Problem) {
      _ = try settings(environment: environment, file: text)
      return nil
    } catch {
      return error.code == 78 ? error.text : "\(error)"
    }
  }

  @Test("each option of the command may stand in the file and in the environment")
  func complete() {
    let names = Serve.helpMessage().split(separator: "\n").compactMap { line -> String? in
      line.firstMatch(of: /^  --([a-z-]+)/).map { String($0.1) }
    }
    #expect(Set(names).subtracting(["config", "version", "help"]) == Set(ServeOption.all.map(\.name)))
    #expect(names.count > 20 && Set(ServeOption.all.map(\.variable)).count == ServeOption.all.count)
  }

  @Test("the file says what the command line and the environment do not")
  func order() throws {
    let text = "name = from-file\nstore = /file.db\nlease = 5000\n"
    let found = try settings(
      ["--name", "typed", "--listen=local"],
      environment: ["BINDHUB_NAME": "variable", "BINDHUB_STORE": "/variable.db"],
      file: text)
    #expect(found.settings.map(\.name) == ["listen", "name", "store", "lease"])
    #expect(found.settings.map(\.source) == [.commandLine, .commandLine, .variable("BINDHUB_STORE"), .line(3)])
    #expect(
      found.words == [
        "--name", "typed", "--listen=local", "--config", "/etc/hub.conf", "--store=/variable.db", "--lease=5000",
      ])
    let typed = try settings(["--name", "typed"])
    #expect(found.isMixed && !typed.isMixed)
  }

  @Test("BINDHUB_CONFIG names a file, and --config another one")
  func named() throws {
    let found = try settings(environment: ["BINDHUB_CONFIG": "/etc/hub.conf"])
    #expect(found.file == "/etc/hub.conf")
    let other = try settings(environment: ["BINDHUB_CONFIG": "/elsewhere"], file: "lease = 5000")
    #expect(other.file == "/etc/hub.conf" && other.settings.count == 1)
    #expect(try settings(environment: ["BINDHUB_CONFIG": ""]).file == nil)
  }

  @Test("comments, blank lines and spaces; a list is several lines or several values, and replaced as a whole")
  func grammar() throws {
    let text = """
      # The hub of the shop.
        listen =  local
      listen = tcp://0.0.0.0:7877   # for the tills

      name = shop #1\r
      insecure
      web-tls = cert.pem /keys/key.pem
      store = log/hub.db
      pages = ~/pages
      web = yes
      no-rescue = no
      """
    #expect(
      try added(file: text) == [
        "--listen=local", "--listen=tcp://0.0.0.0:7877", "--name=shop", "--store=/etc/log/hub.db", "--insecure",
        "--web=127.0.0.1:7880", "--web-tls", "/etc/cert.pem", "/keys/key.pem", "--pages=~/pages",
      ])
    let replaced = try settings(["--listen=local"], file: text).words
    #expect(replaced.filter { $0.hasPrefix("--listen") } == ["--listen=local"])
    let variables = ["BINDHUB_LISTEN": "local tcp://0.0.0.0:7877"]
    #expect(try added(variables) == ["--listen=local", "--listen=tcp://0.0.0.0:7877"])
    #expect(try added(["BINDHUB_ETCD_CA": "ca.pem"]) == ["--etcd-ca=ca.pem"])
    for store in ["memory", "etcd://10.0.0.1:2379/shop", "/var/hub.db"] {
      #expect(try added(file: "store = \(store)") == ["--store=\(store)"])
    }
  }

  @Test("a value is passed on as it stands, whatever it begins with")
  func values() throws {
    #expect(try added(file: "name = --insecure") == ["--name=--insecure"])
    #expect(try added(file: "name = a=b=c") == ["--name=a=b=c"])
    #expect(try added(["BINDHUB_NAME": "the shop"]) == ["--name=the shop"])
    #expect(try added(file: "insecure = off\nexit-with-stdin = no\nweb = no").isEmpty)
    #expect(try settings(["--web", "--lease", "5000"]).settings.map(\.values) == [["127.0.0.1:7880"], ["5000"]])
  }

  @Test("what cannot be read is refused with its line and a remedy")
  func refused() {
    #expect(
      problem(file: "\nlisten = local\nlisen = local")
        == "/etc/hub.conf:3: bindhub serve has no option 'lisen'. Did you mean 'listen'?")
    #expect(problem(file: "[hub]")?.contains("bindhub serve --help") == true)
    #expect(problem(file: "store") == "/etc/hub.conf:1: store has no value. Write:  store = VALUE")
    #expect(problem(file: "store = # none") == "/etc/hub.conf:1: store has no value. Write:  store = VALUE")
    #expect(problem(file: "lease = 1\nlease = 2") == "/etc/hub.conf:2: lease is in the file twice. Omit one")
    #expect(problem(file: "insecure = maybe") == "/etc/hub.conf:1: insecure is yes or no, not maybe")
    #expect(problem(file: "web-tls = one.pem") == "/etc/hub.conf:1: web-tls takes two values, not 1")
    #expect(problem(["BINDHUB_INSECURE": "2"]) == "BINDHUB_INSECURE: insecure is yes or no, not 2")
  }
}
