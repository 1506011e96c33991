"""Places of the mutants of lists at the hub, and of their undo."""

from place import Place

_CORE = "Sources/BindingHub/Core/"
_UNDO = "Sources/BindingPeer/Core/Undo/"

PLACES = [
    Place(
        _CORE + "Lists/Sequencer+Lists.swift", "func insert", "before",
        "if let id = named.id, isThere(id, named.list, in: model) { throw .conflict(id, name: named.field) }",
        """
if Mutant.isOn(.insertReplaces), let id = named.id, model.order(of: named.list).contains(id) {
  return edits.set(id, .element(element))
}
""",
    ),
    Place(
        _CORE + "Lists/Sequencer+Lists.swift", "func move", "before",
        "guard let id = named.id, let rank = model.order(of: named.list).rank(of: id) else {",
        """
if Mutant.isOn(.moveInserts), let id = named.id, !model.order(of: named.list).contains(id) {
  try put(id, at: position(of: place, in: named.list, of: model), in: named.list, of: model)
  edits.set(id, .element(FieldValue(json: .null)))
  return edits.touch(named.list)
}
""",
    ),
    Place(
        _CORE + "Lists/Sequencer+Lists.swift", "func position", "before",
        "func index(_ anchor: String?) -> Int? {",
        "if Mutant.isOn(.ignoreAnchors) { return model.order(of: list).count }",
    ),
    Place(
        _CORE + "Lists/Sequencer+Lists.swift", "func remove", "before",
        "if model.order(of: named.list).contains(id) {",
        "if Mutant.isOn(.orderKeepsRemoved) { return edits.set(id, .removed) }",
    ),
    Place(
        _CORE + "Lists/ListEdits.swift", "func undoLists", "before",
        "if !edits.isEmpty { edits = ListEdits() }",
        """
if Mutant.isOn(.orderKeepsRefused) {
  edits = ListEdits()
  return model.batch.lists.keep()
}
""",
    ),
    Place(
        _CORE + "Lists/ListEdits.swift", "func touch", "before",
        "if !lists.contains(where: { $0.name == list }) { lists.append((list, false)) }",
        "if Mutant.isOn(.keepHead) { return }",
    ),
    Place(
        _CORE + "Lists/Sequencer+Lists.swift", "func put", "before",
        "for neighbour in model.order(of: list).entries[found.window] { edits.renumber(neighbour.field) }",
        """
if Mutant.isOn(.spreadUnwritten) {
  model.batch.lists.renumber(found, in: list)
  return model.batch.lists.set(id, to: found.newRank, in: list, model.fields)
}
""",
    ),
    Place(
        _CORE + "Lists/ModelLists.swift", "func setRecoveredHeads", "before",
        "let pending = batch.pending",
        "if Mutant.isOn(.trustOfferedHeads) { return }",
    ),
    Place(
        _UNDO + "UndoBook+Restoring.swift", "func finalizeElements", "before",
        "var restoration = ElementRestoration(over: replica) { replica.order(of: $0) }",
        "if Mutant.isOn(.undoElementThatFailed), fields.isEmpty { return }",
    ),
    Place(
        _UNDO + "ElementRestoration.swift", "func index", "before",
        "if let after = place.after, let index = order.firstIndex(of: after) { return index + 1 }",
        "if Mutant.isOn(.undoToTheEnd) { return order.count }",
    ),
]
