"""say becomes send, of presence announce, to people print and log.

The member `says` of presence and the verb of the vectors keep their names: they are bytes that others read.
"""

from .rewriting import Rule, code, names

PEER_CORE = ("Sources/BindingPeer/Core/*.swift",)
PRESENCE = ("Sources/BindingPeer/*.swift", "Tests/BindingPeerTests/*.swift", "Sources/bindpeer/*.swift", "README.md",
            "Sources/Bindbus/*.md", "docs/guide/*.md", "Examples/*")
WEB = ("Sources/BindingWeb/*.swift", "Tests/BindingWebTests/*.swift")
HUB_TESTS = ("Tests/BindingHubTests/*.swift",)
SIMULATION = ("Tests/Simulation/*.swift",)
SCRIPTS = ("scripts/*", "Tests/Browser/run", "Tests/Browser/screenshots", "Tests/Checks/*")
COMPARE = ("Benchmarks/compare/*.py", "scripts/bench")
PAGES = ("Sources/BindingWeb/Pages/pages/*.js",)
BROWSER = ("Tests/Browser/*.js", "Tests/Browser/*.py")

FILES = {"Sources/BindingWeb/Core/PageSaying.swift": "Sources/BindingWeb/Core/PageMessage.swift"}
RULES = [
    # Presence: what a peer lets the others know of it.
    Rule(r"\bhere\.say\(\"looking at page 3\"\) {5}", 'here.announce("looking at page 3")', ("README.md",)),
    *code(
        {
            r"\bhere\.say\(": "here.announce(", r"\bfunc say\((?=json value|_ value: some)": "func announce(",
            r"\bsay\(json: value\.fieldJSON\)": "announce(json: value.fieldJSON)", r"(?<=`)say(?=`)": "announce",
            r"(?<=\.)says\b": "announcement", r"\bvar says\b": "var announcement", r"^ +says = json\b":
                "    announcement = json",
        }, PRESENCE),
    *code({r"\bsays\b": "announcement"}, ("*/PeerList.swift",)),
    *code({r"\bsays\b": "announced"}, PEER_CORE),
    *code({r"\bcase let says\b": "case let announcement", r"\bsays !=": "announcement !="}, SIMULATION),
    *code({r"\bsaying says\b": "announcing announcement", r"\bsaying\b": "announcing", r"\bsays\b": "announcement",
           r"\bsay\(": "announce("}, ("Sources/BindingHub/Core/*.swift",)),
    # Messages between peers, hub, gateway and pages.
    *names({"lastSaid": "lastSentAt"}),
    *code({r"\bsay\(": "send("}, PEER_CORE),
    *code({r"\bsaid\b": "reported"}, ("*/Outage.swift",)),
    *names({"PageSaying": "PageMessage"}, (*WEB, "ARCHITECTURE.md")),
    *code({r"\bsaying\b": "message", r"\bsayQueued\b": "sendQueued"}, WEB),
    *code({r"\bsay\(": "sendText("},
          ("*/RawClient.swift", "*/RequestTests.swift", "*/SocketTests.swift", "*/BindingWebTests/Site.swift")),
    *code({r"\bsay\(": "send("}, WEB),
    *code({r"(?<=\.)says\(": "plainText(", r"\bfunc says\(": "func plainText(", r"= says\(": "= plainText("},
          ("Sources/BindingWeb/HTTP/*.swift",)),
    *code({r"\bsaid\b": "payload"}, ("*/PageSocket.swift",)),
    *code({r"\bsaid\b": "parsed"}, ("*/GatewayPageTests.swift",)),
    *code({r"\bsay\(": "send("}, (*HUB_TESTS, "Tests/Bench/*.swift")),
    *code({r"(?<=\.)says\(": "sends(", r"\bfunc says\((?=_ message)": "func sends("}, ("*/ExchangeTests.swift",)),
    *code({r"\b_ said\b": "_ sent", r"\bin said\b": "in sent"}, ("*/HubBench.swift",)),
    *code({r"\bsay\((?=\[FieldOperation|fields\.map|_ operations)": "writeEphemeral(", r"\bsay\(": "send("},
          SIMULATION),
    *code({r"\bsaidIn(?=[A-Z])": "wroteIn", r"\bsaid\b": "written"}, SIMULATION),
    *code({r"\bsay\(": "write("}, ("*/EphemeralSessionTests.swift",)),
    *code({r"\(said, told\)": "(answered, reported)", r"\(request, said,": "(request, answered,",
           r"== \[told\]": "== [reported]"}, ("*/AppliedTests.swift",)),
    *code({r"\bsaid\b": "output"}, ("Tests/BindingModelTests/LoopTests.swift",)),
    # People.
    *code({r"\b(StandardStreams|Terminal)\.say\(": r"\1.print("}, ("*",)),
    *code({r"\bsay\(": "print("}, ("Sources/BindingTerminal/StandardStreams.swift", "Sources/bindpeer/*.swift")),
    *code({r"\bsay\(": "report("}, ("Tests/Faults/bindlab/*.swift",)),
    *code({r"\bsay\(": "write("}, ("Examples/Sources/Screens/*.swift",)),
    *code({r"\bsay\(\)": "run()"}, ("*/Observing+End.swift",)),
    *names({"sayWhatIsLost": "reportLostWrites", "saysWhatStands": "hasCurrentValues"},
           ("Sources/BindingPeer/Runtime/*.swift",)),
    # Names of tests.
    *code({r"\bfunc says\(\)": "func announces()"}, ("*/PresenceTests.swift",)),
    *names({"saysFenced": "refusesFencedSession", "refusalsSayWhere": "refusalsNamePosition",
            "errorsSayWhere": "errorsNamePosition", "saysMeanwhile": "writesMeanwhile", "doesNotSay": "omitsLimit"},
           ("Tests/*.swift",)),
    # Other languages.
    Rule(r"\bsay\(\) \{ printf", "log() { printf", SCRIPTS),
    Rule(r"(?<![\w`-])say (?=[\"'])", "log ", SCRIPTS),
    Rule(r"\bdef say\(words\b", "def log(words", COMPARE),
    Rule(r"\bSay\b(?= = Callable)", "Log", COMPARE),
    Rule(r"\bsay: Say\b", "log: Log", COMPARE),
    Rule(r"(?<=arguments\.quick, )say\)", "log)", COMPARE),
    Rule(r"(?<![.\w] )(?<![.\w])say\((?=f?[\"'])", "log(", COMPARE),
    Rule(r"\.say\((?=f?\")", ".send(", COMPARE),
    Rule(r"\bdef say\(self, line\b", "def send(self, line", COMPARE),
    Rule(r"\b(def |self\.|page\.)say\(", r"\1send(", ("Examples/demo/*.py",)),
    Rule(r"\bstand\.say\(", "stand.log(", BROWSER),
    Rule(r"\bdef say\(self, words\b", "def log(self, words", BROWSER),
    Rule(r"\b(ear|gateway)\.said\b", r"\1.sent", BROWSER),
    Rule(r"\bsaid: \[\]", "sent: []", BROWSER),
    Rule(r"\bsaid = tab\.eval\(\"\"\"\(\) => ear\b", 'sent = tab.eval("""() => ear', BROWSER),
    Rule(r"\bnumber, operations in said\b", "number, operations in sent", BROWSER),
    Rule(r"\bsaid = tab\.eval\(\"\(\) => document", 'title = tab.eval("() => document', BROWSER),
    Rule(r'"settings": said\b', '"settings": title', BROWSER),
    Rule(r"\bconst said = await\b", "const outcomes = await", BROWSER),
    Rule(r"\breturn said\.map\b", "return outcomes.map", BROWSER),
    Rule(r"\bsaid = \(stand\.folder\b", "output = (stand.folder", BROWSER),
    Rule(r"\bin said\[-5:\]", "in output[-5:]", BROWSER),
    Rule(r"\bsayAloud\b", "announce", PAGES),
    Rule(r"\b(this|link)\.say\(", r"\1.sendJSON(", PAGES),
    Rule(r"^( +)say\(message\) \{", r"\1sendJSON(message) {", PAGES),
    Rule(r"^( +)(if \(!event\.persisted\) for \(.*?\)\)) (if \(.*link\.sendJSON\(\{ kind: 'leave' \}\))$",
         r"\1\2 {\n\1  \3\n\1}", PAGES),
    Rule(r"\bconst say = words\b", "const warn = words", ("*/pages/elements.js",)),
    Rule(r"(?<![\w.])say\(`", "warn(`", ("*/pages/elements.js",)),
]
