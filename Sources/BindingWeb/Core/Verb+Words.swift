import BindingProtocol

extension Verb {
  /// The verb that pages call so (protocol §10.3); nil if there is none.
  init?(word: String) {
    switch word {
    case "set": self = .set
    case "delete": self = .delete
    // `default`: a page of an earlier release that is still open.
    case "setIfAbsent", "default": self = .setIfAbsent
    case "clear": self = .clear
    case "add": self = .add
    case "max": self = .max
    case "min": self = .min
    case "union": self = .union
    default: return nil
    }
  }
}
