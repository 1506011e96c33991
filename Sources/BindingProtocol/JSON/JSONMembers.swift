extension JSON {
  /// The members of the text of an object, in order, each value as written; nil unless the text is one object.
  /// Keeps the spelling of numbers and texts that are passed on.
  package static func members(ofText text: [UInt8]) -> [(name: String, value: FieldValue)]? {
    text.withUnsafeBytes { text in
      guard isValid(text) else { return nil }
      var scanner = JSONScanner(text)
      scanner.skipSpace()
      guard scanner.byte == UInt8(ascii: "{") else { return nil }
      var members: [(name: String, value: FieldValue)] = []
      while scanner.byte != UInt8(ascii: "}") {
        // Skips the brace or the comma before the member.
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

  /// The bytes that `scan` passes over.
  private static func piece(
    of text: UnsafeRawBufferPointer, _ scanner: inout JSONScanner, _ scan: (inout JSONScanner) -> Bool
  ) -> UnsafeRawBufferPointer? {
    let start = scanner.offset
    return scan(&scanner) ? text.part(start, scanner.offset - start) : nil
  }
}
