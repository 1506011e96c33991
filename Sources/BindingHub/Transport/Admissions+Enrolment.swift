import BindingKeys
import Logging
import ZeroMQ

/// What the holders of invitations, and members, change in the list of members.
extension Admissions {
  /// Makes a key a member's, by an invitation. When this returns it is on disk.
  func enrol(_ enrolment: Enrolment, by id: String) -> Enrolment.Answer {
    let now = Admissions.now
    return answer(
      "invitation \(id)",
      { members throws(MemberError) in
        try members.enrolment(of: enrolment.key, label: enrolment.label, by: id, at: now)
      },
      name: { $0.keys[enrolment.key]?.name })
  }

  /// Adds a key of a member, for which one of its keys asks.
  func renew(_ enrolment: Enrolment, by own: PublicKey) -> Enrolment.Answer {
    let now = Admissions.now
    return answer(
      "key \(own)",
      { members throws(MemberError) in
        try members.renewal(of: enrolment.key, label: enrolment.label, by: own, at: now)
      },
      name: { $0.keys[enrolment.key]?.name })
  }

  /// Ends a key of a member, for which another one of its keys asks.
  func retire(_ retirement: Retirement, by own: PublicKey) -> Enrolment.Answer {
    let now = Admissions.now
    return answer(
      "key \(own)",
      { members throws(MemberError) in try members.retirement(of: retirement.key, by: own, at: now) },
      name: { $0.keys[own]?.name })
  }

  private func answer(
    _ asker: String, _ decide: (Members) throws(MemberError) -> MemberRecord?, name: (Members) -> String?
  ) -> Enrolment.Answer {
    let result = state.withLock { state -> Result<(name: String, isNew: Bool), KeyError> in
      Result { () throws(KeyError) in
        // A change reads the whole file first, which nobody may have done at will.
        let members = state.file.members
        do throws(MemberError) {
          if try decide(members) == nil { return (name(members) ?? "", false) }
        } catch {
          throw .member(error)
        }
        let isNew = try state.use(audit) { file throws(KeyError) in try file.append(decide) }
        return (name(state.file.members) ?? "", isNew)
      }
    }
    switch result {
    case .success((let name, let isNew)):
      if isNew { log.notice("changed the members", metadata: ["member": "\(name)", "by": "\(asker)"]) }
      return .enrolled(name: name)
    case .failure(.member(let error)): return .refused(error.description)
    case .failure(let error):
      // The path of a file is none of a stranger's business.
      log.error("cannot change the members: \(error)", metadata: ["by": "\(asker)"])
      return .refused("The hub cannot write its members now. Ask who runs it")
    }
  }
}
