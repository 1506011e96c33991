"""news and hear become what each stands for: a value, an update, a change, an event; to receive, to observe.

A peer that has heard of its hub has received something from it; an observer hears of nothing, it is notified.
Words that people read (the column "Heard" of the dashboard) and the verbs of the vectors (`hears`) stay.
"""

from .rewriting import Rule, code, names

HUB = ("Sources/BindingHub/*.swift", "Tests/BindingHubTests/*.swift", "Tests/Simulation/*.swift", "Tests/Mutants/*.py")
BENCH = ("Tests/Bench/*.swift",)
MODEL = ("Sources/BindingModel/*.swift", "Sources/BindingPeer/*.swift", "Tests/BindingModelTests/*.swift")
PEER = ("Sources/BindingPeer/*.swift", "Tests/BindingPeerTests/*.swift")
RUNTIME = ("Sources/BindingPeer/Runtime/*.swift",)
FEED = ("*/ModelFeed.swift",)
FIELDS = ("*/FieldCell.swift", "*/SharedModel+Delivery.swift", "*/SharedModel.swift")
WEB = ("Sources/BindingWeb/*.swift",)
LOOP = ("Sources/BindingWeb/Loop/*.swift",)
CONTENDERS = ("Benchmarks/Contenders/*.c", "Benchmarks/Contenders/*.h")
PAGES = ("Sources/BindingWeb/Pages/pages/*.js",)
BROWSER = ("Tests/Browser/*.js", "Tests/Browser/*.py")

FILES = {"Tests/BindingHubTests/Heard.swift": "Tests/BindingHubTests/Received.swift"}
RULES = [
    # What waits for an observer, and what it is notified of.
    *code({r"\bhear\b": "enqueue"}, ("*/PacedDelivery.swift",)),
    *code({r"\bdelivery\.hear\(": "delivery.enqueue("}, MODEL),
    *code({r"\bhear\(": "receive(", r"\bisNews\b": "isDue"}, FEED),
    *names({"FieldNews": "PacedFieldValue"}, PEER),
    *code({r"\bnews\b": "paced"}, FEED),
    *code({r"\bcell\.news\b": "cell.published"}, PEER),
    *code({r"\bnews\b": "paced"}, ("*/SharedField+Pace.swift",)),
    *code({r"\bnews\b": "published"}, ("*/API/Presence.swift",)),
    *code(
        {
            r"\blet news: Observable\b": "let published: Observable",
            r"\bnews = Observable\(": "published = Observable(",
            r"\bnews\.value = value\b": "published.value = value",
            r"\bnews\.binding\.location\b": "published.binding.location",
            r"\bnews\.setSilently\b": "published.setSilently",
            r"\bvar news: \[\(cells: \[WeakCell\], news: News\)\]":
                "var fieldUpdates: [(cells: [WeakCell], update: FieldUpdate)]",
            r"\bturn\.news\b": "turn.fieldUpdates",
            r"!news\.isEmpty\b": "!fieldUpdates.isEmpty",
            r"\bisHeard\b": "hasNotifications",
            r"\bisNews\b": "isChange",
            r"\bnews\b": "update",
            r"\bNews\b": "FieldUpdate",
            r"\borHear\b": "onRefusal",
        }, FIELDS),
    *code({r"\borHear\b": "onRefusal"}, PEER),
    *code({r"\bhears\b": "receivers", r"\bhear\b": "receive", r"\bstopHearing\b": "removeReceiver"},
          ("*/PendingWrite.swift",)),
    # Links between values, and refusals that come after a write was taken.
    *code({r"\bisNewsWaiting\b": "isChangeWaiting", r"\b([a-z]\w*)News\b": r"\1Changes"},
          ("Sources/BindingModel/Bindings/*.swift",)),
    *code(
        {
            r"\bLateRefusals\.hear\(": "LateRefusals.observe(",
            r"\bstatic func hear\(for\b": "static func observe(for",
            r"\bWriter\.hearing\(\)": "Writer.observingRefusals()",
            r"\bstatic func hearing\(\)": "static func observingRefusals()", r"\bisHearing\b": "observesRefusals",
            r"\bhearers\b": "observers", r"\bhearer\b": "observer", r"\bHearer\b": "Observer",
        }, MODEL),
    # What a peer's session gives to those who drive it, and listeners of prefixes.
    *code(
        {
            r"\bhears\b": "onActions", r"\bvar heard\b": "var actions", r"(?<=\.)heard\b": "actions",
            r"\{ \[weak self\] news in self\?\.hear\(news,": "{ [weak self] actions in self?.receive(actions,",
            r"\bfunc hear\(_ news: \[PeerAction\]": "func receive(_ actions: [PeerAction]",
            r"\bfor action in news\b": "for action in actions", r"\bisOutboxNews\b": "hasOutboxChanged",
            r"\bPrefixListener\.News\b": "PrefixListener.Event", r"\blet news = PrefixListener\b":
                "let event = PrefixListener",
            r"\(listener, news\)": "(listener, event)", r"\blistener\.(\w+)\(news\)": r"listener.\1(event)",
        }, RUNTIME, but=("*/PendingWrite.swift", *FEED)),
    *code({r"(?<=[^\w.])hears\b": "onActions"}, ("Sources/BindingPeer/API/Peer.swift",)),
    *code({r"\bnews\b": "event", r"\bNews\b": "Event", r"\bhear\b": "receive"}, ("*/PrefixListener.swift",)),
    *code({r"\bnews\b": "event", r"\bheard\b": "announced"}, ("Sources/BindingPeer/API/Peer+Models.swift",)),
    # When something arrived.
    *names({"lastHeard": "lastReceivedAt"}, ("Sources/*.swift", "Tests/Mutants/*.py")),
    *code({r"\bisNews\(at\b": "shouldReport(at"}, ("Sources/BindingPeer/Core/*.swift",)),
    *code({r"\bheardAt\b": "receivedAt"}, ("Tests/Simulation/*.swift",)),
    *code({r"\bnews\b": "events"}, ("Sources/BindingPeer/Transport/*.swift",)),
    # The hub.
    *code({r"\bfunc hears\(session\b": "func hasOpenSession(_ session", r"\bhears\(session: ": "hasOpenSession("}, HUB),
    *code({r"\bisNews\b": "isModelUpdate", r"\bhasNews\b": "hasEvents"}, ("Sources/BindingHub/*.swift",)),
    *names({"hasHeard": "hasReceivedWelcome"}, HUB),
    # The gateway.
    *names({"hasHeardAll": "isInputClosed"}, WEB),
    *code({r"\bloop\.heard\(": "loop.receive(", r"\bfunc heard\(": "func receive("}, WEB),
    *code(
        {
            r"\bself\.news\(self\)": "self.whenReady(self)", r"\bself\.news = news\b": "self.whenReady = whenReady",
            r"\blet news: @Sendable\b": "let whenReady: @Sendable", r", news: @escaping\b": ", whenReady: @escaping",
            r"\bfunc news\(_ ": "func receive(from ", r"\bself\.news\((?!self)": "self.receive(from: ",
        }, LOOP),
    Rule(r"- Parameter news:", "- Parameter whenReady:", LOOP),
    # Programs.
    *code({r"\bnews\b": "updates"}, ("Sources/bindpeer/Wait.swift",)),
    *code({r"\bnews\b": "fields"}, ("Sources/bindpeer/WatchPrinter.swift",)),
    *code(
        {
            r"\bnews\b": "newNumbers", r"\bhearing\b": "observations", r"\bhearSignal\b": "observeSignal",
            r"\bhearOutcome\b": "recordOutcome",
        }, ("Sources/bindpeer/bench/*.swift",)),
    *code({r"\bnews\b": "continuation"}, ("Examples/vitals/*.swift",)),
    *code({r"\bnews\b": "changed"}, ("Examples/Sources/Screens/*.swift",)),
    *code({r"\bnews\b": "change", r"\bNews\b": "Change"}, ("Benchmarks/Sources/modelbench/Tracked.swift",)),
    Rule(r"^let news = level\.observe\b", "let token = level.observe", ("*/TurnsAndLoops.md",)),
    # Tests.
    *names({"toldUntilHeard": "repeatedUntilReceived"}, HUB),
    *names({"Heard": "Received"}, ("Tests/BindingHubTests/*.swift", "Tests/Simulation/*.swift")),
    *code({r"\bhear\(": "collect("}, ("*/CatchupTests.swift",)),
    *code({r"\bhear\b": "receive"}, ("*/LastWordsTests.swift",)),
    *code({r"\bfunc hear\(_ version\b": "func wait(for version", r"\.hear\(": ".wait(for: "},
          ("*/ObservingTests.swift",)),
    *code({r"\bhear\b": "actAtHub"}, ("*/GatewayStage.swift",)),
    *code({r"\bhear\(": "recordReceived("}, ("Tests/Simulation/*.swift",)),
    *code({r"\bheard\b": "received"}, ("Tests/*.swift",)),
    *code(
        {r"\bhearRequests\b": "receiveAnswers", r"\bhearPublished\b": "receivePublished", r"\bhear\(": "receive("},
        BENCH),
    # Other languages.
    Rule(r"\bhear\(int\b", "receive(int", CONTENDERS),
    Rule(r"\(\*hear\)", "(*receive)", CONTENDERS),
    Rule(r"writer->hear\(", "writer->receive(", CONTENDERS),
    Rule(r"flush, hear\}", "flush, receive}", CONTENDERS),
    Rule(r"\b(self|page|def)([. ])hear\(", r"\1\2receive(", ("Examples/demo/*.py", "Examples/python/*.py")),
    Rule(r"\bself\.news\b", "self.changed", ("Examples/demo/*.py", "Tests/Faults/*.py")),
    *names({"heard_at": "received_at", "HEARS": "HANDLERS"}, ("Examples/python/*.py",)),
    Rule(r"\bself\.heard\b", "self.observer", ("Examples/python/*.py",)),
    Rule(r"\baddress, model, heard\b", "address, model, observer", ("Examples/python/*.py",)),
    Rule(r"`heard` is told of it", "`observer` gets it", ("Examples/python/*.py",)),
    Rule(r"\blambda news: watches and print\(json\.dumps\(news\)",
         "lambda change: watches and print(json.dumps(change)", ("Examples/python/*.py",)),
    Rule(r"\blambda news\b", "lambda change", BROWSER),
    Rule(r"\bself\._hear\b", "self._collect_complaint", BROWSER),
    Rule(r"\bdef _hear\b", "def _collect_complaint", BROWSER),
    Rule(r"\bear\.heard\b", "ear.received", BROWSER),
    Rule(r"\bheard: \[\]", "received: []", BROWSER),
    Rule(r"\bear\.received\.filter\(\(one\) => one\.kind === 'commits'",
         "ear.received.filter(one => one.kind === 'commits'", BROWSER),
    Rule(r"^( +)const come = new Set\((ear\.received\..*)\);$", r"\1const come = new Set(\n\1  \2\n\1);", BROWSER),
    Rule(r"\bthis\.heard\b", "this.receivedAt", PAGES),
    Rule(r"\bthis\.hear\(", "this.receive(", PAGES),
    Rule(r"^( +)hear\(message\) \{", r"\1receive(message) {", PAGES),
    Rule(r"^( +)if \(!slept && this\.socket && time - this\.receivedAt > \((.*)\)\) this\.lost\(\)$",
         r"\1const limit = \2\n\1if (!slept && this.socket && time - this.receivedAt > limit) this.lost()", PAGES),
    Rule(r"#news {2}( +//)", r"#values\1", PAGES),
    Rule(r"#news\b", "#values", PAGES),
]
