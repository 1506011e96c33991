/// What a session may do in a model that it is about to join (§15.5): the message `rights`. Without one, it may do
/// everything.
package struct SessionRights: WireContent, Hashable {
  /// The receiving session.
  package var session: SessionID
  /// The model's topic.
  package var topic: Topic
  package var mayOwn: Bool
  /// Whether it may announce something, and hold ephemeral fields.
  package var mayBePresent: Bool
  /// Whether it may write the description.
  package var mayDescribe: Bool
  /// The fields that it may change, and those that it may delete.
  package var write: [NamePattern]
  package var delete: [NamePattern]

  package init(
    session: SessionID, topic: Topic, mayOwn: Bool, mayBePresent: Bool, mayDescribe: Bool, write: [NamePattern],
    delete: [NamePattern]
  ) {
    (self.session, self.topic) = (session, topic)
    (self.mayOwn, self.mayBePresent, self.mayDescribe) = (mayOwn, mayBePresent, mayDescribe)
    (self.write, self.delete) = (write, delete)
  }

  package init(from reader: inout WireReader) throws(WireError) {
    session = try reader.u64("session")
    topic = try reader.modelTopic("topic")
    let flags = try reader.bits("flags", known: 7)
    (mayOwn, mayBePresent, mayDescribe) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0)
    write = try SessionRights.patterns("write", from: &reader)
    delete = try SessionRights.patterns("delete", from: &reader)
  }

  private static func patterns(
    _ place: StaticString, from reader: inout WireReader
  ) throws(WireError) -> [NamePattern] {
    var patterns: [NamePattern] = []
    for text in try reader.texts(place) {
      guard let pattern = NamePattern(text) else {
        throw reader.error(place, "has '\(PrintedText.escaped(text))', which can match no field")
      }
      patterns.append(pattern)
    }
    return patterns
  }

  package func write(to writer: inout WireWriter) {
    writer.u64(session)
    writer.u32(topic)
    writer.u8((mayOwn ? 1 : 0) | (mayBePresent ? 2 : 0) | (mayDescribe ? 4 : 0))
    writer.texts(write.map(\.description))
    writer.texts(delete.map(\.description))
  }

  /// Whether it may write a field, or the description. An element of a list goes by its list.
  package func allowsWriting(_ field: String) -> Bool {
    if field == Names.description { return mayDescribe }
    let field = Names.whole(field)
    return write.contains { $0.matches(field) }
  }

  /// Whether it may change nothing that is stored.
  package var isReadOnly: Bool { write.isEmpty && delete.isEmpty && !mayDescribe }
}
