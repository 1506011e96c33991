import BindingModel
import BindingProtocol
import Foundation
import Testing

@testable import BindingPeer

/// The changes of a folder's files, replayed up to any moment, as a disk may contain them after a loss of power: synced
/// data is there; of unsynced data any 512 bytes may be, regardless of order; a name may still be that of the old file.
final class RecordedDisk: Sendable {
  enum Change: Sendable {
    case write(file: UInt64, offset: Int, [UInt8])
    case sync(file: UInt64)
    case rename(file: UInt64)
    case syncNames
  }
  /// The changes, and the number of each file by that of its inode, which the system uses again.
  private let changes = Protected<(list: [Change], files: [UInt64: UInt64])>(([], [:]))

  var count: Int { changes.withLock { $0.list.count } }
  var all: [Change] { changes.withLock { $0.list } }

  /// Calls of the system that are recorded.
  var system: OutboxFile.System {
    OutboxFile.System(
      write: { [self] descriptor, bytes in
        let (inode, size, _) = RecordedDisk.file(descriptor)
        let count = Foundation.write(descriptor, bytes.baseAddress, bytes.count)
        changes.withLock { changes in
          if size == 0 { changes.files[inode] = UInt64(changes.list.count + 1) }
          changes.list.append(
            .write(file: changes.files[inode] ?? 0, offset: size, Array(bytes.prefix(max(count, 0)))))
        }
        return count
      },
      sync: { [self] descriptor in
        let (inode, _, isFolder) = RecordedDisk.file(descriptor)
        changes.withLock { $0.list.append(isFolder ? .syncNames : .sync(file: $0.files[inode] ?? 0)) }
        return 0
      },
      rename: { [self] old, new in
        let descriptor = Foundation.open(old, O_RDONLY)
        let inode = RecordedDisk.file(descriptor).inode
        Foundation.close(descriptor)
        changes.withLock { $0.list.append(.rename(file: $0.files[inode] ?? 0)) }
        return Foundation.rename(old, new)
      })
  }

  private static func file(_ descriptor: Int32) -> (inode: UInt64, size: Int, isFolder: Bool) {
    var status = stat()
    _ = fstat(descriptor, &status)
    return (UInt64(status.st_ino), Int(status.st_size), status.st_mode & S_IFMT == S_IFDIR)
  }

  /// The file as it may be left after so many changes.
  static func image(
    of changes: ArraySlice<Change>, beginning file: UInt64, _ random: inout SeededGenerator
  ) -> [UInt8] {
    let perMille = [0, 250, 500, 900, 1_000].randomElement(using: &random) ?? 0
    var synced: [UInt64: [UInt8]] = [:]
    var waiting: [UInt64: [(offset: Int, bytes: [UInt8])]] = [:]
    var (name, possible) = (file, [file])
    for change in changes {
      switch change {
      case .write(let file, let offset, let bytes): waiting[file, default: []].append((offset, bytes))
      case .sync(let file):
        for (offset, bytes) in waiting.removeValue(forKey: file) ?? [] {
          put(bytes[...], at: offset, &synced[file, default: []])
        }
      case .rename(let file):
        name = file
        possible.append(file)
      case .syncNames: possible = [name]
      }
    }
    let left = possible.randomElement(using: &random) ?? name
    var image = synced[left] ?? []
    for (offset, bytes) in waiting[left] ?? [] {
      var start = 0
      while start < bytes.count {
        let end = min(bytes.count, (offset + start) / 512 * 512 + 512 - offset)
        if Int.random(in: 0..<1_000, using: &random) < perMille { put(bytes[start..<end], at: offset + start, &image) }
        start = end
      }
    }
    return image
  }

  private static func put(_ bytes: ArraySlice<UInt8>, at offset: Int, _ image: inout [UInt8]) {
    if image.count < offset + bytes.count { image += [UInt8](repeating: 0, count: offset + bytes.count - image.count) }
    image.replaceSubrange(offset..<offset + bytes.count, with: bytes)
  }
}

@Suite("A keep file after a loss of power")
struct KeepImageTests {
  /// What was known when so many changes of the file had been made.
  private struct Moment {
    var changes: Int
    /// The last own write of each field whose outcome was reported: its version and value.
    var acknowledged: [String: (version: Version, value: FieldValue)]
  }
  private struct Recording {
    var changes: [RecordedDisk.Change] = []
    var moments: [Moment] = []
    /// The committed values at each version.
    var states: [[String: FieldValue]] = [[:]]
    var file: UInt64 = 0
  }
  private let folder: OutboxFolder
  private let fields = ["a", "b", "c"]
  private var images: Int {
    ProcessInfo.processInfo.environment["BINDBUS_CRASH_IMAGES"].flatMap { Int($0) } ?? 10_000
  }

  init() throws { folder = try OutboxFolder() }

  /// A peer writes, others write, replicas are stored and the file is rewritten, all in an order that the seed gives.
  private func recording(_ seed: UInt64, _ durability: OutboxStorage.Durability) throws -> Recording {
    var random = SeededGenerator(seed: seed)
    let disk = RecordedDisk()
    let file = try OutboxFile.open(
      folder.path("keep-\(seed)"), durability: durability, keepsReplicas: true, system: disk.system)
    var recording = Recording()
    if case .write(let number, _, _)? = disk.all.first { recording.file = number }
    let run = try file.begin(PeerBench.identity)
    var bench = PeerBench(
      Session(
        identity: PeerBench.identity, seed: 1, now: 1_000, keepsOutbox: true,
        keeping: KeepChoice(defersOutcomes: durability == .disk), wall: 1))
    func keep(_ drain: Drain) { _ = file.append(drain.entries, of: run) }
    bench.join()
    bench.open()
    let request = bench.welcome().request
    keep(bench.catchUp(request, version: 0, fields.map { Entry(name: $0, value: nil, version: 0) }))
    var moment = Moment(changes: 0, acknowledged: [:])
    var pending: [(number: ProposalNumber, field: Int, value: FieldValue)] = []
    var (number, replicas) = (0 as ProposalNumber, KeptReplicas())
    func note() {
      moment.changes = disk.count
      recording.moments.append(moment)
    }
    func commit(_ field: Int, _ value: FieldValue, own: ProposalNumber?) {
      let version = Version(recording.states.count - 1)
      keep(
        bench.hub(
          bench.commits(
            after: version, [[FieldID(field): value.description]], own: own.map { [0: $0] } ?? [:],
            names: NamesRun(first: 3))))
      var state = recording.states[recording.states.count - 1]
      state[fields[field]] = value
      recording.states.append(state)
    }
    for step in 0..<60 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<4:
        let field = Int.random(in: 0..<3, using: &random)
        let value = json("\"own \(step)\"")
        keep(try bench.write(Proposal(operations: [FieldOperation(.set, fields[field], value)])).drain)
        number += 1
        pending.append((number, field, value))
      case 4..<7 where !pending.isEmpty:
        let next = pending.removeFirst()
        commit(next.field, next.value, own: next.number)
        let version = Version(recording.states.count - 1)
        keep(bench.hub(bench.outcomes((next.number, .committed(count: 1, version: version)))))
        moment.acknowledged[fields[next.field]] = (version, next.value)
      case 7: commit(Int.random(in: 0..<3, using: &random), json("\"other \(step)\""), own: nil)
      case 8 where step % 4 == 0: file.rewriteInBackground(with: replicas)
      default:
        let batch = bench.session.takeKeeping(wall: UInt64(step), now: bench.now)
        for record in batch.records { replicas.apply(record) }
        let problem = file.keep(batch, batch.entries.map { (run, $0) })
        #expect(problem == nil)
        bench.session.finishKeeping(batch, isStored: true)
      }
      note()
    }
    file.close()
    recording.changes = disk.all
    return recording
  }

  /// The step in which an own value was written; nil: it is another writer's.
  private func step(of value: FieldValue?) -> Int? {
    guard let text = value?.description, text.contains("own") else { return nil }
    return Int(text.filter(\.isNumber))
  }

  @Test("no image shows a value that was not committed or written, nor with .disk one older than acknowledged")
  func everyImage() throws {
    var random = SeededGenerator(seed: 20_261_125)
    var (older, refused, lacking) = (0, 0, 0)
    let recordings = try (0..<10 as Range<UInt64>).map { try recording($0, $0 < 7 ? .disk : .process) }
    for image in 0..<images {
      let isDisk = image % 10 < 7
      let recording = recordings[image % 10]
      let cut = Int.random(in: 1...recording.changes.count, using: &random)
      let bytes = RecordedDisk.image(of: recording.changes[..<cut], beginning: recording.file, &random)
      let reading = bytes.withUnsafeBytes { bytes in try? OutboxLog.read(bytes) }
      guard let reading else {
        // Without any sync a file may be left without its beginning.
        if isDisk { Issue.record("image \(image) of \(cut) changes is refused") }
        refused += 1
        continue
      }
      let kept = KeptModels(reading.content)["lamp"]
      let replica = reading.content.replicas[1, "lamp"]
      // The moments before and after the cut: what is in between was not promised yet.
      let before = recording.moments.last { $0.changes <= cut }
      let state = recording.states[Int(replica?.version ?? 0)]
      let values = (replica?.fields ?? [:]).compactMapValues(\.value)
      #expect(values == state, "image \(image): version \(replica?.version ?? 0)")
      for field in fields {
        let shown = kept.fields.first { $0.name == field }?.value
        guard let known = before?.acknowledged[field], known.version > replica?.version ?? 0 else { continue }
        if step(of: shown) ?? -1 < step(of: known.value) ?? 0 {
          older += 1
          if isDisk { Issue.record("image \(image): \(field) shows \(shown?.description ?? "nothing"), not \(known)") }
        }
      }
      if replica == nil { lacking += 1 }
    }
    // Otherwise the images would prove nothing.
    #expect(older > 0 && lacking < images / 2 && refused < images / 3)
  }
}
