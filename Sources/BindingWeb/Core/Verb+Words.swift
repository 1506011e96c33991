import BindingWire

/// The words of page messages for what frames say in numbers (protocol §10).
extension RefusalCode {
  var word: String { "\(self)" }
}

extension HoldCode {
  var word: String { "\(self)" }
}

extension ErrorCode {
  var word: String { "\(self)" }
}

extension Durability {
  var word: String { "\(self)" }
}

extension Verb {
  /// The verb of that name; nil if there is none.
  init?(word: String) {
    switch word {
    case "set": self = .set
    case "delete": self = .delete
    case "default": self = .whenUnset
    case "clear": self = .clear
    case "add": self = .add
    case "max": self = .max
    case "min": self = .min
    case "union": self = .union
    default: return nil
    }
  }
}
