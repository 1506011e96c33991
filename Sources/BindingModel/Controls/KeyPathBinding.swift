extension BindingSource {
  /// Binds a part of the value to a property of any object: `person.bind(\.name, to: field, \.text)`.
  ///
  /// The binding works both ways if the object is `Editable`. It holds the object weakly. Binding the same property
  /// again replaces it; it ends with `unbind()` of a `Bindable`, with the token, or when one of the two is gone.
  @MainActor @discardableResult
  public func bind<Object: AnyObject, Part: Equatable>(
    _ part: any WritableKeyPath<Value, Part> & Sendable, to object: Object,
    _ property: ReferenceWritableKeyPath<Object, Part>, commit: CommitTrigger = .eachEdit,
    onProblem: ProblemReport? = nil
  ) -> ObserverToken {
    ControlLink.tie(
      object, property: property,
      TypedLink(ModelEnd(binding.part(part)), .present(object, property), commit: commit, onProblem))
  }

  /// Binds a part of the value to an optional property of any object. Nil in the property is not an edit.
  @MainActor @discardableResult
  public func bind<Object: AnyObject, Part: Equatable>(
    _ part: any WritableKeyPath<Value, Part> & Sendable, to object: Object,
    _ property: ReferenceWritableKeyPath<Object, Part?>, commit: CommitTrigger = .eachEdit,
    onProblem: ProblemReport? = nil
  ) -> ObserverToken {
    ControlLink.tie(
      object, property: property,
      TypedLink(ModelEnd(binding.part(part)), .optional(object, property), commit: commit, onProblem))
  }

  /// Binds a part of the value, converted by a mapping, to a property of any object:
  /// `form.bind(\.age, to: field, \.text, map: NumberText())`.
  @MainActor @discardableResult
  public func bind<Object: AnyObject, Part, Conversion: Mapping>(
    _ part: any WritableKeyPath<Value, Part> & Sendable, to object: Object,
    _ property: ReferenceWritableKeyPath<Object, Conversion.Target>, map: Conversion,
    commit: CommitTrigger = .eachEdit, onProblem: ProblemReport? = nil
  ) -> ObserverToken where Conversion.Source == Part, Conversion.Target: Equatable {
    ControlLink.tie(
      object, property: property,
      TypedLink(ModelEnd(binding.part(part), map: map), .present(object, property), commit: commit, onProblem))
  }

  /// Binds a part of the value, converted by a mapping, to an optional property of any object. Nil in the property is
  /// not an edit.
  @MainActor @discardableResult
  public func bind<Object: AnyObject, Part, Conversion: Mapping>(
    _ part: any WritableKeyPath<Value, Part> & Sendable, to object: Object,
    _ property: ReferenceWritableKeyPath<Object, Conversion.Target?>, map: Conversion,
    commit: CommitTrigger = .eachEdit, onProblem: ProblemReport? = nil
  ) -> ObserverToken where Conversion.Source == Part, Conversion.Target: Equatable {
    ControlLink.tie(
      object, property: property,
      TypedLink(ModelEnd(binding.part(part), map: map), .optional(object, property), commit: commit, onProblem))
  }
}

extension ValueSource where Value: Equatable {
  /// Shows the value in a property of an object: `parity.show(in: label, \.text)`.
  @MainActor @discardableResult
  public func show<Object: AnyObject>(
    in object: Object, _ property: ReferenceWritableKeyPath<Object, Value>
  ) -> ObserverToken {
    show(\.self, in: object, property) { $0 }
  }

  /// Shows the value in an optional property of an object.
  @MainActor @discardableResult
  public func show<Object: AnyObject>(
    in object: Object, _ property: ReferenceWritableKeyPath<Object, Value?>
  ) -> ObserverToken {
    show(\.self, in: object, property) { $0 }
  }
}

extension ValueSource {
  /// Shows a part of the value, converted one way, in a property of an object:
  /// `form.show(\.count, in: label, \.text) { "\($0)" }`.
  @MainActor @discardableResult
  public func show<Object: AnyObject, Part, Shown: Equatable>(
    _ part: KeyPath<Value, Part>, in object: Object, _ property: ReferenceWritableKeyPath<Object, Shown>,
    as form: @escaping @MainActor (Part) -> Shown
  ) -> ObserverToken {
    let model = ModelEnd<Shown>(location, oneWay: { form($0[keyPath: part]) })
    return ControlLink.tie(
      object, property: property, TypedLink(model, .present(object, property, isTwoWay: false), nil))
  }
}

extension Binding {
  /// The part at a key path known only as a value. The whole itself stays the whole.
  fileprivate func part<Part>(_ path: any WritableKeyPath<Value, Part> & Sendable) -> Binding<Part> {
    Binding<Part>(erased: location.member(path, isRepeat: nil))
  }
}
