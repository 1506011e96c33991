import BindingHub
import BindingProtocol
import Testing

/// A hub with a model that has a list, and what a reader makes of it.
struct ListBench {
  static let description = #"{"fields":{"cues":{"policy":"list","type":"number","min":0},"level":{"type":"number"}}}"#
  var hub: HubBench
  private var numbers: [String: ProposalNumber] = [:]
  var topic: Topic { hub.machine.topic(of: "lamp") ?? Topics.none }

  /// - Parameter gap: the distance of ranks at the ends.
  init(gap: Int64? = nil, tailProven: Bool = true, _ configure: (inout HubMachineConfiguration) -> Void = { _ in }) {
    hub = HubBench(tailProven: tailProven) {
      if let gap { $0.listGap = gap }
      configure(&$0)
    }
    hub.live(.ann)
    hub.live(.ben)
    guard tailProven else { return }
    write(.set("@description", Self.description))
  }

  @discardableResult
  mutating func write(
    _ operations: WireOperation..., by peer: Speaker = .ann, if conditions: [WireCondition] = []
  ) -> WireOutcome.Rest? {
    write(operations, by: peer, if: conditions)
  }

  @discardableResult
  mutating func write(
    _ operations: [WireOperation], by peer: Speaker = .ann, if conditions: [WireCondition] = []
  ) -> WireOutcome.Rest? {
    let number = (numbers[peer.identity.name] ?? 0) + 1
    numbers[peer.identity.name] = number
    let proposal = NumberedProposal.of(
      number, operations, conditions: conditions, confirmed: number - 1, topic: topic)
    return hub.send(peer, .propose([proposal])).outcomes(peer, topic: topic)[number]
  }

  /// The ids in order, as a new peer reads them. Checks the head, and that no two elements have one rank.
  mutating func ids(_ list: String = "cues", at location: SourceLocation = #_sourceLocation) -> [String] {
    let values = hub.read(topic: topic).values
    let fields = values.map { ($0.key, FieldValue(bytes: Array($0.value.utf8))) }
    let elements = ListElements.ordered(list, in: fields.map { (name: $0.0, value: $0.1) })
    let count = values[list].flatMap { ListElements.count(ofHead: FieldValue(bytes: Array($0.utf8))) }
    #expect((count ?? 0) == elements.count, "the head tells the number of elements", sourceLocation: location)
    let ranks = fields.filter { ListElements.parts(of: $0.0)?.list == list[...] }
      .compactMap { ListElements.stored($0.1)?.rank }
    #expect(Set(ranks).count == ranks.count, "ranks differ", sourceLocation: location)
    return elements.map(\.id)
  }

  /// The elements in order, as one JSON array.
  mutating func array(_ list: String = "cues") -> String {
    let fields = hub.read(topic: topic).values.map { (name: $0.key, value: FieldValue(bytes: Array($0.value.utf8))) }
    return ListElements.array(of: ListElements.ordered(list, in: fields).map(\.element)).description
  }

  /// What a refusal says.
  static func text(_ outcome: WireOutcome.Rest?) -> String? {
    guard case .refused(let refusal)? = outcome else { return nil }
    return refusal.text
  }
}

extension WireOperation {
  static func insert(
    _ id: String, _ element: String = "1", after: String? = nil, before: String? = nil, in list: String = "cues"
  ) -> WireOperation {
    let operand = ListOperand(after: after, before: before, element: json(element))
    return WireOperation(verb: .insert, field: .name("\(list)@\(id)"), value: operand.value)
  }

  static func move(_ id: String, after: String? = nil, before: String? = nil) -> WireOperation {
    WireOperation(
      verb: .move, field: .name("cues@\(id)"), value: ListOperand(after: after, before: before).value)
  }

  static func replace(_ id: String, _ element: String) -> WireOperation { of(.replace, "cues@\(id)", element) }

  static func remove(_ id: String) -> WireOperation { delete("cues@\(id)") }
}
