"""Places of the mutants of ephemeral models over several hubs."""

from place import Place

_PARTS = "Sources/BindingHub/Core/Siblings/SiblingParts.swift"
_SHOWING = "Sources/BindingHub/Core/Siblings/SiblingParts+Showing.swift"

PLACES = [
    Place(
        "Sources/BindingHub/Core/Siblings/OwnPart.swift", "func changes", "before",
        "let present = own.fields.id(of: field.name).map { own.fields[$0] }",
        """
if Mutant.isOn(.siblingSharesAll), field.hasValue, model.isTaken(id) {
  changes.append(Change(field: field.name, value: field.fieldValue, origin: field.origin, time: field.time))
  continue
}
""",
    ),
    Place(
        _PARTS, "func silence", "before",
        "var gone: [String: Set<String>] = [:]",
        "if Mutant.isOn(.siblingKeepsGone) { return [:] }",
    ),
    Place(
        _SHOWING, "func show", "before",
        "guard let elsewhere, elsewhere.precedes(holder.tag, since) else { return }",
        "if Mutant.isOn(.siblingOwnFirst) { return }",
    ),
    Place(
        _SHOWING, "func showFreed", "before",
        "let free = fields.filter { !model.fields[$0].hasValue }.map { model.fields[$0].name }",
        "if Mutant.isOn(.siblingForgetsOthers) { return }",
    ),
    Place(
        _SHOWING, "func take", "before",
        "for field in gone {",
        "if Mutant.isOn(.siblingKeepsMissing) { gone.removeAll() }",
    ),
    Place(
        "Sources/BindingHub/Core/Presence/PresenceTable.swift", "func publish", "before",
        "if let field = ephemeral.field(of: tag) { // It has come here from a sibling.",
        "if Mutant.isOn(.siblingKeepsAway), ephemeral.field(of: tag) != nil { continue }",
    ),
]
