/// Keys to be read.
struct EtcdRange {
  var key: [UInt8]
  /// The end, which is not read; empty: one key.
  var end: [UInt8] = []
  /// 0: no limit.
  var limit = 0
  /// 0: the newest.
  var revision: UInt64 = 0
  var keysOnly = false
  var minModRevision: UInt64 = 0

  var bytes: [UInt8] {
    var writer = ProtobufWriter()
    writer.bytes(1, key)
    writer.bytes(2, end)
    writer.number(3, UInt64(limit))
    writer.number(4, revision)
    writer.number(8, keysOnly ? 1 : 0)
    writer.number(10, minModRevision)
    return writer.bytes
  }
}

/// A transaction: either all of `success` or all of `failure`.
struct EtcdTransaction {
  private var compares = ProtobufWriter()
  private var successes = ProtobufWriter()
  private var failures = ProtobufWriter()
  /// The numbers of each, which etcd limits.
  private(set) var compareCount = 0, successCount = 0, failureCount = 0

  init() {}

  var count: Int { max(compareCount, successCount, failureCount) }
  var size: Int { compares.bytes.count + successes.bytes.count + failures.bytes.count }
  var bytes: [UInt8] { compares.bytes + successes.bytes + failures.bytes }

  /// Only if the key was last changed at this revision; 0: only if there is none.
  mutating func compare(_ key: [UInt8], modRevision: UInt64) {
    compareCount += 1
    compares.message(1) { compare in
      compare.number(2, 2)
      compare.bytes(3, key)
      // One of several kinds of numbers: a zero must be there.
      compare.explicit(6, modRevision)
    }
  }

  mutating func put(_ key: [UInt8], _ value: [UInt8], lease: UInt64 = 0) {
    successCount += 1
    successes.message(2) { operation in
      operation.message(2) { put in
        put.bytes(1, key)
        put.bytes(2, value)
        put.number(3, lease)
      }
    }
  }

  /// Detaches a key from its lease.
  mutating func keep(_ key: [UInt8]) {
    successCount += 1
    successes.message(2) { operation in
      operation.message(2) { put in
        put.bytes(1, key)
        put.number(5, 1)
      }
    }
  }

  /// Deletes a key, or with an end the keys before that.
  mutating func delete(_ key: [UInt8], end: [UInt8] = []) {
    successCount += 1
    successes.message(2) { operation in
      operation.message(3) { range in
        range.bytes(1, key)
        range.bytes(2, end)
      }
    }
  }

  mutating func read(_ range: EtcdRange) {
    successCount += 1
    successes.message(2) { $0.message(1, range.bytes) }
  }

  mutating func readOtherwise(_ range: EtcdRange) {
    failureCount += 1
    failures.message(3) { $0.message(1, range.bytes) }
  }
}

/// The other requests.
enum EtcdRequest {
  static func authenticate(_ name: String, _ password: String) -> [UInt8] {
    var writer = ProtobufWriter()
    writer.bytes(1, Array(name.utf8))
    writer.bytes(2, Array(password.utf8))
    return writer.bytes
  }

  /// Puts after a revision, without deletions, a large revision in several parts.
  static func watch(_ key: [UInt8], end: [UInt8], from revision: UInt64) -> [UInt8] {
    var writer = ProtobufWriter()
    writer.message(1) { create in
      create.bytes(1, key)
      create.bytes(2, end)
      create.number(3, revision)
      create.number(5, 1)
      create.number(8, 1)
    }
    return writer.bytes
  }

  /// One number in field N.
  static func number(_ field: UInt8, _ value: UInt64) -> [UInt8] {
    var writer = ProtobufWriter()
    writer.number(field, value)
    return writer.bytes
  }
}
