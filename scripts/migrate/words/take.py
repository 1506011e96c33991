"""take becomes handle (a message or an event), apply (a change of state), or what else is done with it.

What takes something out and gives it back is still `take…`: a mailbox's messages, a model's update, an optional's
value.
"""

from .rewriting import Rule, code, names

PLANTS = ("*.swift", "Tests/Mutants/*.py")
HUB = ("Sources/BindingHub/*.swift", "Tests/BindingHubTests/*.swift", "Tests/Mutants/*.py")
# A call of the type's own function, or its declaration.
OWN = r"(?<![\w.])take\("

RULES = [
    # Pools, places and counts.
    *code({r"\bfunc take\(\) -> ModelLog": "func borrow() -> ModelLog"}, ("*/Core/Writes/BatchPool.swift",)),
    *code({r"\bpool\.take\(\)": "pool.borrow()"}, ("Sources/BindingHub/Core/Models/*.swift",)),
    *code({r"\btakeBatch\(": "finishBatch("}, ("Sources/BindingHub/Core/*.swift",)),
    *code({r"\btake\((?=_ \w+: \w+\) -> String)|(?<=\.)take\(": "occupy("},
          ("Sources/BindingHub/Core/Presence/*.swift",)),
    *code({r"\btakeBack\(at\b": "withdraw(at"}, ("Sources/BindingHub/Core/Recovery/*.swift",)),
    *code({r"\bmayTake\b": "isAcceptable"}, ("Sources/BindingHub/Core/Recovery/*.swift",)),
    *names(
        {
            "takeBackNames": "dropNames", "takeBackRules": "revertRules", "takeDecidedRules": "adoptDecidedRules",
            "takeStoredRules": "adoptStoredRules",
        }, HUB),
    # What a hub is offered, and what its store has.
    *code({r"\btakeIn\(": "adopt(", r"\blet taken\b": "let adopted", r"\btaken\.": "adopted."},
          ("Sources/BindingHub/Core/Recovery/*.swift",)),
    Rule(r'"func takeIn"', '"func adopt"', ("Tests/Mutants/hub_*.py",)),
    *code({r"\btakeIn\(": "apply("}, ("Sources/BindingHub/Core/*.swift",)),
    *code({r"\btake\((?=_ entry\b|entry\b)": "apply("}, ("Sources/BindingHub/Core/Verification/*.swift",)),
    # Joins in shares.
    *names(
        {
            "takeInTurn": "handleInTurn", "takeWaitingJoins": "handleWaitingJoins", "takeNextJoins": "handleNextJoins",
            "joinsTaken": "joinsHandled",
        }, HUB),
    # A commit has room for one more change; a repeat or a jump is accepted.
    *code({r"\bisTaken\b": "fits"}, ("Sources/BindingHub/Core/*.swift",)),
    Rule(r"\bisTaken\b", "isAccepted", ("Tests/Mutants/hub_*.py",)),
    # Messages and events.
    *code({OWN: "handle(", r"(?<=self\.)take\(": "handle("},
          ("Sources/BindingHub/Core/*.swift", "Sources/BindingHub/Transport/*.swift",
           "Sources/BindingPeer/Core/*.swift")),
    Rule(r'"func take"', '"func handle"', ("Tests/Mutants/*.py",)),
    *code({r"\btook = ": "elapsed = ", r"\+ took\b": "+ elapsed"}, ("Sources/BindingHub/Transport/*.swift",)),
    *code({r"(?<=\.)taken\b": "sent", r"\bcase taken$": "case sent"}, ("Sources/BindingHub/Transport/*.swift",)),
    # A peer's state.
    *code({r"\btook\(": "apply("}, ("Sources/BindingPeer/Core/*.swift",)),
    *code({r"\btake\((?=_ change\b|change\b)": "apply("}, ("Sources/BindingPeer/Runtime/*.swift",)),
    *code({r"\bisTaken\b": "removesWhole"}, ("Sources/BindingPeer/Core/Writes/TextEdit.swift",)),
    # A gateway.
    *code({r"(?<=own\.)take\(": "apply(", OWN + r"(?=_ members\b)": "apply(", r"\btakeIntoFeed\(": "addToFeed(",
           OWN + r"(?!\))": "handle("},
          ("Sources/BindingWeb/Core/*.swift",)),
    *code({r"\btookConnection\b": "admitConnection", r"\btakesGzip\b": "acceptsGzip"}, ("Sources/BindingWeb/*.swift",)),
    # A store.
    *names({"takeInLog": "mergeLog"}),
    *code({r"\bcase taken\(": "case acquired(", r"\.taken\(": ".acquired("}, ("Sources/BindingStore/Opening/*.swift",)),
    *code({r"\btaken\b": "accepted"}, ("Sources/BindingStore/SQLiteStore.swift",)),
    # Values and rules.
    *names({"takesSame": "allowsSame", "certainlyTakes": "certainlyAllows", "takesOther": "allowsOther"}),
    *code({OWN: "consume("}, ("Sources/BindingProtocol/JSON/*.swift",)),
    # Bindings in one process.
    *code({OWN: "adopt("}, ("Sources/BindingModel/Values/ComputedNode.swift",)),
    *names({"takeDelivery": "ensureDelivery", "isToBeTaken": "needsDeliverer", "takeEdit": "writeEdit"},
           ("Sources/BindingModel/*.swift",)),
    *code({r"\btakeWaiting\(": "deliverWaiting("}, ("Sources/BindingModel/Lanes/*.swift",)),
    *code({r"\btakeBack\(": "showRefusal(", r"\btake(?=[A-Z])": "consume"},
          ("Sources/BindingModel/Bindings/ValidatedLink.swift",)),
    *code({r"\btaken\b": "accepted", r"\bisTaken\b": "isAccepted"},
          ("Sources/BindingModel/Bindings/*.swift", "Sources/BindingModel/Controls/*.swift")),
    # Tests.
    *code({OWN: "add("}, ("Tests/BindingPeerTests/Core/Drain.swift",)),
    *code({OWN: "handle("}, ("Tests/Bench/ScalePeer.swift", "Tests/Simulation/History/HistoryCheck.swift")),
    *code({r"\btake\(": "record("}, ("Tests/Bench/*.swift",)),
    *code({r"\btaken\b": "accepted"}, ("Tests/Bench/*.swift", "Tests/BindingProtocolTests/WriterTests.swift")),
    *names({"takesValue": "acceptsValue", "takesDeletion": "acceptsDeletion"},
           ("Tests/BindingProtocolTests/WriterTests.swift",)),
    *code({r"\btake\(": "remove("}, ("Tests/BindingPeerTests/Core/SortedArrayMapTests.swift",)),
    *code({r"\btake\(": "appendAll("}, ("Tests/BindingStoreTests/*.swift",)),
    *code({r"\btaken\b": "appended"}, ("Tests/BindingStoreTests/CrashImageTests.swift",)),
    *code({r"\btake\(": "adopt("}, ("Tests/ProcessTests/Relay.swift",)),
    *code({r"\btake\(": "append("}, ("Tests/ProcessTests/RunningProcess.swift",)),
    *code({r"\btakeReplacement\b": "consumeReplacement"}, ("Tests/BindingPeerTests/StoringTests.swift",)),
    # The simulation.
    *code(
        {
            r"\btake\((?=upTo\b)": "pop(", r"\btakeBack\(": "revert(", r"\btake\((?=_ group\b|group\b)": "apply(",
            r"\btake\((?=_ batch\b|batch\b|other\b)": "addToLog(", r"\bwasTaken\b": "wasAccepted",
            r"\btakesAll\b": "storesAll", r"\btake\((?=_ seen\b)": "record(", r"(?<=claims\.)take\(": "record(",
        }, ("Tests/Simulation/*.swift",)),
    # Names of tests.
    *code(
        {
            r"\bfunc unansweredIsTakenBack\b": "func unansweredIsWithdrawn", r"\bfunc taken\(": "func storedAfterAll(",
            r"\bfunc notTaken\(": "func notStored(",
        }, ("Tests/BindingHubTests/*.swift",)),
    *code({r"\btakeCursorAway\b": "removeCursor", r"\bclaimsTakenAway\b": "claimsRemoved",
           r"\bfunc takenBack\b": "func withdrawn"}, ("Tests/BindingPeerTests/*.swift",)),
]
