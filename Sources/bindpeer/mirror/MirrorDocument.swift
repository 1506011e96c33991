import BindingPeer

/// The text of a mirrored file: fields with values, in a format that people edit.
protocol MirrorDocument {
  /// A document without fields.
  init()
  /// - Throws: what is no document of this format.
  init(_ text: String) throws(MirrorFault)
  var text: String { get }
  /// The fields in their order.
  var fields: [MirrorEntry] { get }
  /// Gives a field a value, in its place, or at the end if it is new; nil removes it. All else stays as it is.
  mutating func set(_ name: String, to value: FieldValue?)
}

/// A field of a document.
struct MirrorEntry: Equatable {
  enum Content: Equatable {
    case json(FieldValue)
    /// Text without quotes. What it means depends on the field's declared type.
    case bare(String)
  }
  let name: String
  let content: Content
  /// The line in which it stands, counted from 1.
  let line: Int

  /// - Throws: the text is no value, or none of the declared type.
  func value(as declared: FieldDescription?) throws(MirrorFault) -> FieldValue {
    let value: FieldValue
    switch content {
    case .json(let json): value = json
    case .bare(let text):
      do throws(TypedText.Fault) { value = try TypedText.value(of: text, as: declared?.type) } catch {
        throw MirrorFault(line: line, words: "has no value for \(name): \(error.words)")
      }
    }
    if let problem = declared?.misfit(of: value) {
      throw MirrorFault(line: line, words: "has a value that does not fit \(name): \(problem)")
    }
    return value
  }
}

/// What is wrong with a file, as the rest of a sentence that names a line.
struct MirrorFault: Error, Equatable {
  let line: Int
  let words: String

  /// - Throws: the text names no field.
  static func check(_ name: String, in line: Int, among names: [String]) throws(MirrorFault) {
    do throws(WireError) { try Names.checkField(name) } catch {
      throw MirrorFault(line: line, words: "names no field: \(error.problem)")
    }
    guard !name.hasPrefix("@") else {
      throw MirrorFault(line: line, words: "has a value for \(name), which programs do not write")
    }
    guard !names.contains(name) else { throw MirrorFault(line: line, words: "has the field \(name) a second time") }
  }
}
