import BindingProtocol

extension Join: Mapped {
  static var blank: Join { Join(request: 0, model: "") }

  mutating func map(_ content: inout ContentMap) {
    content.number("request", &request)
    content.choice("form", &form)
    content.text("name", &name)
    content.number("epoch", &epoch)
    content.number("version", &version)
    content.number("namesKnown", &namesKnown)
    content.number("unacknowledged", &unacknowledged)
  }
}

extension TopicAssigned: Mapped {
  static var blank: TopicAssigned { TopicAssigned(session: 0, request: 0, topic: 0, model: "") }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    content.number("request", &request)
    content.number("topic", &topic)
    content.text("model", &model)
  }
}

extension SessionRights: Mapped {
  static var blank: SessionRights {
    SessionRights(
      session: 0, topic: 0, mayOwn: false, mayBePresent: false, mayDescribe: false, write: [], delete: [])
  }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    content.number("topic", &topic)
    content.flag("own", &mayOwn)
    content.flag("present", &mayBePresent)
    content.flag("describe", &mayDescribe)
    var (write, delete) = (write.map(\.description), delete.map(\.description))
    content.texts("write", &write)
    content.texts("delete", &delete)
    (self.write, self.delete) = (write.compactMap { NamePattern($0) }, delete.compactMap { NamePattern($0) })
  }
}

extension AnnouncedKeys: Mapped {
  static var blank: AnnouncedKeys { AnnouncedKeys(session: 0, present: []) }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    var present = hexadecimal(present)
    content.text("present", &present)
    self.present = bytes(hexadecimal: present) ?? []
    var list = next.map { [$0] } ?? []
    content.list("next", &list)
    next = list.first
  }
}

extension AnnouncedKeys.Next: Mapped {
  static var blank: AnnouncedKeys.Next { AnnouncedKeys.Next(key: [], moment: 0) }

  mutating func map(_ content: inout ContentMap) {
    var key = hexadecimal(key)
    content.text("key", &key)
    self.key = bytes(hexadecimal: key) ?? []
    content.number("moment", &moment)
  }
}

extension Joined: Mapped {
  static var blank: Joined {
    Joined(
      session: 0, request: 0, topic: 0, epoch: 0, version: 0, digest: 0, lastDecided: 0, delivery: .published,
      follows: .nothing,
      model: "")
  }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    content.number("request", &request)
    content.number("topic", &topic)
    content.number("epoch", &epoch)
    content.number("version", &version)
    content.number("digest", &digest)
    content.number("mark", &lastDecided)
    content.choice("way", &delivery)
    content.choice("follows", &follows)
    content.text("model", &model)
  }
}

extension Announce: Mapped {
  static var blank: Announce { Announce(session: 0, request: 0, isComplete: false, models: []) }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    content.number("request", &request)
    content.flag("complete", &isComplete)
    content.list("models", &models)
  }
}

extension AnnouncedModel: Mapped {
  static var blank: AnnouncedModel { AnnouncedModel(model: "", topic: 0, version: 0, fields: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.text("model", &model)
    content.number("topic", &topic)
    content.number("version", &version)
    content.number("fields", &fields)
  }
}

extension Head: Mapped {
  static var blank: Head { Head(epoch: 0, version: 0, digest: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.number("epoch", &epoch)
    content.number("version", &version)
    content.number("digest", &digest)
  }
}

extension Heartbeat: Mapped {
  static var blank: Heartbeat { Heartbeat(epoch: 0, number: 0, now: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.number("epoch", &epoch)
    content.number("number", &number)
    content.number("now", &now)
  }
}

extension HeadsAnswer: Mapped {
  static var blank: HeadsAnswer { HeadsAnswer(session: 0, epoch: 0, heads: []) }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    content.number("epoch", &epoch)
    content.list("heads", &heads)
  }
}

extension ModelHead: Mapped {
  static var blank: ModelHead { ModelHead(topic: 0, version: 0, digest: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.number("topic", &topic)
    content.number("version", &version)
    content.number("digest", &digest)
  }
}

extension Origin: Mapped {
  static var blank: Origin { .none }

  mutating func map(_ content: inout ContentMap) {
    content.tag("tag", &tag)
    content.text("name", &name)
    content.optionalText("user", &user)
  }
}

extension NamesRun: Mapped {
  static var blank: NamesRun { NamesRun(first: 0) }

  mutating func map(_ content: inout ContentMap) {
    content.number("first", &first)
    content.texts("names", &names)
  }
}

extension CommitGroup: Mapped {
  static var blank: CommitGroup {
    CommitGroup(epoch: 0, previous: 0, time: 0, origins: [], names: .blank, commits: [])
  }

  mutating func map(_ content: inout ContentMap) {
    content.number("epoch", &epoch)
    content.number("previous", &previous)
    content.number("time", &time)
    content.list("origins", &origins)
    content.object("names", &names)
    content.list("commits", &commits)
  }
}

extension Commit: Mapped {
  static var blank: Commit { Commit(origin: 0, number: 0, changes: []) }

  mutating func map(_ content: inout ContentMap) {
    content.number("origin", &origin)
    content.number("number", &number)
    content.number("hops", &hops)
    content.list("changes", &changes)
  }
}

extension CommitChange: Mapped {
  static var blank: CommitChange { CommitChange(field: 0, value: nil) }

  mutating func map(_ content: inout ContentMap) {
    content.number("field", &field)
    content.value("value", &value)
  }
}

extension CatchupChunk: Mapped {
  static var blank: CatchupChunk {
    CatchupChunk(
      session: 0, request: 0, epoch: 0, previous: 0, version: 0, form: .delta, chunk: 0, isLast: false, lastDecided: 0,
      origins: [], names: .blank, entries: [])
  }

  mutating func map(_ content: inout ContentMap) {
    content.number("session", &session)
    content.number("request", &request)
    content.number("epoch", &epoch)
    content.number("previous", &previous)
    content.number("version", &version)
    content.choice("form", &form)
    content.number("chunk", &chunk)
    content.flag("last", &isLast)
    content.number("mark", &lastDecided)
    content.list("origins", &origins)
    content.object("names", &names)
    content.list("fields", &entries)
  }
}

extension CatchupEntry: Mapped {
  static var blank: CatchupEntry {
    CatchupEntry(field: 0, version: 0, origin: 0, number: 0, time: 0, value: nil)
  }

  mutating func map(_ content: inout ContentMap) {
    content.number("field", &field)
    content.number("version", &version)
    content.number("origin", &origin)
    content.number("number", &number)
    content.number("time", &time)
    content.value("value", &value)
  }
}
