extension Derived {
  /// Computes from any number of named sources, each of its own type:
  /// `Derived(street, city, zip, country) { "\($0), \($2) \($1), \($3)" }`.
  @_disfavoredOverload
  public convenience init<each Source: ValueSource & SendableMetatype>(
    _ sources: repeat each Source, compute: @escaping @Sendable (repeat (each Source).Value) -> Value
  ) where Value: Equatable, repeat (each Source).Value: Sendable {
    let named = (repeat DerivedSource(each sources))
    var nodes: [DerivedNode?] = []
    for source in repeat each named { nodes.append(source.node) }
    self.init(
      ComputedNode(others: nodes) { reading in
        let values = (repeat (each named).read(reading.collector, reading.turn))
        return reading.giveFromNamed { compute(repeat each values) }
      })
  }
}
