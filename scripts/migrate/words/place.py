"""place becomes index: where a model, a field or a write stands in an array; of presence it is a slot.

What is no index is named for what it is: `offset` of bytes, `range` of a text, `location` of a file or a store,
`point` of a model's log. The place in a message that a `WireError` names stays, as in the JSON of vectors.
"""

from __future__ import annotations

from .rewriting import Rule, code, names

PEER = (
    "Sources/BindingPeer/Core/*.swift", "Sources/BindingPeer/Runtime/*.swift",
    "Sources/BindingPeer/API/ModelStatus.swift", "Sources/BindingPeer/API/Peer+*.swift",
)
HUB = ("Sources/BindingHub/Core/*.swift", "Sources/BindingHub/Storage/*.swift")
MODEL = ("Sources/BindingModel/*.swift",)
PROTOCOL = (
    "Sources/BindingProtocol/JSON/JSONWriter.swift", "Sources/BindingProtocol/Values/ExactValue.swift",
    "Sources/BindingProtocol/Values/Merge.swift", "Sources/BindingProtocol/Values/SHA256.swift",
)
STORE = ("Sources/BindingStore/*.swift",)
WORLD = ("Tests/Simulation/*.swift",)
HISTORY = ("Tests/Simulation/History/*.swift", "Tests/HistoryTests/*.swift", "Tests/Faults/bindlab/BindLab.swift")
ORACLE = (
    "Tests/Simulation/Oracle*.swift", "Tests/Simulation/World+Checks.swift", "Tests/Simulation/World+Gathering.swift",
    "Tests/Simulation/World+Overlay.swift", "Tests/Simulation/World+T*.swift",
)
TESTS = tuple(f"Tests/{path}.swift" for path in (
    "Bench/Listen", "Bench/Scale*", "BindingHubTests/FairnessTests", "BindingHubTests/Renumbered*",
    "BindingModelTests/RowsTests", "BindingPeerTests/BarrierTests", "BindingPeerTests/Core/PeerBench",
    "BindingPeerTests/Core/SortedArrayMapTests", "BindingPeerTests/TrackedFieldsTests",
    "BindingProtocolTests/FieldRuleTests", "BindingStoreTests/StoreBench", "BindingWebTests/GatewayReadingTests",
    "BindingWebTests/WebKeyTests", "ProcessTests/SlowPeerTests",
))  # fmt: skip
FILES = {
    "Sources/BindingHub/Transport/LockedPlace.swift": "Sources/BindingHub/Transport/LockedSocketPath.swift",
    "Sources/BindingStore/ModelPlace.swift": "Sources/BindingStore/ModelLocation.swift",
    "Tests/BindingModelTests/PlacesTests.swift": "Tests/BindingModelTests/ClosureBindingTests.swift",
}


def place(new: str, *paths: str, many: str | None = None) -> list[Rule]:
    """Rules for `place` where it is code, and for `places` if `many` is given; not for the label of a `WireError`."""
    table = {r'\bplace\b(?!: ")': new}
    return code({r"\bplaces\b": many, **table} if many else table, paths)


NAMES = [
    Rule(r"\bplaceMade\(for: ", "findOrInsert(", ("*",)),
    Rule(r"\bfunc placeMade\(for ", "func findOrInsert(_ ", ("*",)),
    *names({
        "CasePlace": "CaseIndex", "RulePlace": "CachedRuleIndex", "rulePlaces": "ruleIndices",
        "inputPlaces": "inputIndices", "rootPlaces": "rootIndices", "firstPlace": "firstIndex",
        "placeOfRemoval": "indexOfRemoval", "placeKeptMilliseconds": "slotKeptMilliseconds",
        "SelectedPlace": "SelectionIdentity", "ReferencePlace": "FieldReferenceCursor", "countPlace": "countOffset",
        "ModelPlace": "ModelLocation", "LogPlace": "BatchLocation", "LockedPlace": "LockedSocketPath",
        "HistoryPlace": "HistoryLocation", "HubPlace": "ExampleHub", "timePlaces": "timeRange",
        "numberPlaces": "numberRange", "markPlace": "endFlagOffset", "PlacesTests": "ClosureBindingTests",
        "foreignPlace": "foreignLocation", "clearKeepsPlace": "clearKeepsSlot",
    }, ("*",)),
    *code({r"\b(address|userDefault)\.place\b": r"\1.hostOrPath"}),
    *code({r"\$0\.place\b": "$0.hostOrPath"}, ("*/Storage/LogFile.swift",)),
    Rule(r"^(\s*/// - Parameter) place:", r"\1 index:", ("*/Support/PlainList.swift",)),
]  # fmt: skip

PEER_RULES = [
    *code({
        r"\blet place = models\[at: index\]\.replica\.place\(of: field\)":
            "let fieldIndex = models[at: index].replica.index(of: field)",
        r"\bmodels\[at: index\]\.shown\(at: place\)": "models[at: index].shown(at: fieldIndex)",
    }, ("Sources/BindingPeer/Core/Session.swift",)),
    *code({
        r"\bvar index: \[String: Int\]": "var indexByName: [String: Int]", r"\bindex\[name\]": "indexByName[name]",
        r"\bindex\.reserveCapacity\b": "indexByName.reserveCapacity", r"\bplaces\b": "indexByID",
    }, ("*/Sync/Replica.swift",)),
    *code({
        r"\bfor index in conditions\b": "for condition in conditions",
        r"\bconditions\[index\]": "conditions[condition]",
    }, ("*/Connection/Session+Link.swift",)),
    *code({r"\blet place = fields\b": "let slot = fields", r"\breturn place\?": "return slot?"},
          ("*/BindingPeer/Core/Presence/*.swift",)),
    *code({r"\bPlaces\b": "ChangeIndices"}, ("*/Sync/UpdateSteps.swift",)),
    *code({
        r"\bisGap\(_ place: Int\) -> Bool \{ old\[place\] == ": "isGap(_ index: Int) -> Bool { old[index] == ",
        r"\bplace == 0 \|\| old\[place - 1\]": "index == 0 || old[index - 1]",
    }, ("*/Writes/TextEdit.swift",)),
    *place("range", "*/Writes/TextEdit.swift", many="starts"),
    *code({
        r"\bprivate var place = 0": "private var position = 0",
        r"^      place = max\(place,": "      position = max(position,",
        r"\bguard end > place\b": "guard end > position", r"\bbase\[place\.\.<end\]": "base[position..<end]",
        r"^    place = end\b": "    position = end",
    }, ("*/Writes/TextMerge.swift",)),
    *place("range", "*/Writes/TextMerge.swift"),
    *place("offset", "*/Journal/OutboxLog.swift", "*/Runtime/Outbox*.swift"),
    *code({r"\bplaces\b": "indexByKey"}, ("*/Collections/IndexedMap.swift",)),
    *place("index", *PEER, many="indices"),
    *place("location", "Sources/BindingPeer/API/PeerStatus.swift"),
]  # fmt: skip

HUB_RULES = [
    # Presence.
    *code({
        r"\bguard let place = (?=\w+\.\w+ else\b)": "guard let storedIndex = ",
        r"\bmodels\[place\]": "models[storedIndex]", r"\baskAgain\(place,": "askAgain(storedIndex,",
    }, ("*/BindingHub/Core/Presence/HubMachine+*.swift",)),
    *code({
        r"\blet place = (?=\w+\.rules\b)": "let index = ", r"\.rules\.place\(of: ": ".rules.index(of: ",
        r"\.rules\[place\]": ".rules[index]",
    }, ("*/BindingHub/Core/Presence/Sequencer+*.swift",)),
    *code({r"\bPlace\b": "Slot"}, ("*/BindingHub/Core/Presence/*.swift",)),
    *place("slot", "*/BindingHub/Core/Presence/*.swift", many="slots"),
    # Others.
    *place("ephemeralIndex", "*/Core/Writes/HubMachine+Approval.swift"),
    *code({
        r"\bfor place in (verifications|catchups)\b": r"for position in \1",
        r"\b(verifications|catchups)\[place\]": r"\1[position]",
        r"\bcatchups\.remove\(at: place\)": "catchups.remove(at: position)",
    }, HUB),
    *code({r"\bPlace\b": "Entry"}, ("*/Recovery/Recovery.swift",)),
    *place("fieldPoint", "*/Recovery/Recovery.swift", many="entries"),
    *code({
        r"\blet place = ": "let ruleIndex = ",
        r"\breturn place < 0 \? nil : rules\.rules\[place\]": "return ruleIndex < 0 ? nil : rules.rules[ruleIndex]",
    }, ("*/Models/ModelLog+Rules.swift",)),
    *place("bucket", "*/Models/NameTable.swift", many="buckets"),
    *code({
        r"\blet place = pages\b": "let entry = pages",
        r"\breturn place == 0 \? nil : Int\(place\)": "return entry == 0 ? nil : Int(entry)",
    }, ("*/Models/TopicTable.swift",)),
    *code({r"\bplaces\b": "originIndices"}, ("*/Storage/ModelLog+Chunks.swift",)),
    *place("index", *HUB),
    *place("socketPath", "Sources/BindingHub/Transport/*.swift"),
]  # fmt: skip

MODEL_RULES = [
    *code({r"\bPlace\b": "Executor"}, ("*/Lanes/Lane.swift",)),
    *place("executor", "*/Lanes/Lane.swift"),
    *code({r"\bPlace\b": "Identity"}, ("*/Bindings/Selected.swift",)),
    *place("identity", "*/Bindings/Selected.swift"),
    *place("root", "*/Bindings/ReadOnly.swift", "*/Observation/Timed.swift"),
    *place("pointer", "*/Values/Cell.swift"),
    *place("index", *MODEL, many="indices"),
    *place("position", "Sources/BindingControls/TextInput.swift"),
]

PROTOCOL_RULES = [
    *place("offset", "*/Codec/Checksum.swift"),
    *code({r"\bplace\b": "hostOrPath"},
          ("Sources/BindingProtocol/Values/HubAddress.swift", "Sources/BindingTerminal/HubAddress+*.swift")),
    *code({
        r"\bfunc place\(of": "func index(of", r"\bsubscript\(place: Int\)": "subscript(index: Int)",
        r"\brules\[place\]": "rules[index]",
    }, ("*/Values/ModelRules.swift",)),
    *place("path", "*/Values/ModelRules.swift", many="indices"),
    *place("index", *PROTOCOL),
]  # fmt: skip

STORE_RULES = [
    *place("offset", "Sources/BindingStore/Opening/*.swift", many="placeholders"),
    *place("location", *STORE, many="locations"),
]

PROGRAM_RULES = [
    *place("position", "*/BindingWeb/Core/Feed.swift", many="indexByKey"),
    *place("index", "*/BindingWeb/Core/Gateway+Hub.swift"),
    *place("parts", "*/BindingWeb/Core/PageSaying.swift"),
    *code({r"\bplaces\b": "hint"}, ("*/BindingWeb/HTTP/Front*.swift",)),
    *place("operation", "Sources/ZeroMQ/ZeroMQError.swift"),
    *place("location", "Sources/bindhub/Maintenance.swift"),
    *place("storeChoice", "Sources/bindhub/Serve.swift"),
    *place("target", "Sources/bindpeer/Assignment.swift", "Sources/bindpeer/Wait.swift"),
    *place("hub", "Examples/Sources/Screens/Stage.swift"),
    *place("position", "Examples/Sources/Screens/Drawing.swift"),
    *place("index", "Examples/Sources/article/ArticleView.swift", "Examples/Articles/*.swift"),
    *place("storage", "Benchmarks/Sources/modelbench/Locking.swift"),
    *code({r"\bPlace\b": "Slot"}, ("Benchmarks/Sources/modelbench/Race.swift",)),
    *place("slot", "Benchmarks/Sources/modelbench/Race.swift", many="slots"),
]

SIMULATION_RULES = [
    *code({
        r"\bSimulatedField\.place\(": "SimulatedField.index(",
        r"\bEphemeralOracle\.place\(": "EphemeralOracle.slotOwner(",
        r"\bstatic func place\(_": "static func slotOwner(_",
        r"\blet place = (?=EphemeralOracle\.slotOwner\(\w+\), place !=)": "let owner = ",
        r"(?<=, )place(?= != EphemeralOracle\b)": "owner", r"\bmustBeThere\(place\)": "mustBeThere(owner)",
        r"\bplace\.short\b": "owner.short",
    }, WORLD),
    *place("slot", "Tests/Simulation/World+?*Healed.swift", many="slots"),
    *code({r"\bPlace\b": "Node"}, ("Tests/Simulation/Agenda.swift",)),
    *place("node", "Tests/Simulation/Agenda.swift"),
    *place("location", *HISTORY),
    Rule(r" which the write at \\\(write\.location\) names", r' "\n+ "which the write at \(write.location) names',
         HISTORY),
    *code({
        r"\bstruct Place: Hashable\b": "struct FieldKey: Hashable", r"\bSet<Place>": "Set<FieldKey>",
        r"\[Place: ": "[FieldKey: ", r"\bPlace\(model: model, field: field\)": "FieldKey(model: model, field: field)",
    }, ("Tests/Simulation/Oracle+*.swift",)),
    *code({r"\bPlace\b": "Point"}, WORLD),
    *place("point", *ORACLE),
    *code({
        r"\bfor place in output\.actions\.indices\b": "for action in output.actions.indices",
        r"\boutput\.actions\[place\]": "output.actions[action]", r"\boracle\.place\(": "oracle.point(",
    }, WORLD),
    *place("index", *WORLD, many="indices"),
    *place("position", "Tests/Faults/bindlab/History*.swift", "Tests/Faults/bindlab/Typing.swift"),
]  # fmt: skip

TEST_RULES = [
    *code({r"\bplaces\b": "indexByTopic"}, ("Tests/Bench/Scale*.swift",)),
    *place("offset", "Tests/Bench/Stamp.swift", many="range"),
    *place("directory", "Tests/Bench/StoreBenchmark.swift"),
    *place("endpoint", "Tests/Bench/Throughput.swift"),
    *place("socketAddress", "Tests/BindPeerCommandTests/CommandWordsTests.swift"),
    *code({r"\bPlace\b": "ColourIndex"}, ("Tests/BindingControlsTests/FormTests.swift",)),
    *place("index", "Tests/BindingControlsTests/FormTests.swift"),
    *place("offset", "Tests/BindingHubTests/BadFrameTests.swift", "Tests/BindingHubTests/Hea*.swift",
           "Tests/BindingProtocolTests/JSONTests.swift", "Tests/BindingStoreTests/BadInputTests.swift",
           "Tests/BindingStoreTests/TornLogTests.swift"),
    *place("location", "Tests/BindingModelTests/DerivedFollowingTests.swift",
           "Tests/BindingModelTests/ValidatedTests.swift"),
    *code({r"\bplaces\b": "isOnMain"}, ("Tests/BindingModelTests/PaceTests.swift",)),
    *code({r"\bfunc places\(\)": "func byIndex()"}, ("Tests/BindingModelTests/PartsTests.swift",)),
    *place("position", "Tests/BindingPeerTests/Core/TextMergeTests.swift",
           "Tests/BindingStoreTests/DiskImages.swift"),
    *place("comment", "Tests/BindingStoreTests/Renumbered*.swift"),
    *place("path", "Tests/ProcessTests/DurableTests.swift"),
    *place("buffer", "Tests/ProcessTests/Relay.swift"),
    *place("address", "Tests/ProcessTests/WebTests.swift"),
    *place("index", *TESTS),
    Rule(r"\bfor place in places \{ fields\[place\]", "for index in indexByID { fields[index]",
         ("Tests/Mutants/peer*.py",)),
    Rule(r"(?<!from )\bplace\b(?! import)", "index", ("Tests/Mutants/peer*.py",)),
]  # fmt: skip

PAGES = "Sources/BindingWeb/Pages/pages/"


def script(table: dict[str, str], *files: str) -> list[Rule]:
    """Rules for regular expressions in files of the pages."""
    return [Rule(old, new, tuple(PAGES + file for file in files)) for old, new in table.items()]


SCRIPT_RULES = [
    *script({
        r"\bplaceOf\b": "keyOf", r"\bbindPlace\b": "bindKey", r"\bbinding\.place\b": "binding.key",
        r"\bconst place = keyOf\b": "const key = keyOf", r"(\bbindKey ={1,3} |, what, )place\b": r"\1key",
    }, "bind.js"),
    *script({
        r"\bplacesOf = \(pieces, place\) => \[place, \.\.\.pieces\.map\(piece => place \+=":
            "startsOf = (pieces, start) => [start, ...pieces.map(piece => start +=",
        r"\bplacesOf\b": "startsOf", r"\bplaces\b": "starts",
        r"\blet text = '', place = ": "let text = '', position = ",
        r"\bbase\.slice\(place - start,": "base.slice(position - start,", r"\bplace = part\.to\b": "position = part.to",
        r"\bmoved\(place,": "moved(caret,", r"\bisIn\(place\b": "isIn(caret",
        r"\bif \(place < from \|\| place === from\b": "if (caret < from || caret === from",
        r"\bif \(place < to\)": "if (caret < to)", r"\breturn place \+ by\b": "return caret + by",
        r"\bMath\.min\(start \+ place - from": "Math.min(start + caret - from",
    }, "texts.js"),
    *script({
        r"\bconst place = next\.length\b": "const caret = next.length",
        r"\bsetSelectionRange\(place, place\)": "setSelectionRange(caret, caret)",
    }, "undo.js"),
    *script({r"\bplace = `": "path = `", r"\$\{place\}": "${path}"}, "words.js"),
    *script({r"\bconst place = new Map\b": "const order = new Map", r"\bplace\.get\(": "order.get("}, "fields.js"),
    *script({
        r"\bconst place = element\?\.querySelector\b": "const label = element?.querySelector",
        r"!place \|\| place\.textContent\b": "!label || label.textContent",
        r"^  place\.(textContent|title)\b": r"  label.\1",
    }, "dashboard-tree.js"),
    # In comments a place stays one.
    *script({r"(?<!some )(?<!one )(?<!its )(?<!the )(?<!this )(?<!'s )(?<![\w$])place\b": "index"}, "*.js"),
    *[Rule(old, new, ("Sources/CZMQGuard/guard.c",)) for old, new in {
        r"\bis_greeting\(int place\b": "is_greeting(int position", r"\bswitch \(place\)": "switch (position)",
        r"\bplace\b": "index",
    }.items()],
]  # fmt: skip
RULES = [
    *NAMES, *PEER_RULES, *HUB_RULES, *MODEL_RULES, *PROTOCOL_RULES, *STORE_RULES, *PROGRAM_RULES, *SIMULATION_RULES,
    *TEST_RULES, *SCRIPT_RULES,
]  # fmt: skip
