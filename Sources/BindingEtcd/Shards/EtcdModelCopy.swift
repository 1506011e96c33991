#if Etcd
  import BindingHub
  import BindingProtocol

  /// Copies models from one engine to another, byte by byte. A model in the target is complete once it has a head.
  struct EtcdModelCopy {
    private let source: EtcdSite
    private let target: EtcdSite
    private let models: ModelsOfEntry

    /// Of what a model's copy begins with: how many records.
    private static let recordsAtOnce = 128

    /// What tells whether two copies of a model are the same. No record ever changes, and none has another's number.
    private struct Mark: Equatable {
      var head: [UInt8] = []
      var fold: [UInt8] = []
    }

    init(from source: EtcdSite, to target: EtcdSite, _ models: ModelsOfEntry) {
      (self.source, self.target, self.models) = (source, target, models)
    }

    /// Makes the models in the target as they are in the source.
    /// - Returns: how many were not.
    func run() throws(StoreError) -> Int {
      let present = try EtcdModelCopy.marks(models, in: target)
      let wanted = try EtcdModelCopy.marks(models, in: source)
      let outdated = wanted.keys.filter { wanted[$0] != present[$0] }.sorted()
      let gone = present.keys.filter { wanted[$0] == nil }
      try EtcdModelCopy.delete(outdated.filter { present[$0] != nil } + gone, in: target)
      // Of each model three ranges are read at one moment.
      let count = max(min(source.maxOperations, target.maxOperations / 4) / 3, 1)
      for start in stride(from: 0, to: outdated.count, by: count) {
        try copy(Array(outdated[start..<min(start + count, outdated.count)]))
      }
      return outdated.count + gone.count
    }

    /// Deletes what was copied.
    /// - Returns: of how many models.
    func takeBack() throws(StoreError) -> Int {
      // One that was not copied to its end has no head in the target.
      let copied = try Set(EtcdModelCopy.marks(models, in: source).keys)
        .union(EtcdModelCopy.marks(models, in: target).keys)
      try EtcdModelCopy.delete(copied.sorted(), in: target)
      return copied.count
    }

    private static func marks(_ models: ModelsOfEntry, in site: EtcdSite) throws(StoreError) -> [String: Mark] {
      var marks: [String: Mark] = [:]
      try site.readAll(from: site.keys.heads(models.prefix)) { entry in
        guard let model = site.keys.model(ofHead: entry.key), models.contains(model) else { return }
        marks[model, default: Mark()].head = entry.value
      }
      try site.readAll(from: site.keys.folds(models.prefix)) { entry in
        guard let model = site.keys.model(ofHead: entry.key), models.contains(model) else { return }
        marks[model, default: Mark()].fold = entry.value
      }
      return marks
    }

    // MARK: Deleting

    /// Deletes these models' keys.
    /// - Returns: how many there were.
    static func delete(_ models: ModelsOfEntry, in site: EtcdSite) throws(StoreError) -> Int {
      let present = try marks(models, in: site).keys.sorted()
      try delete(present, in: site)
      return present.count
    }

    private static func delete(_ models: [String], in site: EtcdSite) throws(StoreError) {
      let count = max(site.maxOperations / 4, 1)
      for start in stride(from: 0, to: models.count, by: count) {
        var transaction = EtcdTransaction()
        for model in models[start..<min(start + count, models.count)] {
          transaction.delete(site.keys.head(model))
          transaction.delete(site.keys.fold(model))
          for (key, end) in site.keys.content(of: model) { transaction.delete(key, end: end) }
        }
        _ = try site.carryOut(transaction)
      }
    }

    // MARK: Copying

    /// One key that is written to the target.
    private struct Put {
      var key: [UInt8]
      var value: [UInt8]
      /// About its bytes in a transaction.
      var size: Int { key.count + value.count + 32 }
    }

    private func copy(_ models: [String]) throws(StoreError) {
      let keys = source.keys
      let answer = try source.read(
        models.flatMap { model in
          [
            EtcdRange(key: keys.head(model)), EtcdRange(key: keys.fold(model)),
            EtcdRange(
              key: keys.records(model), end: EtcdKeys.end(of: keys.records(model)),
              limit: EtcdModelCopy.recordsAtOnce),
          ]
        })
      var writing = Writing(target)
      var ends: [[Put]] = []
      for (index, model) in models.enumerated() {
        let (head, fold) = (answer.ranges[index * 3].entries.first, answer.ranges[index * 3 + 1].entries.first)
        // Deleted since.
        guard let head else { continue }
        // What makes the copy complete comes last and together: the head, the fold, and the last record, which has the
        // revision of the head there as here.
        let last = try keys.record(model, EtcdValue.readHead(model, head).record)
        var end = [Put(key: target.keys.head(model), value: head.value)]
        try readRecords(of: model, answer.ranges[index * 3 + 2], answer.revision) { record throws(StoreError) in
          if record.key == last { end.append(put(record)) } else { try writing.addTogether([put(record)]) }
        }
        if let fold {
          try copyChunks(of: model, fold, answer.revision, &writing)
          end.append(Put(key: target.keys.fold(model), value: fold.value))
        }
        ends.append(end)
      }
      // No other record may have the revision of the head: a hub that is told of that one alone would take it for the
      // last, and store over those behind it.
      try writing.finish()
      for end in ends { try writing.addTogether(end) }
      try writing.finish()
    }

    private func readRecords(
      of model: String, _ first: EtcdRangeResponse, _ revision: UInt64,
      _ each: (EtcdKeyValue) throws(StoreError) -> Void
    ) throws(StoreError) {
      var page = first
      while true {
        for entry in page.entries { try each(entry) }
        guard page.hasMore, let last = page.entries.last else { return }
        page = try source.range(
          EtcdRange(
            key: last.key + [0], end: EtcdKeys.end(of: source.keys.records(model)),
            limit: EtcdModelCopy.recordsAtOnce, revision: revision))
      }
    }

    /// Copies the chunks in force. Others are of folds that were not finished.
    private func copyChunks(
      of model: String, _ fold: EtcdKeyValue, _ revision: UInt64, _ writing: inout Writing
    ) throws(StoreError) {
      let generation = try EtcdValue.readFold(model, fold.value).generation
      let chunks = source.keys.chunks(model, generation)
      var key = chunks
      while true {
        let page = try source.range(
          EtcdRange(key: key, end: EtcdKeys.end(of: chunks), limit: 4, revision: revision))
        for entry in page.entries { try writing.addTogether([put(entry)]) }
        guard page.hasMore, let last = page.entries.last else { return }
        key = last.key + [0]
      }
    }

    /// The same key in the target.
    private func put(_ entry: EtcdKeyValue) -> Put {
      Put(key: target.keys.prefix + entry.key.dropFirst(source.keys.prefix.count), value: entry.value)
    }

    /// What is on its way to the target, in order.
    private struct Writing {
      private let target: EtcdSite
      private var transaction = EtcdTransaction()
      private var names: Set<[UInt8]> = []
      private var bytes = 0

      init(_ target: EtcdSite) { self.target = target }

      /// Adds what is to be in one transaction.
      mutating func addTogether(_ puts: [Put]) throws(StoreError) {
        let size = puts.reduce(0) { $0 + $1.size }
        // No transaction may put a key twice.
        let isFull =
          transaction.count + puts.count > target.maxOperations || bytes + size > target.maxBytes
          || puts.contains { names.contains($0.key) }
        if isFull { try finish() }
        for put in puts {
          transaction.put(put.key, put.value)
          names.insert(put.key)
        }
        bytes += size
      }

      mutating func finish() throws(StoreError) {
        guard !names.isEmpty else { return }
        _ = try target.carryOut(transaction)
        (transaction, names, bytes) = (EtcdTransaction(), [], 0)
      }
    }
  }
#endif
