#if Etcd
  package import BindingHub
  import BindingProtocol
  import Foundation
  import NIOCore
  import NIOPosix

  extension EtcdAddress {
    /// The address that a map of shards names.
    init(ofShard text: String) throws(StoreError) {
      do throws(ParseError) { self = try EtcdAddress(text) } catch {
        throw StoreError("the log's map of shards names an address that is none: \(error)", .damaged)
      }
    }
  }

  /// Moves models from one shard of a log to another while its hubs run. It blocks, for tools.
  ///
  /// First everything is copied while hubs go on. Then the map says that the models are being moved, and a higher
  /// fence in the shard that has them makes every hub read the map before it stores anything more there. What has
  /// changed since is copied, the map names the new shard, and the old one's copy is deleted, again under a higher
  /// fence. A move that is interrupted goes on when it is begun again.
  package final class EtcdShards {
    /// What a move has done so far.
    package enum Progress: Sendable, Hashable {
      /// Models were copied while hubs store in them.
      case copied(models: Int)
      /// Nothing is stored in them from now on.
      case held
      /// They can be stored in again, in their new shard. What had changed was copied while they were held.
      case moved(models: Int)
      /// What was left in the old shard is deleted.
      case deleted(models: Int)
    }

    private let root: EtcdSite
    private let options: EtcdOptions
    private let progress: (Progress) -> Void
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    /// Copying goes on without a pause of hubs until so few models have changed meanwhile, or so often.
    private static let fewChanged = 200
    private static let mostRounds = 8
    /// Within this time hubs notice a new shard and open it.
    private static let notice = Duration.seconds(3)
    /// When a shard was added.
    private var added: ContinuousClock.Instant?

    /// Opens the log. Blocks until a node answers.
    /// - Throws: `StoreError` in one sentence with its cure.
    package init(
      _ address: EtcdAddress, _ options: EtcdOptions, progress: @escaping (Progress) -> Void = { _ in }
    ) throws(StoreError) {
      (self.options, self.progress) = (options, progress)
      do throws(StoreError) {
        root = try EtcdSite(address, options, group.next(), for: .reading)
      } catch {
        group.shutdownGracefully { _ in }
        throw error
      }
    }

    package func close() {
      root.close()
      group.shutdownGracefully { _ in }
    }

    /// The log's map of shards.
    package func map() throws(StoreError) -> ShardMap { try map(of: root.log().value) }

    private func map(of log: EtcdValue.Log) throws(StoreError) -> ShardMap {
      guard let map = log.map else {
        throw StoreError("\(root.address) has a shard of a log now: name the log's root instead", .replaced)
      }
      return map
    }

    // MARK: Moving

    /// Moves the models below a prefix to the engine at an address: a shard of the log, its root, or one that becomes a
    /// shard. Where they are there already, deletes what an interrupted move has left elsewhere.
    package func move(_ prefix: String, to address: EtcdAddress) throws(StoreError) {
      try EtcdShards.refuse { () throws(ShardMap.Refusal) in try ShardMap.check(prefix) }
      let number = try shard(at: address)
      var trial = try map()
      guard trial.place(of: prefix) != ShardMap.Place(shard: number) else { return try deleteLeft(prefix, trial) }
      try EtcdShards.refuse { () throws(ShardMap.Refusal) in try trial.beginMove(prefix, to: number) }
      let source = try site(trial.place(of: prefix).shard, trial)
      let target = try site(number, trial)
      defer {
        for site in [source, target] where site !== root { site.close() }
      }
      let filter = ModelsOfEntry(prefix: prefix, map: trial)
      if try map().place(of: prefix).target == nil {
        for _ in 0..<EtcdShards.mostRounds {
          let copied = try EtcdModelCopy(from: source, to: target, filter).run()
          progress(.copied(models: copied))
          if copied <= EtcdShards.fewChanged { break }
        }
        waitForHubs()
      }
      try change { map throws(ShardMap.Refusal) in try map.beginMove(prefix, to: number) }
      progress(.held)
      if source !== root { try source.raiseFence() }
      let changed = try EtcdModelCopy(from: source, to: target, filter).run()
      try change { map in map.finishMove(prefix) }
      progress(.moved(models: changed))
      try delete(filter, in: source)
    }

    /// Lets hubs notice a new shard, so that it is open at each by the time at which it has models.
    private func waitForHubs() {
      guard let added else { return }
      let rest = ContinuousClock.now.duration(to: added + EtcdShards.notice)
      if rest > .zero { Thread.sleep(forTimeInterval: rest / .seconds(1)) }
    }

    private func delete(_ filter: ModelsOfEntry, in site: EtcdSite) throws(StoreError) {
      if site !== root { try site.raiseFence() }
      progress(.deleted(models: try EtcdModelCopy.delete(filter, in: site)))
    }

    /// Deletes models from all shards but the one that has them.
    private func deleteLeft(_ prefix: String, _ map: ShardMap) throws(StoreError) {
      let filter = ModelsOfEntry(prefix: prefix, map: map)
      let home = map.place(of: prefix).shard
      for shard in [ShardMap.root] + map.shards.map(\.number) where shard != home {
        let site = try site(shard, map)
        defer { if site !== root { site.close() } }
        try delete(filter, in: site)
      }
    }

    /// Ends a move that was interrupted: the models stay where they are.
    package func takeBack(_ prefix: String) throws(StoreError) {
      let before = try map()
      guard let entry = before.entries.first(where: { $0.prefix == prefix }), let number = entry.target else {
        throw StoreError("\(prefix) is not being moved")
      }
      let target = try site(number, before)
      defer { if target !== root { target.close() } }
      try change { map in map.takeBack(prefix) }
      progress(.moved(models: 0))
      let source = try site(entry.shard, before)
      defer { if source !== root { source.close() } }
      let filter = ModelsOfEntry(prefix: prefix, map: before)
      progress(.deleted(models: try EtcdModelCopy(from: source, to: target, filter).takeBack()))
    }

    /// The number of the shard at an address; makes it one.
    private func shard(at address: EtcdAddress) throws(StoreError) -> UInt16 {
      guard address != root.address else { return ShardMap.root }
      let isKnown = try map().shard(at: address.description) != nil
      var number: UInt16 = 0
      try change { map throws(ShardMap.Refusal) in number = try map.add(address.description) }
      let made = try root.log().value.shard(number)
      do throws(StoreError) {
        try EtcdSite(address, options, group.next(), for: .makingShard(made)).close()
      } catch {
        // No hub has ever used that number.
        if !isKnown { try change { map in map.remove(number) } }
        throw error
      }
      if !isKnown { added = .now }
      return number
    }

    private func site(_ shard: UInt16, _ map: ShardMap) throws(StoreError) -> EtcdSite {
      guard let address = map.address(of: shard) else { return root }
      return try EtcdSite(
        EtcdAddress(ofShard: address), options, group.next(), for: .shard(root.log().value.shard(shard)))
    }

    /// Changes the map. Every hub notices within 2 s, and before it stores anything more in the root.
    private func change(_ body: (inout ShardMap) throws(ShardMap.Refusal) -> Void) throws(StoreError) {
      try root.changeLog { log throws(StoreError) in
        var map = try map(of: log)
        let before = map
        try EtcdShards.refuse { () throws(ShardMap.Refusal) in try body(&map) }
        guard map != before else { return false }
        log.role = .root(map)
        return true
      }
    }

    private static func refuse(_ body: () throws(ShardMap.Refusal) -> Void) throws(StoreError) {
      do throws(ShardMap.Refusal) { try body() } catch { throw StoreError(error.description) }
    }
  }

  /// The models of one entry of a map: those below its prefix that are below no longer one.
  struct ModelsOfEntry {
    let prefix: String
    private let longer: [String]

    init(prefix: String, map: ShardMap) {
      self.prefix = prefix
      longer = map.entries.map(\.prefix).filter { $0 != prefix && $0.hasPrefix(prefix) }
    }

    func contains(_ model: String) -> Bool {
      model.hasPrefix(prefix) && !longer.contains { model.hasPrefix($0) }
    }
  }
#endif
