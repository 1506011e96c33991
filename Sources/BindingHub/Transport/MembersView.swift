import BindingKeys

/// What the hub knows of whom gateways may speak for: as of which change of the list of members, and until when.
struct MembersView: Hashable {
  fileprivate var changes: UInt64
  fileprivate var kicked: Set<String>
  /// When the next browser is let in no longer.
  fileprivate var until = Int64.max
}

extension Admissions {
  /// Whom gateways may speak for.
  /// - Parameter view: what the caller knows, and what it knows from now on.
  /// - Returns: nil if the caller knows them.
  func members(otherThan view: inout MembersView?) -> HubMembers? {
    state.withLock { state in
      let members = state.file.members
      let kicked = Set(members.kicks.filter { $0.value.counts(at: Admissions.now) }.keys)
      let now = Admissions.now
      if let view, view.changes == state.changes, view.kicked == kicked, now < view.until { return nil }
      var all = HubMembers()
      for key in members.keys.values { all.add(key.name, role: key.role) }
      let pages = members.pages.sessions.values.filter { now < $0.until }
      for page in pages { all.add(page.name, role: page.role) }
      view = MembersView(changes: state.changes, kicked: kicked, until: pages.map(\.until).min() ?? .max)
      return all.without(kicked)
    }
  }
}
