import BindingProtocol

/// The models below a prefix, as the upstream hub has announced them.
struct EdgeListing {
  struct Entry {
    var model: String
    var version: Version
    var fields: Int
  }
  var isComplete = false
  var entries: [String: Entry] = [:]
}

extension HubMachine {
  /// A session joins a prefix: it is told what the upstream hub has announced below it.
  mutating func joinListing(_ join: Join, _ session: SessionID, _ output: inout HubOutput) {
    guard PrefixAnnouncer.admit(join, session, &hub, &output) else { return }
    guard let listing = edge?.listings[join.name] else {
      edge?.listings[join.name] = EdgeListing()
      edge?.requests.append(.list(join.name))
      return
    }
    if listing.isComplete { list(join.name, to: session, join.request, &output) }
  }

  mutating func announce(_ entry: EdgeListing.Entry, below prefix: String, _ output: inout HubOutput) {
    guard let listing = edge?.listings[prefix] else { return }
    edge?.listings[prefix]?.entries[entry.model] = entry
    guard listing.isComplete, listing.entries[entry.model] == nil else { return }
    for session in hub.sessions.withPrefixes.sorted() {
      guard let request = hub.sessions[session]?.prefixes[prefix] else { continue }
      announce([entry], to: session, request, isComplete: true, &output)
    }
  }

  mutating func list(_ prefix: String, _ output: inout HubOutput) {
    for session in hub.sessions.withPrefixes.sorted() {
      guard let request = hub.sessions[session]?.prefixes[prefix] else { continue }
      list(prefix, to: session, request, &output)
    }
  }

  private mutating func list(
    _ prefix: String, to session: SessionID, _ request: UInt32, _ output: inout HubOutput
  ) {
    let entries = (edge?.listings[prefix]?.entries ?? [:]).values.sorted { $0.model < $1.model }
    var rest = entries[...]
    repeat {
      let part = rest.prefix(PrefixAnnouncer.modelsAnnounced)
      rest = rest.dropFirst(part.count)
      announce(Array(part), to: session, request, isComplete: rest.isEmpty, &output)
    } while !rest.isEmpty
  }

  private mutating func announce(
    _ entries: [EdgeListing.Entry], to session: SessionID, _ request: UInt32, isComplete: Bool,
    _ output: inout HubOutput
  ) {
    guard let record = hub.sessions[session] else { return }
    let user = hub.access.rights(of: record)
    let models = entries.filter { user.mayRead($0.model) }.map { entry in
      // The topic is that of a join which may follow.
      let index = hub.models.index(named: entry.model) ?? hub.models.make(entry.model, from: .none)
      return AnnouncedModel(
        model: entry.model, topic: hub.models[index].topic, version: entry.version,
        fields: UInt32(clamping: entry.fields))
    }
    hub.send(
      .announce(Announce(session: session, request: request, isComplete: isComplete, models: models)), to: session,
      &output)
  }
}
