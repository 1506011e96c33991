"""standing becomes current, sync state or final values, by what it meant; objection becomes violation.

`FieldProblem.rejected(_:standing:)` was public.
"""

from .rewriting import code, names

PEER = ("Sources/BindingPeer/*.swift", "Tests/BindingPeerTests/*.swift")
STATUS = ("Sources/BindingPeer/*/Session+Status.swift", "Sources/BindingPeer/*/SharedField.swift",
          "Sources/BindingPeer/*/ModelStatus.swift")
CELL = ("Sources/BindingPeer/*/FieldCell.swift",)
PENDING = ("Sources/BindingPeer/*/PendingWrite.swift",)
OUTAGE = ("Sources/BindingPeer/*/Outage.swift",)
CHANGE = ("Sources/BindingPeer/*/ModelChange.swift", "Sources/BindingPeer/*/Model+Observe.swift")
FILES = {
    "Tests/Simulation/History/HistoryCheck+Standing.swift": "Tests/Simulation/History/HistoryCheck+FinalValues.swift",
}
RULES = [
    # How far a field or a model is in step with the hub.
    *names({"FieldStanding": "FieldSyncState", "ModelStanding": "ModelSyncState"}),
    *code({r"\bstanding\b": "syncState"}, STATUS),
    *code({r"\bsession\.standing\(of:": "session.syncState(of:"}, PEER),
    *names({"CellStanding": "CellState"}, CELL),
    *code({r"\bself\.standing\.withLock\b": "state.withLock",
           r"\bstanding(?=\.| in\b| -> | = Protected\b)": "state", r"`standing`": "`state`"}, CELL),
    *code({r"\bStanding\b": "State", r"\bstanding\b": "state"}, OUTAGE),
    # The version of a model when a write had its outcome.
    *code({r"\blet standing = self\b": "let current = self",
           r"\bif standing == nil \|\| standing != value\b": "if current == nil || current != value",
           r"\bstanding\b": "modelVersion"}, PENDING),
    *code({r"\bstanding: version\b": "modelVersion: version"}, PEER),
    # The committed value that shows instead of what was refused.
    *code({r"\blet standing = standing\(": "let current = currentValues(",
           r"\bfunc standing\(_ fields\b": "func currentValues(_ fields",
           r"\b\w+WhatStands\b": "reportsCurrent"}, PEER),
    *code({r"\bstanding\b": "formerSeen"}, ("Sources/BindingPeer/*/ConflictRule.swift",)),
    *code({r"\bstanding\(for: ": "counting(", r"\bfunc standing\(for commits:": "func counting(_ commits:"}, CHANGE),
    *code({r"\bpace\.standing\(for: ": "pace.mapped(by: "}, PEER),
    *code({r"\bfunc standing<Other>\(\s*for form:": "func mapped<Other>(by form:"},
          ("Sources/BindingModel/Lanes/Pace.swift",)),
    *code({r"\bstanding\b": "current"}, (*PEER, "Tests/BindingModelTests/ValidatedTests.swift")),
    *names({"checkStanding": "checkFinalValues"}),
    *code({r"\bstanding\b": "sharedModel"}, ("Tests/Bench/*.swift",)),
    *names({"standingChanged": "stateChanged"}, ("Sources/BindingWeb/Pages/pages/*.js",)),
    # Why a value is not taken.
    *code({r"\bMerge\.objection\(": "Merge.violation(", r"\bfunc objection\(_ verb:": "func violation(_ verb:",
           r"\bfunc objections\(_ verb:": "func violations(_ verb:"}),
    *code({r"\bobjection\(to\b": "violation(by", r"\bobjection\b": "violation"}, CELL),
    *code({r"\bobjection\b": "refusal"}, ("Sources/BindingModel/*/Selected.swift",)),
]
