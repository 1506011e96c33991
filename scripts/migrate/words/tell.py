"""tell becomes notify of observers, publish of topics, send of frames and texts, report of statuses and progress.

What was told keeps the name of what was done with it: notified, published, sent, reported.
"""

from .rewriting import Rule, code, names

ALL = ("*",)
HUB = ("Sources/BindingHub/*.swift", "Tests/BindingHubTests/*.swift", "Tests/BindingWebTests/*.swift",
       "Tests/Simulation/*.swift", "Tests/Mutants/*.py")
HUB_CORE = ("Sources/BindingHub/Core/*.swift", "Tests/Mutants/*.py")
HUB_TESTS = ("Tests/BindingHubTests/*.swift",)
MODEL = ("Sources/BindingModel/*.swift",)
PEER = ("Sources/BindingPeer/*.swift", "Tests/BindingPeerTests/*.swift")
PACED = ("*/PacedDelivery.swift", "*/PacedValues.swift", "*/PaceGateTests.swift", "*/PaceLimiterTests.swift")
STORE = ("Sources/BindingStore/*.swift",)
WEB = ("Sources/BindingWeb/*.swift", "Tests/BindingWebTests/*.swift")
SIMULATION = ("Tests/Simulation/*.swift",)
TESTS = ("Tests/*.swift",)
BENCH = ("Tests/Bench/*.swift",)
MUTANTS = ("Tests/Mutants/*.py", "docs/design/rules.md")
PAGES = ("Sources/BindingWeb/Pages/pages/*.js",)
DEMO = ("Examples/demo/*.py", "Tests/Browser/*.py")
BROWSER = ("Tests/Browser/*.py", "Tests/Browser/*.js")
PYTHON = ("Examples/python/*.py",)

FILES = {
    "Sources/BindingHub/Core/Sync/HubMachine+Telling.swift": "Sources/BindingHub/Core/Sync/HubMachine+Publishing.swift",
    "Tests/Simulation/World+Told.swift": "Tests/Simulation/World+Sent.swift",
}
RULES = [
    # Observers of values, and paces.
    *code({r"\btold\b": "admitted"}, PACED),
    *code({r"\btell\b": "notify", r"\bisTelling\b": "isNotifying", r"\bbeTold\b": "notifyOnLane"},
          ("*/PacedDelivery.swift",)),
    *code({r"\btold\b": "notified"}, ("Sources/BindingModel/Lanes/*.swift", "*/ModelChange.swift")),
    *code({r"\btell\(": "publish(", r"\bisTelling\b": "isPublishing"}, ("Sources/BindingModel/Observation/*.swift",)),
    *code({r"\bToldLast\b": "LastNotified", r"\btold\b": "last"}, ("*/Observing+Changes.swift",)),
    *code({r"\btold\b": "delivery"}, ("*/Cell+Observe.swift",)),
    *code({r"\btell\(\)": "notify()"}, ("*/Tracking.swift",)),
    *code({r"\btell\(": "publish(", r"\btold\b": "published"}, ("Sources/BindingModel/Values/*.swift",)),
    *code({r"\btell\(": "report("}, ("Sources/BindingModel/Controls/*.swift",)),
    # Observers of a peer's models, and statuses.
    *names({"FieldTelling": "FieldNotification", "StatusTeller": "StatusReporter", "WeakTeller": "WeakReporter",
            "lastTeller": "lastReporter", "forgetTelling": "forgetPublished", "tellStatus": "reportStatus",
            "tellDifferences": "reportDifferences", "toldConfirmed": "reportedConfirmed",
            "toldApplied": "reportedApplied"}, PEER),
    *code({r"\btell\(tellers\)": "report(reporters)", r"\btell\((?=_ tellers)": "report(",
           r"\bteller\.tell\(\)": "reporter.report()", r"\btellers\b": "reporters", r"\bteller\b": "reporter",
           r"\breturn (\w+)\.tell\(\)": r"return \1.report()"}, PEER),
    *code({r"\btelling\b": "notification"}, ("*/SharedField+Pace.swift",)),
    *code({r"\btracked\.tell\(": "tracked.notify(", r"\btell\(\)": "report()", r"\btold\b": "published"},
          ("*/Statuses.swift",)),
    *code({r"\btell\((?=&output|_ output: inout PeerOutput)": "emit("}, ("Sources/BindingPeer/Core/*.swift",)),
    *code({r"\bseen\.told\(\)": "seen.latest()", r"\bfunc told\(\) -> \[SeenNumber\]": "func latest() -> [SeenNumber]"},
          PEER),
    *code({r"\btell\(": "notify("}, ("Sources/BindingPeer/*.swift",)),
    # The hub.
    Rule(r"HubMachine\+Telling\b", "HubMachine+Publishing", ALL),
    *names(
        {
            "tellPresences": "publishPresences", "tellPresence": "publishPresence", "tellGone": "publishDeparture",
            "tellHeads": "publishHeads", "tellIfAhead": "reportIfAhead", "tellsEarlier": "reportsEarlier",
            "tellCatchups": "sendCatchups", "tellNames": "appendNames", "hasToldAll": "hasSentAll",
            "isTelling": "isStreaming", "tellsAll": "sendsAll",
        }, HUB),
    Rule(r"\btold(?=(Mark|LastDecided)\b)", "reported", HUB),
    *code({r"\bTelling\b": "CatchupStream", r"\btell\(_ telling\b": "sendNext(of stream",
           r"\btell\((telling|more)\b": r"sendNext(of: \1", r"\btelling\b": "stream"}, HUB_CORE),
    *code({r"(?<=piece\.)tell\(": "append(", r"\bfunc tell\((?=_ name: String|_ slot: FieldSlot)": "func append("},
          HUB_CORE),
    *code({r"\btell\(_ barrier\b": "sendEnd(of barrier", r"\btell\(barrier\b": "sendEnd(of: barrier"}, HUB_CORE),
    *code({r"\btold\b": "announced"}, ("*/Sequencer+Ephemeral.swift",)),
    *code({r"\btold\b": "reported"}, ("*/Disagreements.swift",)),
    *code({r"\btold\b": "served"}, ("Sources/BindingHub/Core/Sync/*.swift",)),
    *code({r"\btell\(": "enqueue("}, HUB_CORE),
    *names({"forgetToldAgain": "forgetResend", "renumberUntold": "renumberSilently"}, MUTANTS),
    # The store.
    *names({"tellProgress": "reportProgress", "tellsAt": "reportsAt", "tellsExtent": "hasExtent"}, STORE),
    *code({r"\btell\(": "report(", r"\btold\b": "given"}, STORE),
    # The gateway.
    *code({r"(?<=\?\.)tell\(": "send(", r"\bfunc tell\(_ text\b": "func send(_ text"},
          ("*/GatewayLoop.swift", "*/PageSocket.swift")),
    *code({r"\.tell\((?=page|let page)": ".sendText(", r"\bcase tell\(": "case sendText(",
           r"\btell\(page\b": "sendText(to: page", r"\btell\(_ page\b": "sendText(to page", r"\btellFeed\b": "sendFeed",
           r"\btoldWhileFull\b": "bytesWhileFull"}, WEB),
    *code({r"\btold\b": "texts"}, ("*/GatewayStage.swift",)),
    *code({r"\btold\b": "sent"}, WEB),
    # Programs.
    *code({r"\btell\(": "printReport(", r"\blet told = logID\b": "let given = logID",
           r"\blogID: told\b": "logID: given", r"\bfor told in\b": "for entry in",
           r"\bplain\(told,": "plain(entry,", r"\btold\[": "entry[",
           r"\blet told = counters\b": "let nonzero = counters", r"\btold\.map\b": "nonzero.map",
           r"\btold\b": "reported"}, ("Sources/bindhub/*.swift",)),
    *code({r"\btell\((?=present|_ peer)": "print(", r"\btell\(": "report("}, ("Sources/bindpeer/*.swift",)),
    *code({r"\btold\b": "reported"}, ("Sources/ZeroMQ/*.swift",)),
    *code({r"\btell\(": "add("}, ("Benchmarks/Sources/modelbench/*.swift",)),
    # Tests.
    *code({r"\btell\(": "report(", r"\btellDelays\b": "reportDelays", r"\btellRate\b": "reportRate"}, BENCH),
    *code({r"\btell\(": "printTrace("}, ("Tests/Simulation/bindsim/*.swift",)),
    *code({r"\btold\b": "chunks"}, ("*/CatchupTests.swift",)),
    *code({r"\btold\b": "models"}, ("*/FairnessTests.swift",)),
    *code({r"\btold\b": "messages"}, ("*/BehindTests.swift", "*/CongestionTests.swift",)),
    *code({r"\btold\b": "counts"}, ("*/ManyModelsTests.swift",)),
    *code({r"\btold\b": "outcomeCount"}, ("*/RoomTests.swift",)),
    *code({r"\bfunc told\(": "func listsPeers("}, ("*/PresenceTests.swift",)),
    *code({r"\bfunc told\(": "func notifiesOnce("}, ("*/EndTests.swift",)),
    *code({r"\bfunc told\(": "func requiresLog("}, ("Tests/BindingStoreTests/*.swift",)),
    *code({r"\btold\b": "numbers"}, ("*/UnknownTests.swift",)),
    *code({r"\btold\(": "summaries("}, ("*/UpdateStepsTests.swift",)),
    *code({r"\bTold\b": "UpdateRecorder", r"\btold\b": "recorder"}, ("*/ObservingTests.swift",)),
    *code({r"\btold\b": "notified"}, ("*/TrackedFieldsTests.swift", "Examples/Articles/*.swift")),
    *code({r"\btold\b": "outcome"}, ("Tests/HistoryTests/*.swift",)),
    *code({r"\btold\b": "fields"}, ("Tests/ProcessTests/WebTests.swift",)),
    *names({"untellable": "undeliverable", "wasTold": "reportedAsDecided", "toldAgain": "notifiesAgain",
            "tellsVersion": "returnsVersion"}, TESTS),
    # The simulation.
    *names({"toldAt": "outcomeAt", "toldIn": "outcomeIn", "wasToldUnknown": "receivedUnknown",
            "toldUnknown": "receivedUnknown", "isTold": "isSent", "checkTold": "checkSent",
            "tellSuccessor": "reportToSuccessor"}, SIMULATION),
    *code({r"\b(note|record)Told\b": "recordNotified"}, SIMULATION),
    *code({r"\btold\b": "times"}, ("*/HistoryCheck*.swift",)),
    *code({r"\btold\b": "highest"}, ("*/World+Impostors.swift", "*/World+Offers.swift",)),
    *code({r"\btold\b": "notified"}, SIMULATION),
    *code({r"\btold\b": "received"}, TESTS, but=SIMULATION),
    # Other languages.
    Rule(r"\btell_delays\b", "report_delays", ("Benchmarks/Contenders/*.c",)),
    Rule(r"\btelling\b", "errors", ("Benchmarks/compare/children.py",)),
    Rule(r"\b(stage|self)\.tell\(", r"\1.show(", DEMO),
    Rule(r"\bdef tell\(self, name\b", "def show(self, name", DEMO),
    Rule(r"\b(stand|self)\.told\b", r"\1.shown", DEMO),
    Rule(r"\bchild\.tell\(", "child.send(", ("Tests/Faults/*.py",)),
    Rule(r"\bdef tell\(self, word\b", "def send(self, word", ("Tests/Faults/*.py",)),
    Rule(r"\btold\b(?=\[\"| = dict|\)$)|(?<=\), )told\b(?= = r)", "details", PYTHON),
    Rule(r"\b_told\b", "_predicted", BROWSER),
    Rule(r"\btold\((?=stand)", "check_tree(", BROWSER),
    Rule(r"\b(this|socket)\.tells\(", r"\1.emit(", BROWSER),
    Rule(r"^( +)tells\(event\) \{", r"\1emit(event) {", BROWSER),
    Rule(r"\bconst told = \[\"aria", 'const described = ["aria', BROWSER),
    Rule(r"\.\.\.told\]", "...described]", BROWSER),
    Rule(r"\btold = typist\b", "typed = typist", BROWSER),
    Rule(r"\[told, \*\[", "[typed, *[", BROWSER),
    Rule(r"\bTOLD\b", "DESCRIPTION", BROWSER),
    Rule(r"\btold = tab\.eval\(DESCRIPTION\b", "words = tab.eval(DESCRIPTION", BROWSER),
    Rule(r"\bin told\b(?= or|, f)", "in words", BROWSER),
    Rule(r"\{told!r\}", "{words!r}", BROWSER),
    Rule(r"\btold = tab\.eval\(\"\"\"\(\) => \{ const one\b", 'shown = tab.eval("""() => { const one', BROWSER),
    Rule(r"\btold(?=\[[012]\])", "shown", BROWSER),
    Rule(r"(?<=shown\[2\], )told\b", "shown", BROWSER),
    Rule(r"\bcommitsToTell\b", "pendingCommits", PAGES),
    Rule(r"\btoldToHub\b", "reportedToHub", PAGES),
    Rule(r"\btold = `", "reported = `", PAGES),
    Rule(r"\btold === model\b", "reported === model", PAGES),
    Rule(r"(?<=\.reportedToHub = )told\b", "reported", PAGES),
    Rule(r"\bthis\.told\b", "this.notified", PAGES),
    Rule(r"\btold: new Map\b", "notified: new Map", PAGES),
    Rule(r"\btold = this\b", "notified = this", PAGES),
    Rule(r"\btold\?\.", "notified?.", PAGES),
    Rule(r"\b(this\.link|link|this|model)\.tell\(", r"\1.notify(", PAGES),
    Rule(r"^( +)tell\((what, detail)?\) \{", r"\1notify(\2) {", PAGES),
    Rule(r"\btellVersions\b", "reportVersions", PAGES),
    Rule(r"#tellEmpty\b", "#showEmpty", PAGES),
    Rule(r"\btellVersion\b", "showVersion", PAGES),
    Rule(r"#tell\b", "#report", PAGES),
    Rule(r"@param tell\b", "@param report", PAGES),
    Rule(r"\bchoose, tell\)", "choose, report)", PAGES),
    Rule(r"(?<=this\.#report = )tell\b", "report", PAGES),
    Rule(r"\btellFacts\b", "showFacts", PAGES),
    Rule(r"\btold => told\.model === model && told\.", "entry => entry.model === model && entry.", PAGES),
    Rule(r"\btellWaiting\b", "notifyWaiting", PAGES),
    Rule(r"\btellUnknown\b", "reportUnknown", PAGES),
]
