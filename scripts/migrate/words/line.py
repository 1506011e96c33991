"""line becomes ephemeral model, scope of a field, link to a hub, or work queue: each by what it meant.

Lines of text stay, and with them those of a page's feed, whose `lines` is bytes that pages read.
"""

from .rewriting import Rule, code, names

HUB = ("Sources/BindingHub/*.swift", "Tests/BindingHubTests/*.swift")
PEER = ("Sources/BindingPeer/*.swift",)
WEB = ("Sources/BindingWeb/*.swift",)
BENCH = ("Tests/Bench/Scale*.swift",)
SIMULATION = ("Tests/Simulation/*.swift", "Tests/SimulationTests/*.swift")
HISTORY = ("Tests/Simulation/History/*", "Tests/Simulation/bindsim/*")
TESTS = ("Tests/BindingHubTests/*.swift", "Tests/BindingPeerTests/Core/*.swift")
FILES = {
    "Sources/BindingHub/Core/Presence/EphemeralLine.swift": "Sources/BindingHub/Core/Presence/EphemeralState.swift",
    "Sources/BindingWeb/Loop/HubLine.swift": "Sources/BindingWeb/Loop/HubLink.swift",
    "Tests/Bench/ScaleLines.swift": "Tests/Bench/ScaleConnection.swift",
    "Tests/Simulation/LineMember.swift": "Tests/Simulation/EphemeralMember.swift",
    "Tests/Simulation/World+Line.swift": "Tests/Simulation/World+Ephemeral.swift",
    "Tests/Simulation/World+LineHealed.swift": "Tests/Simulation/World+EphemeralHealed.swift",
}
RULES = [
    *names({"EphemeralLine": "EphemeralState"}, ("*",)),
    # What a model's fields are in
    *names({"FieldLine": "FieldScope"}, ("*",)),
    Rule(r"^/// In which of a model's two lines a field stands\.$", "/// Whether a field is stored or ephemeral.",
         PEER),
    Rule(r"\bDeclares a field of that line\b", "Declares a field of that scope", PEER),
    Rule(r"\bThe same declaration in that line\b", "The same declaration in that scope", PEER),
    *code({r"\bline\b": "scope"}, ("*/API/Field.swift", "*/API/SharedModel+Ephemeral.swift")),
    # Names of models, whether stored or ephemeral
    *code({r"\bcheckLine\b": "checkAnyModel", r"\blineName\b": "anyModelID"}, ("Sources/BindingProtocol/*.swift",)),
    *code({r"\bline\b": "name"}, ("*/Values/Names.swift",)),
    *code({r"\bline\b": "id"}, ("*/Session+Ephemeral.swift",)),
    # The hub's ephemeral models
    *names(
        {
            "otherLine": "counterpart", "ephemeralLines": "ephemeralModels", "makeEphemeralLine": "makeEphemeralModel",
            "leavesLineAlone": "leavesOnlyEphemeralModel", "leavesLine": "leavesEphemeralModel",
        }, HUB),
    *code({r"\blet line = models\[index\]\.ephemeral\b": "let ephemeral = models[index].ephemeral"}, HUB),
    # In that function, one after the other.
    *[Rule(r"(\blet ephemeral = models\[index\]\.ephemeral\b(?:(?!\n  \}\n)[\s\S])*?)\bline\b", r"\1ephemeral",
           HUB)] * 9,
    *code({r"\bline\b": "model"}, ("*/HubMachine+Ephemeral.swift",)),
    *code({r"\$0\.line\b": "$0.model"}, ("*/HubMachine+Removing.swift",)),
    *code({r"\bfunc line\(\)": "func ephemeralModel()"}, ("*/RemovedModelTests.swift",)),
    *code({r"\b(Self|Room|static let)([. ])line\b": r"\1\2ephemeralLamp"}, TESTS),
    # A peer's
    *code({r"\blet line = ephemeral\b": "let ephemeral = self.ephemeral"}, ("*/API/Ownership.swift",)),
    *code(
        {
            r", line: line\)": ", id: id)",
            r"\bline: String\b": "id: String",
            r"\b(isCurrent|shownValues)\(line\)": r"\1(id)",
        }, ("*/API/Presence.swift",)),
    *code({r"\bline\b": "ephemeral"}, ("*/API/Presence.swift", "*/API/Ownership.swift")),
    # What it prints are lines, too.
    *code(
        {
            r"\blines\b": "ephemeralModels", r", line\) in\b": ", ephemeral) in",
            r"\bline(?=\.(?:whenCurrent|modelID)\b)": "ephemeral",
            r"\(line, ": "(ephemeral, ",
        }, ("*/bindpeer/Get.swift",)),
    *code(
        {
            r"\bif let line\b": "if let ephemeral",
            r"\bline\.whenCurrent\b": "ephemeral.whenCurrent",
            r"\bline\b": "model",
        }, ("*/API/Peer+Share.swift",)),
    *names({"ephemeralLine": "ephemeralModel"}, TESTS),
    Rule(r"#line     (?= +//)", "#ephemeral", ("*/pages/dashboard-model.js",)),
    Rule(r"#line\b", "#ephemeral", ("*/pages/dashboard-model.js",)),
    Rule(r"#endLine\b", "#endPresence", ("*/pages/dashboard-model.js",)),
    # The simulation's
    *names(
        {
            "LineMember": "EphemeralMember", "hasLine": "hasEphemeralModel", "lineWriters": "ephemeralWriters",
            "joinLine": "joinEphemeralModel", "checkLine": "checkEphemeralModel",
            "checkLineHealed": "checkEphemeralModelHealed", "inLine": "inEphemeralModel",
            "renumberedLine": "renumberedEphemeralModel", "goneFromLine": "goneFromEphemeralModel",
            "leftLine": "leftEphemeralModel", "SumLines": "SumAdditions", "requestLine": "lastRequestArrival",
            "publishLine": "lastPublishArrival", "upLine": "lastUpArrival",
            "subscriptionLine": "lastSubscriptionArrival",
        }, SIMULATION),
    *code({r"\b(\w+)In(?:Ephemeral)?Line\b": r"\1InEphemeralModel"}, (*SIMULATION, *TESTS)),
    *code({r"\b(\w+)OfLine\b": r"\1OfEphemeralModel"}, SIMULATION),
    *code({r"\blines\b": "additions"}, ("*/Oracle+Recovery.swift",)),
    *code({r"\blines\b": "names"}, ("*/World+Barriers.swift",)),
    *code({r"\bline\b": "ephemeral"}, SIMULATION, but=HISTORY),
    Rule(r"\bto its line: ", "to its ephemeral model: ", SIMULATION),
    # Connections
    *names({"HubLine": "HubLink"}, WEB),
    *code({r"\bline\b": "hubLink"}, ("*/GatewayLoop.swift",)),
    *code({r"\bline\b": "link"}, ("*/HubQuestions.swift",)),
    *names({"ScaleLines": "ScaleConnection"}, BENCH),
    *code(
        {
            r"\bstruct Line\b": "struct JoinedModel", r"\bLine\(topic": "JoinedModel(topic",
            r"\[Line\]": "[JoinedModel]",
            r"\bScaleConnection\.Line\b": "ScaleConnection.JoinedModel",
            r"\bsession\.lines\b": "session.models", r"\$0\.lines\b": "$0.models", r"\bvar lines\b": "var models",
            r"\blines\b": "connection", r"\bline\b": "model",
        }, BENCH),
    # Work that waits for a lane
    *code(
        {r"\blineOfQueue\b": "workQueueKey", r"\bLine\b": "WorkQueue", r"\bline\b": "workQueue"},
        ("*/BindingModel/Lanes/Lane.swift",)),
    # Texts that tests and programs print
    Rule(r"\bthe ephemeral line of a model goes with it\b", "an ephemeral model goes with its model", TESTS),
    Rule(r"\bleaving the line releases\b", "leaving the ephemeral model releases", TESTS),
    Rule(r"\bas in any line\b", "as in any model", TESTS),
    Rule(r"\bwho leaves the line alone is\b", "who leaves only the ephemeral model is", TESTS),
    Rule(r"\bwho is in the line hears\b", "who is in the ephemeral model hears", TESTS),
    Rule(r"\bevery hub a line takes\b", "every hub an ephemeral model takes", TESTS),
    Rule(r"\bin a line that it left\b", "in an ephemeral model that it left", TESTS),
    Rule(r"\bin the stored line\"", 'in the stored model"', TESTS),
    Rule(r'("[^"\n]*)\b([eE])phemeral line(?=s?\b)', r"\1\2phemeral model",
         ("*.swift", "Tests/Mutants/mutants.py")),
    Rule(r', the hub (\\\(head\.version\)) "\n( +)\+ "in ', r', "\n\2+ "the hub \1 in ', SIMULATION),
    Rule(r"\bjoin it, and this line too\b", "join it, and its ephemeral model too", HUB),
    Rule(r"\bis no field of this line; of\b", "is no field of this model; of", HUB),
]
