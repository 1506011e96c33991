/// A value that a person edits, with a rule for what is valid: a valid value is written to the model, an invalid one
/// stays here, with its problem in words.
/// ```swift
/// let password = Validated(account.binding.password) { $0.count < 8 ? "at least 8 characters" : nil }
/// let again = Validated("") { $0 == password.value ? nil : "not the same" }
/// field.bind(to: password)
/// again.problems.show(in: hint)
/// ```
/// - The value depends on everything that the rule reads by `value`: when that changes, the value is validated again,
///   and written to the model if it is valid now. A value that was written is never taken back.
/// - The model is written when the observers of an edit are notified: immediately, or at the end of a `Turn`. When
///   others change the model, this value follows, and an invalid entry is lost.
/// - It does not keep the model's owner alive, and a binding to it does not keep it alive: hold it as long as the
///   form exists.
/// - Any thread may read, write and observe. The rule runs on those threads, perhaps more than once, with no lock
///   held, so it should only compute. A check that takes time (a name that may be taken) puts its result into an
///   observable that the rule reads.
public final class Validated<Value: Equatable & Sendable>: BindingSource, Validatable, Sendable {
  private let draft: Observable<Value>
  private let state: ValidatedState<Value>
  /// The link to the model; ends with this.
  private let link: (any DraftLink)?

  /// The problem of the current value, in words for a person; nil when it is valid. It can be observed, shown in a
  /// label, and be a source of other values.
  public let problems: Derived<String?>

  /// Whether the current value is valid. It can be observed, or enable a button.
  public let validity: Derived<Bool>

  /// Creates a validated value without a model.
  /// - Parameters:
  ///   - value: the initial value, which may be invalid.
  ///   - rule: returns what is wrong with a value, in words for a person; nil: nothing.
  public convenience init(_ value: Value, rule: @escaping @Sendable (Value) -> String?) {
    self.init(value, check: rule) { _ in nil }
  }

  /// Creates a validated value that is written to a model while it is valid.
  /// - Parameters:
  ///   - model: an observable, a binding, a field shared with other processes. Its current value is the initial one.
  ///   - rule: returns what is wrong with a value, in words for a person; nil: nothing.
  public convenience init(_ model: some BindingSource<Value>, rule: @escaping @Sendable (Value) -> String?) {
    self.init(model, map: SameForm(), rule: rule)
  }

  /// Creates a validated value in another form than the model's, such as the text of a number; a value that the
  /// mapping refuses is a problem too.
  /// `Validated(person.binding.age, map: NumberText()) { $0 < 0 ? "not below 0" : nil }`
  /// - Parameters:
  ///   - model: written while the value is valid.
  ///   - map: converts between the model and this value.
  ///   - rule: returns what is wrong with a value of the model's type, in words for a person; nil: nothing.
  public convenience init<Conversion: Mapping>(
    _ model: some BindingSource<Conversion.Source>, map: Conversion,
    rule: @escaping @Sendable (Conversion.Source) -> String? = { _ in nil }
  ) where Conversion.Target == Value, Conversion.Source: Equatable & Sendable {
    let location = model.binding.location
    let check: @Sendable (Value) -> String? = { value in
      do throws(BindingError) {
        return rule(try map.back(value))
      } catch {
        return error.message
      }
    }
    self.init(map.forward(location.read()), check: check) { state in
      ModelLink(location, map, state)
    }
  }

  private init(
    _ value: Value, check: @escaping @Sendable (Value) -> String?,
    link: (ValidatedState<Value>) -> (any DraftLink)?
  ) {
    draft = Observable(value)
    let state = ValidatedState(draft.binding, check: check)
    self.state = state
    problems = Derived { state.problem }
    validity = problems.derived { $0 == nil }
    self.link = link(state)
    self.link?.start()
  }

  deinit { link?.end() }

  /// The current value, valid or not.
  public var value: Value {
    get { draft.value }
    set { draft.value = newValue }
  }

  /// The problem of the current value, in words for a person; nil when it is valid. A read inside a `Derived`, a
  /// rule, or a SwiftUI view is tracked.
  public var problem: String? { problems.value }

  /// Resets the value to the model's, or to the initial one if there is no model.
  public func discard() { draft.value = link == nil ? state.first : state.committed }

  /// A borrowed, read-write view of the value, valid or not.
  public var binding: Binding<Value> { draft.binding }
  /// The location of the value, valid or not.
  public var location: any BindingLocation<Value> { draft.location }
}

/// Something that may have a problem: a validated value, or a form of them.
public protocol Validatable: Sendable {
  /// What is wrong, in words for a person; nil: nothing. A read of it is tracked.
  var problem: String? { get }
}

extension Validatable {
  /// Whether nothing is wrong. A read of it is tracked.
  public var isValid: Bool { problem == nil }
}

/// Several validated values together: `let form = ValidatedForm(name, password, again)`.
///
/// `form.validity.show(in: button, \.isEnabled)` enables a button while all of them are valid. A form may be part of
/// another. It retains its parts. Any thread may read it.
public final class ValidatedForm: Validatable, Sendable {
  /// The problems of the parts, in the order of the parts; empty when all are valid. To be observed or shown.
  public let problems: Derived<[String]>

  /// Whether all parts are valid. It can be observed, or enable a button.
  public let validity: Derived<Bool>

  /// - Parameter parts: the values of the form, in the order in which their problems are reported.
  public init(_ parts: any Validatable...) {
    problems = Derived { parts.compactMap(\.problem) }
    validity = problems.derived { $0.isEmpty }
  }

  /// The first problem, in words for a person; nil when all parts are valid.
  public var problem: String? { problems.value.first }
}

/// A mapping that changes nothing.
private struct SameForm<Value: Sendable>: Mapping {
  func forward(_ source: Value) -> Value { source }
  func back(_ target: Value) -> Value { target }
}
