"""judge, judged and leave become approval: a hub asks the owner of a model before it carries a proposal out."""

from .rewriting import Rule, names

ALL = ("*",)
SWIFT = ("*.swift", "Tests/Mutants/*.py", "ARCHITECTURE.md")
HUB = ("Sources/BindingHub/*", "Tests/BindingHubTests/*", "Tests/Mutants/*")
FILES = {
    "Sources/BindingHub/Core/Writes/HubMachine+Judging.swift":
        "Sources/BindingHub/Core/Writes/HubMachine+Approval.swift",
    "Sources/BindingProtocol/Messages/Judging.swift": "Sources/BindingProtocol/Messages/Approval.swift",
    "docs/vectors/bad/judge-field-dot.json": "docs/vectors/bad/approve-field-dot.json",
    "docs/vectors/bad/judged-accept.json": "docs/vectors/bad/approval-accept.json",
    "docs/vectors/bad/judged-long.json": "docs/vectors/bad/approval-long.json",
    "docs/vectors/wire/judge.json": "docs/vectors/wire/approve.json",
    "docs/vectors/wire/judged-no.json": "docs/vectors/wire/approval-no.json",
    "docs/vectors/wire/judged.json": "docs/vectors/wire/approval.json",
}
RULES = [
    # The hub's open question, and the permission that a proposal has.
    Rule(r"\bHubMachine\+Judging\b", "HubMachine+Approval", ALL),
    Rule(r"\bSequencer\.Leave\b", "Sequencer.Approval", HUB),
    Rule(r"\benum Leave\b", "enum Approval", ("*/Sequencer.swift",)),
    Rule(r"\bleave: Leave\b", "approval: Approval", ("*/Sequencer.swift",)),
    Rule(r"_ leave: Leave\b", "_ approval: Approval", ("*/Sequencer.swift",)),
    Rule(r"\bleave\b", "approval", ("*/Sequencer.swift", "*/HubMachine+Approval.swift")),
    Rule(r"\bleave(: Sequencer\.Approval)", r"approval\1", HUB),
    Rule(r"\bguard let leave = judging\.leave\b", "guard let approval = pendingApproval.approval", HUB),
    Rule(r"\bjudging\.proposal, leave, of: mayRefuse\(judging, leave\)",
         "pendingApproval.proposal, approval, of: mayRefuse(pendingApproval, approval)", HUB),
    Rule(r"_ judging: Judging, _ (leave|approval):", "_ pending: PendingApproval, _ approval:",
         ("*/HubMachine+Settling.swift",)),
    Rule(r"case \.denied = leave, sessions\.identities\[judging\.",
         "case .denied = approval, sessions.identities[pending.", ("*/HubMachine+Settling.swift",)),
    Rule(r"return judging\.origin", "return pending.origin", ("*/HubMachine+Settling.swift",)),
    Rule(r"\bleave: leave\b", "approval: approval", ("*/HubMachine+Settling.swift", "*/HubMachine+Proposals.swift")),
    Rule(r"\blet leave = leave \?\? \(needsLeave", "let approval = approval ?? (needsApproval",
         ("*/HubMachine+Proposals.swift",)),
    *names(
        {
            "needsLeave": "needsApproval", "checkLeave": "checkApproval", "judgeAgain": "askAgain",
            "Judging": "PendingApproval", "judging": "pendingApproval", "JudgedField": "ApprovalField",
            "Judge": "ApprovalRequest", "Judged": "Approval", "JudgedLocation": "ApprovedLocation",
            "judgingMilliseconds": "approvalMilliseconds", "judgements": "approvalRequests", "judgement": "approver",
        }, SWIFT, but=("Sources/BindingModel/*",)),
    Rule(r"\.judge\b", ".approve", SWIFT),
    Rule(r"\bcase judge\b", "case approve", SWIFT),
    Rule(r"(?<=[^\w])counters\.judged\b", "counters.approvals", SWIFT),
    Rule(r"\bpublic var judged: UInt64", "public var approvals: UInt64", SWIFT),
    Rule(r"\.judged\b", ".approval", SWIFT, but=("Sources/BindingModel/*",)),
    Rule(r"\bcase judged\b", "case approval", SWIFT),
    Rule(r"\bpendingApproval\?\.leave\b", "pendingApproval?.approval", HUB),
    Rule(r'"judge-field-dot"', '"approve-field-dot"', ALL),
    Rule(r'"judged-(no|accept|long)"', r'"approval-\1"', ALL),
    Rule(r'"judge"', '"approve"', ALL),
    Rule(r'"judged"', '"approval"', ALL),
    Rule(r"'judge'", "'approve'", ALL),
    Rule(r"'judged'", "'approval'", ALL),
    Rule(r"`judge`", "`approve`", ALL),
    Rule(r"`judged`", "`approval`", ALL),
    Rule(r"\b([Aa]) `approval`", r"\1n `approval`", ("*.md",)),
    Rule(r"\bjudge( +=|\))", r"approve\1", ("docs/protocol.md",)),
    Rule(r"\bjudged( +=)", r"approval\1", ("docs/protocol.md",)),
    Rule(r"\| judged \(", "| approval (", ("docs/protocol.md",)),
    Rule(r"\| judge \(", "| approve (", ("docs/protocol.md",)),
    Rule(r"\bown\(_ judge:", "own(_ approve:", ("*.swift",)),
    Rule(r"approver \?\? judge\b", "approver ?? approve", ("*.swift",)),
    Rule(r"\bsilenceIsLeave\b", "silenceIsApproval", ALL),
    Rule(r"\bproposal that is judged\b", "proposal that needs approval", SWIFT),
    Rule(r"\bjudged\b", "approval", SWIFT, but=("Sources/BindingModel/*",)),
    *names({"judges": "approvalRequests"}, ("Tests/BindingPeerTests/*",)),
    Rule(r"\bjudge\b", "question", ("*/EarlierLifeTests.swift",)),
    Rule(r"\bjudge\b", "request", SWIFT),
]
