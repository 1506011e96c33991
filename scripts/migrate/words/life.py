"""life becomes epoch, of a log, and run, of a process; what a store notes of itself is its metadata.

The table `life` of a store keeps its name: it is in the files of users.
"""

from .rewriting import Rule, code, names

SWIFT_AND_MUTANTS = ("*.swift", "Tests/Mutants/*.py")
STORE = ("Sources/BindingStore/*.swift", "Tests/BindingStoreTests/EpochTests.swift")
HUB = ("Sources/BindingHub/*.swift",)
PEER = ("Sources/BindingPeer/*.swift", "Tests/Mutants/peer_*.py")
EPOCH_TESTS = ("Tests/BindingHubTests/*.swift", "Tests/BindingPeerTests/Core/*.swift")
OUTBOX_TESTS = ("Tests/BindingPeerTests/Outbox/*.swift",)
SIMULATION = ("Tests/Simulation/*.swift",)
# The second name is the one that another table gives it.
IMPOSTORS = ("Tests/Simulation/World+Impostors.swift", "Tests/Simulation/World+Offers.swift")
SIMULATED_EPOCHS = (
    "Tests/Simulation/Oracle.swift", "Tests/Simulation/EphemeralOracle.swift", *IMPOSTORS,
    "Tests/Simulation/World+*Healed.swift",
)
FILES = {
    "Sources/BindingPeer/Runtime/EarlierLives.swift": "Sources/BindingPeer/Runtime/PreviousRuns.swift",
    "Sources/BindingStore/Opening/StoreLife.swift": "Sources/BindingStore/Opening/StoreMetadata.swift",
    "Tests/BindingPeerTests/Core/LifeTests.swift": "Tests/BindingPeerTests/Core/SessionLifecycleTests.swift",
    "Tests/BindingPeerTests/Core/LostLifeTests.swift": "Tests/BindingPeerTests/Core/LostEpochTests.swift",
    "Tests/BindingPeerTests/Outbox/EarlierLifeTests.swift": "Tests/BindingPeerTests/Outbox/PreviousRunTests.swift",
    "Tests/ZeroMQTests/LifeTests.swift": "Tests/ZeroMQTests/SocketLifetimeTests.swift",
}
RULES = [
    *names({"StoreLife": "StoreMetadata"}, ("*",)),
    *names(
        {
            "EarlierLives": "PreviousRuns", "EarlierLife": "PreviousRun", "EarlierLifeTests": "PreviousRunTests",
            "LostLifeTests": "LostEpochTests", "PageLifeTests": "PageLivenessTests",
            "isSameLife": "isSameEpoch", "isThisLife": "isThisEpoch", "isOtherLife": "isOtherEpoch",
            "lifeBegan": "epochBegan", "lastLife": "lastRun", "hubLife": "hubRun", "bookLife": "bookRun",
            "beginNewLife": "beginNewEpoch", "earlierTags": "previousTags", "expectLife": "checkLiveness",
            "lostWithItsLife": "lostWithItsEpoch", "endsInNewLife": "endsInNewEpoch", "ownLife": "ownEpoch",
            "otherLife": "ownEpoch", "severalLives": "severalRuns", "RecordedLife": "RecordedRun",
            "wholeLife": "wholeConnection",
        }, SWIFT_AND_MUTANTS),
    *names({"LifeTests": "SessionLifecycleTests"}, ("Tests/BindingPeerTests/*.swift",)),
    *names({"LifeTests": "SocketLifetimeTests"}, ("Tests/ZeroMQTests/*.swift",)),
    # Store
    *code({r"\blife\b": "metadata"}, STORE, but=("*/StoreSchema.swift",)),
    Rule("// MARK: Its life$", "// MARK: Beginning and end", ("*/SQLiteStore.swift",)),
    # Hub
    *code(
        {
            r"\bfunc life\(in epoch: Epoch\)": "func epoch(ifStored epoch: Epoch)",
            r"\blife\(in: ": "epoch(ifStored: ",
        }, HUB),
    *code(
        {r"\blet life = ": "let modelEpoch = ", r"\bepoch: life\b": "epoch: modelEpoch"},
        ("*/HubMachine+Joins.swift",)),
    *code({r"\blife\b": "epochNumber"}, ("Sources/BindingHub/Core/Recovery/Recovery.swift",)),
    # Peer
    *code(
        {
            r"\bfunc life\(of (\w+): String, in epoch: Epoch\)":
                r"func modelEpoch(of \1: String, ifStored epoch: Epoch)",
            r"\blife\(of: id, in: ": "modelEpoch(of: id, ifStored: ",
        }, PEER),
    Rule(r'u32\("life"\)', 'u32("run")', PEER),
    Rule(r"\bkind:u8 life:u32 rest( +)life:", r"kind:u8 run:u32 rest \1run:", ("*/outbox-format.md",)),
    *code({r"\blife\b": "run", r"\blives\b": "runs", r"\bLife\b": "Run"}, PEER),
    *code({r"\bearlier\b": "previousRuns"}, ("*/API/Peer.swift", "*/Runtime/PeerRuntime.swift")),
    *code({r"\blife\(": "previousRun(", r"\blife\b": "run", r"\blives\b": "runs"}, OUTBOX_TESTS),
    # Tests
    *code({r"\blife\b": "run"}, ("Tests/BindingStoreTests/CrashImageTests.swift", "Tests/HistoryTests/*.swift")),
    *code({r"\blife\b": "epoch"}, ("Tests/Simulation/World+*Healed.swift",)),
    *code({r"\blife\b": "offeredEpoch", r"\blives\b": "offeredEpochs"}, IMPOSTORS),
    *code({r"\bLife\b": "EpochLog", r"\blives\b": "epochs"}, ("*/Oracle.swift", "*/EphemeralOracle.swift")),
    *code({r"\blife\b": "epoch"}, ("*/EphemeralOracle.swift",)),
    *code(
        {
            r"\blife\(holding": "epochIndex(holding",
            r"\blet life = make": "let epochIndex = make",
            r"\[life\]": "[epochIndex]",
            # An index that is found or made, in fewer lines.
            r"\blet life: Int\n    if let known = (.+)\.last\(where: (.+)\) \{\n      life = known\n    \} else \{\n"
            r"      life = (.+)\n      (.+)\n    \}$":
                r"let known = \1.last \2\n    let epochIndex = known ?? \3\n    if known == nil { \4 }",
            r"\breturn life$": "return epochIndex",
            r"\blife\b": "run",
        }, ("*/Simulation/Oracle.swift",)),
    *code({r"\blife\b": "run", r"\blives\b": "runs", r"\bLife\b": "Run"}, SIMULATION, but=SIMULATED_EPOCHS),
    *code(
        {r"\bearlier\b": "previousRuns"},
        ("*/SimulatedPeer.swift", "*/World+Applications.swift", "*/World+Outbox.swift")),
    Rule(r"\bself\.lives\b", "self.starts", ("Tests/Faults/lab/run.py",)),
    # Texts that tests and programs print
    Rule(r"\bhub starts, life ", "hub starts, run ", SIMULATION),
    Rule(r"\b(in|present|no) life\b(?=[^\n]*\")", r"\1 epoch", SIMULATION),
    Rule(r"\bbegun another life, in\b", "begun another epoch, in", ("*/API/Barrier.swift",)),
    Rule(r"\bearlier life\b", "earlier run", ("*/PreviousRuns.swift",)),
    Rule(r"\ba life\b", "an epoch", EPOCH_TESTS),
    Rule(r"\b(one|older|old|later|new|same|next) life\b", r"\1 epoch", EPOCH_TESTS),
    Rule(r"\bthe life of an ephemeral\b", "the epoch of an ephemeral", EPOCH_TESTS),
    Rule(r"\ba lost life\b", "a lost epoch", OUTBOX_TESTS),
    Rule(r"\b(a|earlier|new|next|one|this) life\b", r"\1 run", OUTBOX_TESTS),
    Rule(r"\bseveral lives\b", "several runs", OUTBOX_TESTS),
    Rule(r"\bthe life before\b", "the run before", ("*/BindingStoreTests/ReopeningTests.swift",)),
]
