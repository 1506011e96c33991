extension BindingSource {
  /// Binds a part of the value to a property of any object: `person.bind(\.name, to: field, \.text)`.
  ///
  /// If the object is `Editable`, both ways. The object is held weakly. Binding the same property again replaces; it
  /// ends with `unbind()` of a `Bindable`, with the token, or when one of the two is gone.
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

  /// As above, to a property that may hold nothing: what is nil there is not an edit.
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

  /// As above, in another form: `form.bind(\.age, to: field, \.text, map: NumberText())`.
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

  /// As above, in another form, to a property that may hold nothing.
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

  /// Shows the value in a property of an object that may hold nothing.
  @MainActor @discardableResult
  public func show<Object: AnyObject>(
    in object: Object, _ property: ReferenceWritableKeyPath<Object, Value?>
  ) -> ObserverToken {
    show(\.self, in: object, property) { $0 }
  }
}

extension ValueSource {
  /// Shows a part of the value in a form that cannot be taken back:
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
  /// A part by a key path known as a value. The whole itself stays the whole.
  fileprivate func part<Part>(_ path: any WritableKeyPath<Value, Part> & Sendable) -> Binding<Part> {
    Binding<Part>(erased: location.member(path, isRepeat: nil))
  }
}
