import CStoreDisk
import Foundation

/// A store's writes to its two files, replayed up to any moment, as a disk may contain them after a power cut:
/// synced data is there; of unsynced data any 512 bytes may be, regardless of order.
struct DiskImages {
  private enum Deed {
    case write(Int, [UInt8])
    case truncate(Int)
  }
  private struct Note {
    var position: Int
    var head: storedisk_note
    var bytes: Range<Int>
  }
  private struct OneFile {
    var synced: [UInt8] = []
    var waiting: [(position: Int, deed: Deed)] = []
  }

  private let bytes: [UInt8]
  private var notes: [Note] = []
  private var next = 0
  private var files = [OneFile(), OneFile()]
  /// The last mark before the moment.
  private(set) var mark: Int64 = 0

  /// Begins with the files as they were when recording began, and takes over the recording.
  init(database: [UInt8], log: [UInt8]) {
    var length = 0
    let taken = storedisk_take(&length)
    bytes = taken.map { Array(UnsafeRawBufferPointer(start: $0, count: length)) } ?? []
    free(taken)
    (files[0].synced, files[1].synced) = (database, log)
    var position = 0
    while position < bytes.count {
      let head = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: position, as: storedisk_note.self) }
      let start = position + MemoryLayout<storedisk_note>.size
      notes.append(Note(position: position, head: head, bytes: start..<start + Int(head.length)))
      position = start + Int(head.length)
    }
  }

  var moments: Int { notes.count }

  /// Advances to a moment; never back.
  mutating func advance(to moment: Int) {
    while next < moment {
      let note = notes[next]
      let (file, offset) = (Int(note.head.file), Int(note.head.offset))
      next += 1
      switch storedisk_kind(UInt32(note.head.kind)) {
      case STOREDISK_WRITE: files[file].waiting.append((note.position, .write(offset, Array(bytes[note.bytes]))))
      case STOREDISK_TRUNCATE: files[file].waiting.append((note.position, .truncate(offset)))
      case STOREDISK_SYNC:
        let confirmed = files[file].waiting.prefix { $0.position < offset }
        for (_, deed) in confirmed { DiskImages.apply(deed, to: &files[file].synced) }
        files[file].waiting.removeFirst(confirmed.count)
      case STOREDISK_DELETE: files[file] = OneFile()
      default: mark = note.head.offset
      }
    }
  }

  /// The database and its log, as they may have been left at this moment.
  func image(using chance: inout SplitMix) -> [[UInt8]] {
    let perMille = [0, 250, 500, 900, 1_000][Int(chance.next() % 5)] as UInt64
    return files.map { file in
      var image = file.synced
      for (_, deed) in file.waiting {
        switch deed {
        case .truncate: if chance.next() % 1_000 < perMille { DiskImages.apply(deed, to: &image) }
        case .write(let offset, let bytes):
          var start = 0
          while start < bytes.count {
            let end = min(bytes.count, (offset + start) / 512 * 512 + 512 - offset)
            if chance.next() % 1_000 < perMille {
              DiskImages.apply(.write(offset + start, Array(bytes[start..<end])), to: &image)
            }
            start = end
          }
        }
      }
      return image
    }
  }

  private static func apply(_ deed: Deed, to file: inout [UInt8]) {
    switch deed {
    case .truncate(let length):
      file = Array(file.prefix(length)) + [UInt8](repeating: 0, count: max(0, length - file.count))
    case .write(let offset, let bytes):
      if file.count < offset + bytes.count { file += [UInt8](repeating: 0, count: offset + bytes.count - file.count) }
      file.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }
  }
}
