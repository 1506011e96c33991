"""failure, fault, rejection and refused become error: every type that is thrown ends with this word.

A `Refusal` is not thrown to a program: it is why an outcome is `refused`.
"""

from .rewriting import Rule, code, names

FILES = {
    "Sources/BindingHub/API/HubFailure.swift": "Sources/BindingHub/API/HubError.swift",
    "Sources/BindingWeb/WebFailure.swift": "Sources/BindingWeb/WebError.swift",
}
# Where the message of the protocol is meant, which tells of an error and is none.
MESSAGES = tuple(
    f"{folder}/{name}.swift" for folder, files in {
        "Sources/BindingHub/Core": "HubMachine",
        "Sources/BindingPeer/Core/Sync": "Session+Reading",
        "Sources/BindingProtocol/Messages": "HubMessage SessionMessages",
        "Sources/BindingWeb/Core": "Gateway+Hub",
        "Tests/BindingHubTests": "FairnessTests Received RoomTests",
        "Tests/BindingPeerTests/Core": "JoiningTests PeerBench",
        "Tests/BindingProtocolTests": "GoodVectors MappedSessionMessages",
        "Tests/ProcessTests": "FencingHub RawPeer",
    }.items() for name in files.split())
RULES = [
    *code({r"\bHubError\b": "ErrorMessage"}, MESSAGES),
    *names(
        {
            "HubFailure": "HubError", "WebFailure": "WebError", "WriteRejection": "RejectionError",
            "DescriptionFault": "DescriptionError", "FrameFault": "FrameError",
        }, ("*.swift", "*.md")),
    *code({r"\bFailure\b": "VerificationError"}, ("Sources/BindingHub/API/HubVerification.swift",)),
    *code({r"\bHubVerification\.Failure\b": "HubVerification.VerificationError", r"\bRefused\b": "RefusalError"}),
    Rule(r"\bRefused(?=\(\")", "RefusalError", ("*.swift", "*.md")),
    Rule(r"(?<=`)Refused(?=`)", "RefusalError", ("*.swift", "*.md")),
]
