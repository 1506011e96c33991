extension Derived {
  /// Computes from as many sources as are named, each of its own type:
  /// `Derived(street, city, zip, country) { "\($0), \($2) \($1), \($3)" }`.
  @_disfavoredOverload
  public convenience init<each Source: ValueSource & SendableMetatype>(
    _ sources: repeat each Source, compute: @escaping @Sendable (repeat (each Source).Value) -> Value
  ) where Value: Equatable, repeat (each Source).Value: Sendable {
    let named = (repeat DerivedSource(each sources))
    var list: [any AnyDerivedSource] = []
    for source in repeat each named { list.append(source) }
    self.init(
      ComputedNode(sources: list) {
        let values = (repeat (each named).read())
        return { compute(repeat each values) }
      })
  }
}
