package import BindingProtocol
import Foundation
package import ZeroMQ

/// A hub that this user has joined or was told to trust: where it is, its key, and a key of one's own for it.
package struct KnownHub: Hashable, Sendable {
  /// The name by which this user calls it.
  package var name: String
  /// Where it listens, best first.
  package var addresses: [HubAddress]
  /// Where other hubs of its log listen, with the same key, as one of them has told. They may be gone by now.
  package var others: [HubAddress]
  /// The key that the hub must prove to have.
  package var hubKey: PublicKey
  /// The key that it is to have: it announced that over a connection of the present one.
  package var nextKey: PublicKey?
  /// The pair by which this user's peers are known there.
  package var keys: KeyPair

  private static let version: Int64 = 1

  /// The directory for the hubs of this user: `$XDG_CONFIG_HOME/bindbus/hubs`, else `~/.config/bindbus/hubs`.
  package static var directory: String { configuration + "/hubs" }

  /// The directory of all files of this user.
  static var configuration: String { UserDirectory.base("XDG_CONFIG_HOME", else: ".config") + "/bindbus" }

  /// Whether a text that is to say where a hub is can only be the name of one.
  package static func isName(_ text: String) -> Bool {
    !text.isEmpty && !text.contains("/") && !text.contains(":") && !text.contains(",")
  }

  /// Makes a known hub.
  package init(
    name: String, addresses: [HubAddress], others: [HubAddress] = [], hubKey: PublicKey, nextKey: PublicKey? = nil,
    keys: KeyPair
  ) {
    self.name = name
    self.addresses = addresses
    self.others = others
    self.hubKey = hubKey
    self.nextKey = nextKey
    self.keys = keys
  }

  /// The keys that it may have, the present one first.
  package var hubKeys: [PublicKey] { [hubKey] + (nextKey.map { [$0] } ?? []) }

  /// What a socket that connects to one of its addresses must set.
  /// - Parameter key: the one of `hubKeys` that the hub must prove to have; nil: the present one.
  package func options(to endpoint: String, as key: PublicKey? = nil) -> [SocketOption] {
    endpoint.hasPrefix("tcp:") ? [.encryptedClient(server: key ?? hubKey, own: keys)] : []
  }

  /// Reads what is known of a hub.
  /// - Throws: `KeyError`.
  package init(named name: String, in directory: String = KnownHub.directory) throws(KeyError) {
    let path = try Self.path(name, in: directory)
    guard
      let json = try PrivateFile.readJSON(
        "hub", Self.version, at: path, isSecret: false, otherwise: "does not describe a hub")
    else { throw .unknownHub(name: name, known: Self.names(in: directory)) }
    guard let hubKey = json["key"]?.string.flatMap({ PublicKey($0) }) else {
      throw .malformed(path: path, problem: "does not name the hub's key")
    }
    func all(in list: String) throws(KeyError) -> [HubAddress] {
      let texts = (json[list]?.elements ?? []).map { $0.string ?? "" }
      do throws(HubAddressError) { return try HubAddress.all(in: texts) } catch {
        throw .malformed(path: path, problem: "names an address that is none: '\(error.text)'")
      }
    }
    addresses = try all(in: "addresses")
    others = try all(in: "others")
    guard !addresses.isEmpty else { throw .malformed(path: path, problem: "names no address") }
    self.name = name
    self.hubKey = hubKey
    nextKey = json["next"]?.string.flatMap { PublicKey($0) }
    keys = try KeyFile.read(.peer, at: Self.keyPath(name, in: directory))
  }

  /// Writes down where a hub is and its key, in place of what was known; the pair for it must be there already.
  package static func remember(
    _ name: String, addresses: [HubAddress], hubKey: PublicKey, in directory: String = KnownHub.directory
  ) throws(KeyError) {
    try PrivateFile.exclusively(in: directory) { () throws(KeyError) in
      try write(name, addresses, others: [], hubKey, nextKey: nil, in: directory)
    }
  }

  private static func write(
    _ name: String, _ addresses: [HubAddress], others: [HubAddress], _ hubKey: PublicKey, nextKey: PublicKey?,
    in directory: String
  ) throws(KeyError) {
    func list(_ addresses: [HubAddress]) -> JSON { .array(addresses.map { .string($0.description) }) }
    let json = JSON.object(
      [
        .init("bindbus", "hub"), .init("version", .integer(version)), .init("key", .string("\(hubKey)")),
        .init("addresses", list(addresses)),
      ] + (nextKey.map { [.init("next", .string("\($0)"))] } ?? [])
        + (others.isEmpty ? [] : [.init("others", list(others))]))
    try PrivateFile.write(json.text + "\n", to: try path(name, in: directory), replaces: true)
  }

  private func write(in directory: String) throws(KeyError) {
    try KnownHub.write(name, addresses, others: others, hubKey, nextKey: nextKey, in: directory)
  }

  /// What the hub has told of its keys over a connection on which it proved to have one of them.
  package struct Lesson: Hashable, Sendable {
    package var proven: PublicKey
    package var present: PublicKey
    package var next: PublicKey?

    /// Makes one.
    package init(proven: PublicKey, present: PublicKey, next: PublicKey?) {
      (self.proven, self.present, self.next) = (proven, present, next)
    }
  }

  /// Takes over what the hub has told of its keys.
  /// - Returns: whether that is new; no lesson of a key that is not trusted any more is.
  package mutating func learn(_ lesson: Lesson) -> Bool {
    let next = lesson.next == lesson.present ? nil : lesson.next
    guard hubKeys.contains(lesson.proven), (hubKey, nextKey) != (lesson.present, next) else { return false }
    (hubKey, nextKey) = (lesson.present, next)
    return true
  }

  /// Writes down what a hub has told of its keys. Several processes may learn the same; what a user has trusted
  /// meanwhile counts.
  package static func learn(
    _ lesson: Lesson, of name: String, in directory: String = KnownHub.directory
  ) throws(KeyError) {
    try update(name, in: directory) { $0.learn(lesson) }
  }

  /// Takes over where the hubs of its log listen, as one of them has told that is at an address.
  /// - Returns: whether that is new.
  package mutating func learn(_ told: [HubAddress], at address: HubAddress) -> Bool {
    var seen = Set(addresses)
    // That one may have left itself out.
    let fresh = ([address] + told).filter { $0.transport == .tcp && seen.insert($0).inserted }
    defer { others = fresh }
    // They tell each other's list in any order.
    return Set(others) != Set(fresh)
  }

  /// Writes that down.
  package static func learn(
    _ told: [HubAddress], at address: HubAddress, of name: String, in directory: String = KnownHub.directory
  ) throws(KeyError) {
    try update(name, in: directory) { $0.learn(told, at: address) }
  }

  /// Changes the file of a known hub, unless `learn` says that it has nothing new.
  private static func update(
    _ name: String, in directory: String, _ learn: (inout KnownHub) -> Bool
  ) throws(KeyError) {
    try PrivateFile.exclusively(in: directory) { () throws(KeyError) in
      var known = try KnownHub(named: name, in: directory)
      if learn(&known) { try known.write(in: directory) }
    }
  }

  /// The pair of this user for a hub, made when it is first asked for.
  package static func keys(for name: String, in directory: String = KnownHub.directory) throws(KeyError) -> KeyPair {
    let path = try keyPath(name, in: directory)
    try PrivateFile.makeDirectory(directory)
    do throws(KeyError) {
      return try KeyFile.create(.peer, at: path)
    } catch .exists {
      return try KeyFile.read(.peer, at: path)
    }
  }

  /// Removes what is known of a hub, and the key of this user for it.
  package static func forget(_ name: String, in directory: String = KnownHub.directory) throws(KeyError) {
    try PrivateFile.exclusively(in: directory) { () throws(KeyError) in
      let files = [try path(name, in: directory), try keyPath(name, in: directory)]
      guard names(in: directory).contains(name) else {
        throw .unknownHub(name: name, known: names(in: directory))
      }
      for file in files where FileManager.default.fileExists(atPath: file) {
        do { try FileManager.default.removeItem(atPath: file) } catch {
          throw .unusable(path: file, problem: "\(error.localizedDescription)")
        }
      }
    }
  }

  /// The names of all known hubs, in order.
  package static func names(in directory: String = KnownHub.directory) -> [String] {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()
  }

  static func path(_ name: String, in directory: String) throws(KeyError) -> String {
    do throws(MemberError) { try Members.checkName(name) } catch { throw .badHubName(name) }
    return "\(directory)/\(name).json"
  }

  static func keyPath(_ name: String, in directory: String) throws(KeyError) -> String {
    String(try path(name, in: directory).dropLast(4)) + "key"
  }
}
