"""note becomes record, of an outbox journal entry; who notes that a value is another now invalidates it."""

from .rewriting import Rule, code, names

PLANTS = ("*.swift", "Tests/Mutants/*.py")
JOURNAL = (
    "Sources/BindingPeer/Core/Journal/*.swift", "Sources/BindingPeer/Runtime/OutboxFile.swift",
    "Sources/BindingPeer/Runtime/PeerRuntime+Outbox.swift", "Tests/BindingPeerTests/Core/Drain.swift",
    "Tests/Simulation/World+Outbox.swift", "Tests/Simulation/World+Network.swift",
)
OUTBOX_TESTS = ("Tests/BindingPeerTests/Outbox/*.swift",)
FILES = {
    "Sources/BindingPeer/Core/Journal/OutboxNote.swift": "Sources/BindingPeer/Core/Journal/JournalEntry.swift",
}
RULES = [
    # What a session wants in its outbox.
    *names({"OutboxNote": "JournalEntry"}),
    *code({r"\bcase note\((?=JournalEntry\b)": "case entry("}),
    *code({r"\.note\((?=\s*\.(?:welcomed|written|numbered|withdrawn|decided)\b)": ".entry(",
           r"\.note\(note\)": ".entry(entry)"},
          (*JOURNAL, "Tests/BindingPeerTests/*.swift")),
    *code({r"\bnote\b(?!\()": "entry", r"\bnotes\b(?!\()": "entries"}, JOURNAL),
    *code({r"\.notes\b(?!\()": ".entries"}, ("Tests/BindingPeerTests/*.swift",)),
    *code(
        {
            r"\bfunc notesHub\b": "func recordsHub", r"\bfunc notes\(\)": "func recordsWrites()",
            r"\bfor note in\b": "for entry in", r"\bnotes\b(?!\()": "entries", r"(?<![\w.])note\(": "entry(",
        }, OUTBOX_TESTS),
    *names({"keepNotes": "writeJournal", "settledNoted": "settledRecorded"}),
    *code({r"\bnotes\b(?!\()": "dropped"}, ("Sources/BindingPeer/Runtime/PeerRuntime.swift",)),
    # What may be another now.
    *names({"noteStatusDue": "invalidateStatus"}),
    *code({r"\bnote\(\)": "invalidate()"}, ("Sources/BindingPeer/*.swift",)),
    *code({r"\bnote\(\)": "recordEnded()"}, ("Sources/BindingStore/*.swift",)),
    # All else.
    *names({"noteDeclared": "recordDisagreements", "notedIn": "recordedIn"}, PLANTS),
    *code({r"\bnote(?=[A-Z])": "record"}, PLANTS),
    *code({r"(?<!\w)note\((?!\))": "record("}),
    Rule(r'"(func )?note(?="|\(model\.)', r'"\1record', ("Tests/Mutants/*.py",)),
    Rule(r"^(\s*)// MARK: Noting$", r"\1// MARK: Recording", ("Sources/*.swift",)),
    # Recorders of tests.
    *code({r"\bnotes\b": "elements"},
          ("Tests/BindingModelTests/Recorder.swift", "Tests/BindingControlsTests/FormTests.swift",
           "Tests/BindingPeerTests/PaceTests.swift")),
    *code({r"\bNotes\b": "Recorder"}, ("Tests/BindingPeerTests/PaceTests.swift",)),
    *code({r"(?<!\.)\bnotes\b(?!: \[)": "recorder"}, ("Tests/BindingModelTests/TrackingTests.swift",)),
    *code({r"\bNoting\b": "Follower", r"\bnoting\b": "follower"}, ("Tests/BindingModelTests/ChangesTests.swift",)),
]
