/// A key with its value.
struct EtcdKeyValue: Equatable {
  var key: [UInt8] = []
  var value: [UInt8] = []
  var modRevision: UInt64 = 0
  var lease: UInt64 = 0

  init(_ bytes: ArraySlice<UInt8>) throws(ProtobufError) {
    try ProtobufReader.read(bytes) { field in
      switch field.number {
      case 1: key = Array(field.bytes)
      case 3: modRevision = field.value
      case 5: value = Array(field.bytes)
      case 6: lease = field.value
      default: break
      }
    }
  }
}

/// The revision in a response's header.
private func revision(inHeader bytes: ArraySlice<UInt8>) throws(ProtobufError) -> UInt64 {
  var revision: UInt64 = 0
  try ProtobufReader.read(bytes) { if $0.number == 3 { revision = $0.value } }
  return revision
}

/// What a range holds.
struct EtcdRangeResponse {
  var revision: UInt64 = 0
  var entries: [EtcdKeyValue] = []
  /// Whether there are more than the limit.
  var hasMore = false

  init(_ bytes: ArraySlice<UInt8>) throws(ProtobufError) {
    try ProtobufReader.read(bytes) { field throws(ProtobufError) in
      switch field.number {
      case 1: revision = try BindingEtcd.revision(inHeader: field.bytes)
      case 2: entries.append(try EtcdKeyValue(field.bytes))
      case 3: hasMore = field.value != 0
      default: break
      }
    }
  }
}

/// The result of a transaction.
struct EtcdTransactionResponse {
  var revision: UInt64 = 0
  var succeeded = false
  /// What was read, in order; empty for what was written.
  var ranges: [EtcdRangeResponse] = []

  init(_ bytes: ArraySlice<UInt8>) throws(ProtobufError) {
    try ProtobufReader.read(bytes) { field throws(ProtobufError) in
      switch field.number {
      case 1: revision = try BindingEtcd.revision(inHeader: field.bytes)
      case 2: succeeded = field.value != 0
      case 3:
        try ProtobufReader.read(field.bytes) { operation throws(ProtobufError) in
          if operation.number == 1 { ranges.append(try EtcdRangeResponse(operation.bytes)) }
        }
      default: break
      }
    }
  }
}

/// What a watch says.
struct EtcdWatchResponse {
  var revision: UInt64 = 0
  var isCreated = false
  var isCancelled = false
  /// Not 0: what it should begin after is compacted up to this revision.
  var compactRevision: UInt64 = 0
  var reason = ""
  /// Whether the rest of this revision follows.
  var isFragment = false
  var entries: [EtcdKeyValue] = []

  init(_ bytes: ArraySlice<UInt8>) throws(ProtobufError) {
    try ProtobufReader.read(bytes) { field throws(ProtobufError) in
      switch field.number {
      case 1: revision = try BindingEtcd.revision(inHeader: field.bytes)
      case 3: isCreated = field.value != 0
      case 4: isCancelled = field.value != 0
      case 5: compactRevision = field.value
      case 6: reason = field.text
      case 7: isFragment = field.value != 0
      case 11:
        try ProtobufReader.read(field.bytes) { event throws(ProtobufError) in
          if event.number == 2 { entries.append(try EtcdKeyValue(event.bytes)) }
        }
      default: break
      }
    }
  }
}

/// The state of a node.
struct EtcdStatus {
  var revision: UInt64 = 0
  var version = ""
  var bytes: UInt64 = 0
  var bytesInUse: UInt64 = 0
  var hasLeader = false
  /// The alarms that it raised, as texts.
  var alarms: [String] = []

  init(_ bytes: ArraySlice<UInt8>) throws(ProtobufError) {
    var size: UInt64 = 0
    try ProtobufReader.read(bytes) { field throws(ProtobufError) in
      switch field.number {
      case 1: revision = try BindingEtcd.revision(inHeader: field.bytes)
      case 2: version = field.text
      case 3: size = field.value
      case 4: hasLeader = field.value != 0
      case 8: alarms.append(field.text)
      case 9: bytesInUse = field.value
      default: break
      }
    }
    self.bytes = size
  }
}

/// A node of the cluster.
struct EtcdMember: Equatable {
  var name = ""
  var clientURLs: [String] = []
  /// A learner has no vote.
  var isLearner = false

  /// All members of a response.
  static func all(_ bytes: ArraySlice<UInt8>) throws(ProtobufError) -> [EtcdMember] {
    var members: [EtcdMember] = []
    try ProtobufReader.read(bytes) { field throws(ProtobufError) in
      guard field.number == 2 else { return }
      var member = EtcdMember()
      try ProtobufReader.read(field.bytes) { field in
        switch field.number {
        case 2: member.name = field.text
        case 4: member.clientURLs.append(field.text)
        case 5: member.isLearner = field.value != 0
        default: break
        }
      }
      members.append(member)
    }
    return members
  }
}

/// Responses of which one value is wanted.
enum EtcdResponse {
  /// The number in field N.
  static func number(_ wanted: UInt64, _ bytes: ArraySlice<UInt8>) throws(ProtobufError) -> UInt64 {
    var found: UInt64 = 0
    try ProtobufReader.read(bytes) { if $0.number == wanted { found = $0.value } }
    return found
  }

  /// The text in field N.
  static func text(_ wanted: UInt64, _ bytes: ArraySlice<UInt8>) throws(ProtobufError) -> String {
    var found = ""
    try ProtobufReader.read(bytes) { if $0.number == wanted { found = $0.text } }
    return found
  }
}
