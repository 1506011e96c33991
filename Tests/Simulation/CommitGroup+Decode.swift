import BindingProtocol

extension CommitGroup {
  static func decode(_ body: [UInt8]) throws(WireError) -> CommitGroup {
    try body.withUnsafeBytes { bytes in
      Result { () throws(WireError) in
        var reader = WireReader(bytes, message: "commits")
        return try CommitGroup(from: &reader)
      }
    }.get()
  }
}
