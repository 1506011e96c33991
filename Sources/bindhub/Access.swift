import ArgumentParser
import BindingHub
import BindingKeys
import BindingProtocol
import BindingTerminal
import Foundation

/// Rights: who may do what at a hub with keys.
struct Access: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Say who may do what: read, write, own, publish to whom.",
    discussion: """
      Rights are in access.json beside the hub's keys, which you edit and the hub only reads. Without that file every
      member may do everything; with it, only what a role allows.
      """,
    subcommands: [Create.self, Check.self, Explain.self, Apply.self])

  /// Writes a first file.
  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "init", abstract: "Write a first access.json: everybody may do everything. An existing one stays.")

    @OptionGroup var choice: KeysChoice

    private static let text = """
      {
        "bindbus": "access",
        "version": 1,
        "roles": {
          "staff": {
            "read": ["*"], "write": ["*"], "delete": ["*"], "own": ["*"], "present": ["*"], "describe": ["*"],
            "fanout": true, "recover": true
          },
          "guest": { "read": ["public/*"] }
        },
        "members": { "*": ["staff"] }
      }

      """

    func run() throws {
      let keys = choice.keys
      keyed { () throws(KeyError) in
        _ = try keys.read()
        try keys.createAccess(Create.text)
      }
      print(keys.accessPath)
      StandardStreams.complain(
        """
        Edit it, then:  bindhub access check\(choice.option)
        It counts from the hub's next start, or from:  bindhub access apply\(choice.option)
        """)
    }
  }

  /// Reads the file as the hub does.
  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Check access.json. Exit code 65 if the hub would refuse it.")

    @Argument(help: "The file. Default: access.json beside the hub's keys.")
    var file: String?

    @OptionGroup var choice: KeysChoice

    func run() throws {
      let read = choice.readAccess(file)
      for warning in read.warnings { StandardStreams.complain(warning) }
      print("good: \(read.policy.roles.count) roles, \(read.policy.names.count) names")
    }
  }

  /// Says which line decides.
  struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Say what somebody may do with a model or a field, and which role and pattern allows it.")

    @Argument(help: "A member, uid:NUMBER for a user of the hub's machine, or * for everybody who is not named.")
    var name: String

    @Argument(help: "MODEL or MODEL.FIELD.")
    var target: String

    @Argument(help: "The file. Default: access.json beside the hub's keys.")
    var file: String?

    @OptionGroup var choice: KeysChoice

    func run() throws {
      let policy = choice.readAccess(file).policy
      let parts = target.split(separator: ".", maxSplits: 1).map(String.init)
      do throws(WireError) {
        guard let model = parts.first else { fail("Name a model", 64) }
        try Names.checkModel(model)
        if parts.count > 1 { try Names.checkField(parts[1]) }
      } catch {
        fail("'\(PrintedText.escaped(target, limit: 80))' \(error.problem)", 64)
      }
      let given = roles(policy)
      StandardStreams.complain("\(name): \(given.source)")
      guard let names = given.names else { return print("limits  none") }
      let roles = names.sorted().compactMap { name in policy.roles[name].map { (name, $0) } }
      for right in AccessRole.Right.allCases { explain(right, parts[0], parts.count > 1 ? parts[1] : nil, roles) }
      for (flag, path) in [
        ("fanout", \AccessRole.fanout), ("recover", \AccessRole.recover), ("admin", \AccessRole.admin),
        ("gateway", \AccessRole.gateway),
      ] {
        let by = roles.filter { $0.1[keyPath: path] }.map(\.0)
        print("\(flag)  \(by.isEmpty ? "no" : "yes, by " + by.joined(separator: ", "))")
      }
      explainLimits(policy, names)
      let preventing = policy.rolesThatPreventPublishing(parts[0])
      print(
        "\(parts[0]) is "
          + (preventing.isEmpty
            ? "published" : "sent session by session, because of " + preventing.joined(separator: ", ")))
    }

    /// How much the name may use of the hub, and which role says so.
    private func explainLimits(_ policy: AccessPolicy, _ names: [String]) {
      let roles = names.sorted().filter { policy.roles[$0] != nil }
      let limits = NameLimits(ofRoles: roles.map { policy.limits[$0] ?? [:] })
      for kind in NameLimits.Kind.allCases {
        let role = roles.first { policy.limits[$0]?[kind] == limits[kind] }
        print("\(kind.rawValue)  \(limits[kind])\(role.map { ", by \($0)" } ?? ", as no role says otherwise")")
      }
    }

    private func explain(_ right: AccessRole.Right, _ model: String, _ field: String?, _ roles: [(String, AccessRole)])
    {
      // A pattern of history alone allows nothing: it needs a right to read.
      for (name, role) in right == .history ? [] : roles {
        for pattern in role.patterns[right] ?? [] where pattern.matches(model: model) {
          guard let field, right.isByField else {
            return print("\(right.rawValue)  yes, by \(name): \(pattern)")
          }
          if pattern.matches(field: field) { return print("\(right.rawValue)  yes, by \(name): \(pattern)") }
        }
      }
      if right == .history, let (name, role) = roles.first(where: { $0.1.allows(.history, on: model) }) {
        let why = role.patterns[.history]?.first { $0.matches(model: model) }.map(\.description) ?? "goes with read"
        return print("history  yes, by \(name): \(why)")
      }
      if right == .read, let (name, _) = roles.first(where: { $0.1.allows(.read, on: model) }) {
        return print("read  yes, by \(name): another right on the model includes it")
      }
      print("\(right.rawValue)  no")
    }

    /// The roles of the name, and where they are from; nil: everything is allowed.
    private func roles(_ policy: AccessPolicy) -> (names: [String]?, source: String) {
      if let named = policy.names[name] { return (named, "named in the file: \(named.joined(separator: ", "))") }
      if name == "uid:0" || name == "uid:\(geteuid())" {
        return (nil, "runs the hub, or is root: may do everything unless the file names it")
      }
      let members = try? MembersFile(at: choice.keys.membersPath).members
      let invited =
        members?.keys.values.first { $0.name == name && $0.role != nil }?.role
        ?? members?.pages.sessions.values.first { $0.name == name && $0.role != nil }?.role
      if let invited { return ([invited], "by its invitation: \(invited)") }
      if let rest = policy.names["*"] { return (rest, "everybody who is not named: \(rest.joined(separator: ", "))") }
      return ([], "has no role")
    }
  }

  /// Asks the running hub to read the file.
  struct Apply: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Put access.json in force at the running hub. A wrong file changes nothing.",
      discussion: "Those whose rights change lose their connections, and come back with what they may now.")

    @OptionGroup var choice: KeysChoice

    private static let seconds = 5.0

    func run() throws {
      if choice.keys.haveAccess {
        for warning in choice.readAccess(nil).warnings { StandardStreams.complain(warning) }
      } else {
        StandardStreams.complain("There is no \(choice.keys.accessPath): every member may do everything")
      }
      let token = keyed { () throws(KeyError) in try choice.keys.requestAccess() }
      let end = Date(timeIntervalSinceNow: Apply.seconds)
      while Date() < end {
        switch choice.keys.accessAnswer(to: token) {
        case .inForce?: return print("in force")
        case .refused(let problem)?: fail(problem, 65)
        case nil: Thread.sleep(forTimeInterval: 0.02)
        }
      }
      StandardStreams.complain("No hub with these keys answers. The file counts from its next start")
    }
  }
}

extension KeysChoice {
  /// The option that chose the directory, for commands that are suggested.
  var option: String { directory.map { " --keys \($0)" } ?? "" }

  /// Ends the program if a role is none that the file of rights defines.
  func checkRole(_ role: String?) {
    guard let role else { return }
    do throws(MemberError) { try Members.checkName(role) } catch { fail("\(error)", 64) }
    guard keys.haveAccess, readAccess(nil).policy.roles[role] == nil else { return }
    fail("\(keys.accessPath) defines no role \(role). Add it first, or choose another", 65)
  }

  /// Reads a file of rights; ends the program with a sentence if the hub would refuse it.
  func readAccess(_ file: String?) -> AccessFile {
    let path = file.map(absolutePath) ?? keys.accessPath
    let text: String?
    if file != nil {
      text = FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    } else {
      text = keyed { () throws(KeyError) in try keys.readAccess() }
    }
    guard let text else { fail("There is no file \(path). To write a first one:  bindhub access init\(option)", 66) }
    do throws(AccessFileError) { return try AccessFile(text) } catch { fail("\(path): \(error)", 65) }
  }
}
