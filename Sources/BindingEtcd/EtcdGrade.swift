#if Etcd
  import BindingHub
  import Dispatch
  import NIOCore

  /// Proves that every voting node syncs what it acknowledges: writes something, and sees that each node's counter of
  /// syncs has risen.
  ///
  /// A node can be told not to sync by a flag that nothing but this counter shows.
  struct EtcdGrade: Sendable {
    let client: EtcdClient
    let log: EtcdLog
    let metrics: EtcdMetricsReader

    /// What was found out.
    struct Finding: Sendable, Equatable {
      var grade: SharedGrade
      /// Why, in one sentence.
      var reason: String
      /// The least quota of all nodes; nil: not told.
      var quota: UInt64?
    }

    /// Blocks for up to a few seconds; not to be called on the client's loop.
    /// - Parameter isEnded: whether the result is wanted no more.
    func prove(_ isEnded: () -> Bool) -> Finding {
      guard let bytes = try? client.future("/etcdserverpb.Cluster/MemberList", []).wait(),
        let members = try? EtcdMember.all(bytes[...])
      else { return Finding(grade: .process, reason: "etcd does not tell its members.") }
      let voters = members.filter { !$0.isLearner }
      let before = voters.map { isEnded() ? .failure(.init(description: "closed")) : read($0) }
      let quota = before.compactMap { try? $0.get().quota }.min()
      func found(_ reason: String) -> Finding { Finding(grade: .process, reason: reason, quota: quota) }
      guard voters.count >= 3 else {
        return found("etcd has \(voters.count) voting \(voters.count == 1 ? "node" : "nodes"); replicated needs 3.")
      }
      for (member, result) in zip(voters, before) {
        switch result {
        case .failure(let error): return found("The node \(member.name) does not show that it syncs: \(error).")
        case .success(let metrics):
          guard let version = metrics.version, version.syncsFirst else {
            let text = metrics.version.map { "has version \($0)" } ?? "does not tell its version"
            return found("The node \(member.name) \(text); replicated needs 3.4.21 or later, but 3.5.6 if it is 3.5.")
          }
        }
      }
      var proof = log.transaction()
      proof.put(log.keys.proof, [EtcdKeys.format])
      guard (try? client.future(EtcdClient.transaction, proof.bytes).wait()) != nil else {
        return found("etcd does not take writes now.")
      }
      var late = Array(voters.indices)
      // A node that is not the leader syncs a little later.
      for _ in 0..<15 {
        if isEnded() { break }
        late.removeAll { index in
          guard let now = try? read(voters[index]).get().syncs, let then = try? before[index].get().syncs else {
            return false
          }
          return now > then
        }
        if late.isEmpty {
          return Finding(
            grade: .replicated, reason: "All \(voters.count) voting nodes sync what they store.", quota: quota)
        }
        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(200))
      }
      return found(
        "The node \(voters[late[0]].name) does not sync what it stores: it runs with --unsafe-no-fsync, or is cut off.")
    }

    private func read(_ member: EtcdMember) -> Result<EtcdMetrics, EtcdAddress.ParseError> {
      guard let url = member.clientURLs.first else {
        return .failure(.init(description: "it tells no client URL"))
      }
      return metrics.read(url)
    }
  }
#endif
