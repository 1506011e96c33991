"""beat becomes heartbeat: the message that a hub sends to all, numbered, whether or not anything changed."""

from .rewriting import Rule, parts

FILES = {
    "Sources/BindingHub/Core/Sync/HubMachine+Beats.swift": "Sources/BindingHub/Core/Sync/HubMachine+Heartbeats.swift",
    "Tests/BindingHubTests/BeatTests.swift": "Tests/BindingHubTests/HeartbeatTests.swift",
    "docs/vectors/bad/beat-under-other-topic.json": "docs/vectors/bad/heartbeat-under-other-topic.json",
    "docs/vectors/bad/commits-under-beat-topic.json": "docs/vectors/bad/commits-under-heartbeat-topic.json",
    "docs/vectors/behave/beat-is-answered.json": "docs/vectors/behave/heartbeat-is-answered.json",
    "docs/vectors/wire/beat.json": "docs/vectors/wire/heartbeat.json",
}
RULES = [
    *parts("beat", "heartbeat"),
    *parts("beats", "heartbeats"),
    # What people have in their scripts goes on to work.
    Rule(r'name: \.customLong\("heartbeat"\)', 'name: [.customLong("heartbeat"), .customLong("beat")]',
         ("Sources/bindhub/Serve.swift",)),
]
