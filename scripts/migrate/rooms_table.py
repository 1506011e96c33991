"""Which file lives in which room. Names of Swift files stand without their ending."""

# Folder → room → the files that move there; "" lists what stays, folders included.
ROOMS = {
    "Sources/BindingModel": {
        "": "BindingModel.docc Bridges Controls",
        "Values": """AnyCell AnyCell+Observers Cell Cell+Derived Cell+Later Cell+Member Cell+Observe Cell+Repeat
            ComputedNode ComputedNode+Tracking DependencyCollector Derived Derived+Sources DerivedNode
            DerivedNode+Refresh DerivedSource Evaluation Hops LoopWatch NodeFollower Observable ReadTracking State
            ThreadTurn Tracking Traffic Turn Writer""",
        "Bindings": """Assigning Binding Binding+Places BindingError BindingLocation BindingSource Elements Flattened
            Mapping Mappings Mappings+Checked Mappings+Foundation MemberLocation Parts ReadOnly Rows Selected TwoWayLink
            UnwritableLocation Validated ValidatedLink""",
        "Observation": """ChangeFilter Mailbox Observer ObserverToken ObserverTokens Observing+Changes Observing+End
            Observing+Isolation Observing+Pace Timed Values""",
        "Lanes": "Lane LaneDelivery Pace PaceGate PacedDelivery PacedValues",
        "Support": "Fifo FoldingQueue LateRefusals ObjectAssociation PlainList Platform Protected Remains",
    },
    "Sources/BindingWire": {
        "": "Mutant",
        "Values": """Capability Digest ExactValue FieldRule FieldRule+Words FieldType FieldValue HubAddress HubDoor
            Identity Limits Merge ModelRules Names Numbers Outcome PrintedText Proposal SHA256""",
        "Messages": """Applied Catchup CommitGroup Heads Hello HubMessage Joining Judging MessageKinds NumberedProposal
            Offer Outcomes PeerMessage SessionMessages Topics Welcome""",
        "Codec": """Base64 Checksum CommitCursor CommitTables CommitsWriter OutcomesWriter ProposalCursor ProposalParts
            RawBytes UTF8Check WireError WireReader WireWriter""",
        "JSON": "JSON JSONFault JSONMembers JSONParser JSONScanner JSONWriter StructureWalk WireNumber",
    },
    "Sources/BindingPeer": {
        "": "",
        "API": """Barrier ConflictPolicy Description Exports Field FieldCodable FieldCodec FieldCodec+Codable
            FieldStatus Misdeclared Model Model+Observe ModelChange ModelCollection ModelStatus Ownership Peer
            Peer+Describe Peer+Models Peer+Share PeerStatus PendingWrite Presence SharedField SharedField+Pace
            SharedModel SharedModel+Ephemeral Statuses""",
        "Runtime": """ChangeDraft EarlierLives ExitFlush FieldCell ModelFeed OutboxFile OutboxStorage PeerRuntime
            PeerRuntime+Errands PeerRuntime+Notices PeerRuntime+Outbox PrefixListener SharedModel+Delivery
            SharedModel+Shown ThreadSlot TrackedReads Wait""",
        "Transport": "Link/InProcessPeerLink Link/PeerLink Link/ZeroMQPeerLink",
        "Core": """Core/PeerOutput Core/Session Core/SessionOptions Core/Session+Status Core/Glimpse""",
        "Core/Collections": "Core/ByField Core/Keyed Core/Ordered Core/Rising",
        "Core/Connection": "Core/Outage Core/SeededGenerator Core/Session+Link",
        "Core/Sync": """Core/PeerModel Core/Replica Core/Reveal Core/RevealSteps Core/SeenNumbers Core/Session+Commits
            Core/Session+Committed Core/Session+Reading""",
        "Core/Writes": """Core/ConflictRule Core/Outbox Core/Outbox+Shown Core/Pending Core/RowChange Core/Session+Check
            Core/Session+Conflicts Core/Session+Sending Core/Session+Writing Core/TextEdit Core/TextMerge
            Core/WriteError""",
        "Core/Journal": """Core/OutboxBook Core/OutboxContent Core/OutboxLog Core/OutboxNote Core/OutboxRecord
            Core/Session+Keeping""",
        "Core/Presence": "Core/Claims Core/Session+Ephemeral",
        "Core/Barriers": "Core/Session+Applied",
    },
    "Sources/BindingHub": {
        "": "",
        "API": "Hub HubConfiguration HubFailure HubInquiry HubStatus HubVerification",
        "Storage": """HistoryStore LogFile MemoryStore Store Stored/Batch+Bytes Stored/LogFloor Stored/ModelFold
            Stored/ModelLog+Chunks Stored/StoredModel""",
        "Transport": """Gate/Backlog Gate/ConnectionQuota Gate/GateCounters Gate/HubLoop Gate/HubMailbox
            Gate/InProcessGate Gate/LockedPlace Gate/Logger+Hub Gate/OpenFiles Gate/StoreDesk Gate/ZeroMQGate
            Gate/ZeroMQGate+Listening Gate/ZeroMQGate+Sending""",
        "Core": "Core/HubMachine Core/HubOutput Core/HubCounters Core/HubMachine+Settling Core/HubMachine+Reports",
        "Core/Models": """Core/FieldSlots Core/FieldSources Core/HubMachine+Reloading Core/HubMachine+Removing
            Core/HubMachine+Renumbering Core/ModelLog Core/ModelLog+Renumbering Core/ModelLog+Rules
            Core/ModelLog+State Core/NameTable Core/TopicTable""",
        "Core/Sessions": "Core/HubMachine+Sessions Core/Sessions",
        "Core/Writes": """Core/Disagreements Core/HubMachine+Judging Core/HubMachine+Proposals Core/ModelLog+Hand
            Core/Sequencer Core/Sequencer+Operations Core/SpareHands Core/Writers""",
        "Core/Sync": """Core/Catchup Core/HubMachine+Beats Core/HubMachine+Behind Core/HubMachine+Catchups
            Core/HubMachine+JoinFrames Core/HubMachine+JoinShares Core/HubMachine+Joins Core/HubMachine+Prefixes
            Core/HubMachine+Telling""",
        "Core/Recovery": "Core/HubMachine+Rescue Core/ModelLog+Rescue Core/Rescue",
        "Core/Presence": "Core/EphemeralLine Core/HubMachine+Ephemeral Core/Sequencer+Ephemeral",
        "Core/Verification": "Core/Barriers Core/HubMachine+Applied Core/HubMachine+Verify Core/Verification",
    },
    "Sources/bindpeer": {
        "": """Addressing Assignment BindPeer CommonOptions Get JSONLine LineReader PeerList Pipe Progress Set Terminal
            TimeSpan Verbs Wait Watch WatchPrinter WriteReport""",
        "bench": "Bench BenchLedger BenchPlan BenchResult BenchRun Latencies",
    },
}

# Folders that move as they are, after their files were told apart; the first that fits counts.
FOLDERS = [
    ("Sources/BindingWire", "Sources/BindingProtocol"),
    ("Sources/CPages", "Sources/BindingWeb/Pages"),
    ("Sources/BindingTestKit", "Tests/Simulation"),
    ("Sources/bindsim", "Tests/Simulation/bindsim"),
    ("Sources/bindlab", "Tests/Faults/bindlab"),
    ("Sources/CStoreDisk", "Tests/Support/CStoreDisk"),
    ("Sources/vitals", "Examples/vitals"),
    ("Sources/BindingClassic", "Examples/Articles/BindingClassic"),
    ("Tests/BindingClassicTests", "Examples/Articles/BindingClassicTests"),
    ("Tests/BindingWireTests", "Tests/BindingProtocolTests"),
    ("Tests/Compile", "Tests/Checks/Compile"),
    ("Tests/StandIns", "Tests/Checks/StandIns"),
    ("Tests/scripts", "Tests/Checks/Scripts"),
    ("scripts/compile-tests", "Tests/Checks/compile-tests"),
    ("scripts/bridges", "Tests/Checks/bridges"),
    ("scripts/examples", "Tests/Checks/examples"),
    ("scripts/browser", "Tests/Browser/run"),
    ("scripts/screenshots", "Tests/Browser/screenshots"),
    ("scripts/lab", "Tests/Faults/lab"),
    ("scripts/mutants", "Tests/Mutants/run"),
    ("scripts/optimised", "Tests/Support/optimised"),
    ("scripts/bounded", "scripts/support/bounded"),
    ("scripts/prerequisites.sh", "scripts/support/prerequisites.sh"),
    ("scripts/steps.sh", "scripts/support/steps.sh"),
    ("scripts/house", "scripts/rules"),
    ("scripts/tidy", "scripts/lint"),
    ("scripts/contest", "Benchmarks/compare"),
    ("scripts/demo_stage.py", "Examples/demo/stage.py"),
    ("scripts/demo_steps.py", "Examples/demo/steps.py"),
    ("scripts/raw_page.py", "Examples/demo/raw_page.py"),
    ("Benchmarks/Sources/bindbench", "Tests/Bench"),
]

MODULES = {"BindingWire": "BindingProtocol", "BindingTestKit": "Simulation"}
