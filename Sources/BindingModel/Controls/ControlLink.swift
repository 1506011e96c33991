/// One binding of one control, of any type.
///
/// The control's links are stored for it and hold it weakly; the model's observation holds the link weakly. So links
/// are released with their control, and a replaced link is over.
@MainActor
package class ControlLink {
  package struct Links {
    /// The link of the control's own value.
    package var own: ControlLink?
    /// The links of properties named by key paths.
    package var properties: [AnyKeyPath: ControlLink] = [:]
  }

  package static let links = ObjectAssociation<Links>()

  /// Connects a new link to its control, in place of the one before.
  package static func tie(_ object: AnyObject, property: AnyKeyPath?, _ link: ControlLink) -> ObserverToken {
    var known = links[object] ?? Links()
    let former = property.map { known.properties[$0] } ?? known.own
    if let property { known.properties[property] = link } else { known.own = link }
    links[object] = known
    former?.end()
    link.start()
    return ObserverToken(endOnMain: { [weak link] in link?.end() })
  }

  package static func end(of object: AnyObject) {
    guard let known = links[object] else { return }
    links[object] = nil
    known.own?.end()
    for link in known.properties.values { link.end() }
  }

  package func start() {}
  package func end() {}
  package func modelChanged() {}
  package func controlEdited() {}
  /// Writes an edit that has not been written yet.
  package func commitEdit() {}
  /// Shows the model's value, whatever was typed.
  package func discardEdit() {}
  package var hasUncommittedEdit: Bool { false }

  /// All links of an object.
  package static func all(of object: AnyObject) -> [ControlLink] {
    guard let known = links[object] else { return [] }
    return (known.own.map { [$0] } ?? []) + known.properties.values
  }

  /// For the observers of the model, on the writing thread. Several writes before the main actor runs become one
  /// call, because the newest value is read there.
  final var whenWritten: @Sendable () -> Void {
    let delivery = LaneDelivery<Void>(lane: .main) { [weak self] in MainActor.assumeIsolated { self?.modelChanged() } }
    return { delivery.deliver(()) }
  }
}

/// The model's side of a link, without the type of the value behind it.
@MainActor
package struct ModelEnd<Shown> {
  /// The value that the control should show; nil to leave the control alone.
  package let read: () -> Shown?
  package let write: (Shown, Writer) throws(BindingError) -> Void
  /// The object that the value belongs to: another one is another model, as when another binding is chosen
  /// (`flattened`).
  package let target: () -> AnyObject?
  /// Whether two forms mean the same, so that one is no correction of the other.
  package let isSame: (Shown, Shown) -> Bool
  package let observe: (_ owner: AnyObject, _ own: Writer, _ changed: @escaping @Sendable () -> Void) -> ObserverToken

  package init<Value>(
    _ location: any BindingLocation<Value>, read: @escaping () -> Shown?,
    write: @escaping (Shown, Writer) throws(BindingError) -> Void,
    isSame: @escaping (Shown, Shown) -> Bool = { _, _ in false }
  ) {
    self.read = read
    self.write = write
    self.isSame = isSame
    target = { location.target }
    observe = { owner, own, changed in
      location.observe(owner: owner) { _, writer in
        if writer != own { changed() }
      }
    }
  }

  package init(_ binding: Binding<Shown>) {
    self.init(
      binding.location, read: { binding.location.read() },
      write: { value, writer throws(BindingError) in try binding.set(value, by: writer) })
  }

  package init(optional binding: Binding<Shown?>) {
    self.init(
      binding.location, read: { binding.location.read() },
      write: { value, writer throws(BindingError) in try binding.set(value, by: writer) })
  }

  package init<Conversion: Mapping>(_ binding: Binding<Conversion.Source>, map: Conversion)
  where Conversion.Target == Shown {
    self.init(
      binding.location, read: { map.forward(binding.location.read()) },
      write: { value, writer throws(BindingError) in try binding.set(map.back(value), by: writer) },
      isSame: { map.isSame($0, $1) })
  }

  /// A value whose conversion has no way back; writes are refused.
  package init<Value>(_ location: any BindingLocation<Value>, oneWay forward: @escaping (Value) -> Shown?) {
    self.init(
      location, read: { forward(location.read()) },
      write: { _, _ throws(BindingError) in throw BindingError(.refused, "this control is read-only") })
  }
}

/// The control's side of a link.
@MainActor
package struct ControlEnd<Shown> {
  /// Held weakly: a link keeps no control alive.
  package weak var object: AnyObject?
  package let shown: () -> Shown?
  package let show: (Shown) -> Void
  /// Shows that there is no value.
  package let clear: () -> Void
  /// Whether edits are observed.
  package let isTwoWay: Bool

  package init(
    object: AnyObject, isTwoWay: Bool = true, shown: @escaping () -> Shown?, show: @escaping (Shown) -> Void,
    clear: @escaping () -> Void = {}
  ) {
    self.object = object
    self.isTwoWay = isTwoWay
    self.shown = shown
    self.show = show
    self.clear = clear
  }

  var editable: (any Editable)? { isTwoWay ? object as? any Editable : nil }
}

extension ControlEnd {
  /// A property of an object.
  package static func present<Object: AnyObject>(
    _ object: Object, _ property: ReferenceWritableKeyPath<Object, Shown>, isTwoWay: Bool = true
  ) -> ControlEnd {
    ControlEnd(
      object: object, isTwoWay: isTwoWay, shown: { [weak object] in object?[keyPath: property] },
      show: { [weak object] in object?[keyPath: property] = $0 })
  }

  /// A property of an object that may be nil.
  package static func optional<Object: AnyObject>(
    _ object: Object, _ property: ReferenceWritableKeyPath<Object, Shown?>, isTwoWay: Bool = true
  ) -> ControlEnd {
    ControlEnd(
      object: object, isTwoWay: isTwoWay, shown: { [weak object] in object?[keyPath: property] },
      show: { [weak object] in object?[keyPath: property] = $0 },
      clear: { [weak object] in object?[keyPath: property] = nil })
  }
}
