import BindingProtocol

extension Verb {
  /// The verb with this name in messages of pages (protocol §10.3); nil if there is none.
  init?(word: String) {
    switch word {
    case "set": self = .set
    case "delete": self = .delete
    // `default`: sent by an open page of an earlier release.
    case "setIfAbsent", "default": self = .setIfAbsent
    case "clear": self = .clear
    case "add": self = .add
    case "max": self = .max
    case "min": self = .min
    case "union": self = .union
    case "insert": self = .insert
    case "move": self = .move
    case "replace": self = .replace
    default: return nil
    }
  }
}
