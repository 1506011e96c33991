extension JSON {
  /// The members of an object's text in their order, each value as the bytes that stand there; nil unless the text is
  /// one object. A number or a text that is passed on so stays as it was written.
  package static func members(ofText text: [UInt8]) -> [(name: String, value: FieldValue)]? {
    text.withUnsafeBytes { text in
      guard isValid(text) else { return nil }
      var scanner = JSONScanner(text)
      scanner.skipSpace()
      guard scanner.byte == UInt8(ascii: "{") else { return nil }
      var members: [(name: String, value: FieldValue)] = []
      while scanner.byte != UInt8(ascii: "}") {
        // The brace or the comma before the member.
        scanner.offset += 1
        scanner.skipSpace()
        guard scanner.byte == UInt8(ascii: "\"") else { break }
        guard let name = piece(of: text, &scanner, { $0.scanString() }), scanner.scanColon() else { return nil }
        scanner.skipSpace()
        guard case .string(let name)? = try? JSON(parsing: name),
          let value = piece(of: text, &scanner, { $0.scanValue(depth: 1) })
        else { return nil }
        members.append((name, FieldValue(value)))
        scanner.skipSpace()
      }
      return members
    }
  }

  /// What `scan` passes over.
  private static func piece(
    of text: UnsafeRawBufferPointer, _ scanner: inout JSONScanner, _ scan: (inout JSONScanner) -> Bool
  ) -> UnsafeRawBufferPointer? {
    let start = scanner.offset
    return scan(&scanner) ? text.part(start, scanner.offset - start) : nil
  }
}
