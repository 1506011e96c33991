"""mark becomes last decided: the number of the last proposal that a hub decided, or has stored, of a writer.

The field of the messages `joined` and `catchup`, of the store's writers and of a page's `catchup` keeps its name, and
so does the counter `raisedMarks`: they are bytes, and names in JSON.
"""

from .rewriting import Rule, code, names

ALL = ("*",)
PLANTS = ("*.swift", "Tests/Mutants/*.py")
HUB = ("Sources/BindingHub/*.swift", "Tests/BindingHubTests/*.swift")
# Where `mark` is nothing but that number.
NUMBERED = (
    "Sources/BindingHub/*.swift", "Sources/BindingPeer/Core/*.swift", "Sources/BindingProtocol/Messages/*.swift",
    "Sources/BindingWeb/Core/*.swift", "Tests/BindingHubTests/*.swift", "Tests/BindingPeerTests/Core/*.swift",
    "Tests/BindingPeerTests/Outbox/*.swift", "Tests/BindingProtocolTests/*.swift", "Tests/Simulation/*.swift",
)
OTHER = ("*/TextMergeTests.swift",)
TRACKED = ("Sources/BindingPeer/API/PendingWrite.swift", "Sources/BindingPeer/Runtime/FieldCell.swift")

RULES = [
    *names(
        {
            "catchUpWithoutMark": "catchUpWithoutLastDecided", "ignoreMark": "ignoreLastDecided",
            "forgetMarkEarly": "forgetNumbersEarly",
        }, ALL),
    *names({"decidedMark": "lastDecided", "storedMark": "lastStored", "lacksMark": "hasForgottenWriter"}, PLANTS),
    *names({"toldMark": "lastDecided"}, PLANTS),
    # The joins that waited for a store, and one of them.
    *names({"raiseMarks": "raiseLastDecidedOfWaitingJoins", "raiseMark": "raiseLastDecided"}, PLANTS),
    # Of a model's log: what is stored.
    *code({r"\bmark\((?=of\b)": "lastStored("},
          (*HUB, "Tests/BindingStoreTests/*.swift", "Tests/Mutants/hub_*.py")),
    *code({r"\bmark\((?=of\b)": "lastDecided("}, ("Tests/Simulation/*.swift",)),
    *code({r"\bmark\b": "lastStored"}, ("*/ModelLog+Chunks.swift", "*/Writers.swift", "*/TailTests.swift")),
    *code({r"^(\s+)\(lastStored, lastDecided\) = \(lastStored, lastStored\)":
           r"\1(self.lastStored, lastDecided) = (lastStored, lastStored)"}, ("*/Writers.swift",)),
    *code({r"\bmarks\b(?!\()": "lastDecided", r"\braisedMark\b(?!\()": "raisedLastDecided"},
          ("Tests/Simulation/*.swift",)),
    *code(
        {
            # Names of tests.
            r"\bfunc marks\(\)": "func lastDecidedNumbers()", r"\bfunc mark\(\)": "func lastDecided()",
            r"\bfunc raisesMark\b": "func raisesLastDecided", r"\bfunc raisedMark\b": "func raisedLastDecided",
            r"\bfunc (conflict|refusal)MovesMark\b": r"func \1RaisesLastDecided",
            r"\bfunc belowRaisedMark\b": "func belowRaisedLastDecided",
            r"\bfunc liesRaiseNoMark\b": "func liesDoNotRaiseLastDecided",
            r"\bfunc markFirst\b": "func lastDecidedFirst",
        }, ("Tests/BindingHubTests/*.swift",)),
    *code({r"\bfunc markOf(?=[A-Z])": "func lastDecidedOf"}, ("Tests/BindingWebTests/*.swift",)),
    *code({r"\bmark\b(?!\()": "lastDecided"}, NUMBERED, OTHER),
    Rule(r"(?<=upTo: )mark(?=\))|(?<=\? 0 : )mark(?=\))", "lastDecided", ("Tests/Mutants/*.py",)),
    # What tells those who track a value.
    *names({"ReadMark": "ReadTracker"}),
    *code({r"\bmark\b(?!\()": "tracker"}, TRACKED),
    Rule(r"^(\s+)// MARK: Marks$", r"\1// MARK: The last decided number", ("Tests/BindingHubTests/*.swift",)),
]
