// Unavailable declarations for common mistakes: the compiler says what to write instead. None of them can be called.

public import BindingModel

extension Model {
  /// Unavailable: each field of a model needs a default.
  @available(*, unavailable, message: "each field of a model needs a default: write '@Field var level = 0.3'")
  public init() { fatalError("unavailable") }  // SAFETY: cannot be called
}

extension Model where Self: AnyObject {
  /// Unavailable: a model is a struct.
  @available(*, unavailable, message: "a model is a struct: write 'struct Lamp: Model'")
  public static func _isStruct() {}
}

extension Field {
  /// Unavailable: a field's type must be `Codable` and `Equatable`.
  @available(
    *, unavailable,
    message: """
      a field's type is Codable and Equatable: write 'enum Mood: String, Codable' or 'struct Point: Codable, Equatable'
      """
  )
  @_disfavoredOverload
  public init(
    wrappedValue: Value, _ name: String? = nil, unit: String? = nil, choices: [Value] = [],
    policy: ConflictPolicy<Value> = .lastWrite
  ) { fatalError("unavailable") }  // SAFETY: cannot be called

  /// Unavailable: a field's range must be closed.
  @available(*, unavailable, message: "a field's range is closed: write 0...1, not 0..<1")
  @_disfavoredOverload
  public init<Bound>(
    wrappedValue: Value, _ range: Range<Bound>, name: String? = nil, unit: String? = nil,
    policy: ConflictPolicy<Value> = .lastWrite
  ) { fatalError("unavailable") }  // SAFETY: cannot be called
}

extension SharedField {
  /// Unavailable: on the main actor use `observeOnMain(on:_:)`.
  @MainActor
  @available(
    *, unavailable, renamed: "observeOnMain(on:_:)", message: "on the main actor an observer gets its owner"
  )
  @_disfavoredOverload @discardableResult
  public func observe<Owner: AnyObject>(
    on owner: Owner, _ body: @escaping @MainActor (Owner, Value) -> Void
  ) -> ObserverToken { fatalError("unavailable") }  // SAFETY: cannot be called
}
