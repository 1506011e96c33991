"""beat becomes heartbeat: the message that a hub sends to all, numbered, whether or not anything changed."""

from .rewriting import Rule, names, parts

FILES = {
    "Sources/BindingHub/Core/Sync/HubMachine+Beats.swift": "Sources/BindingHub/Core/Sync/HubMachine+Heartbeats.swift",
    "Tests/BindingHubTests/BeatTests.swift": "Tests/BindingHubTests/HeartbeatTests.swift",
    "docs/vectors/bad/beat-under-other-topic.json": "docs/vectors/bad/heartbeat-under-other-topic.json",
    "docs/vectors/bad/commits-under-beat-topic.json": "docs/vectors/bad/commits-under-heartbeat-topic.json",
    "docs/vectors/behave/beat-is-answered.json": "docs/vectors/behave/heartbeat-is-answered.json",
    "docs/vectors/wire/beat.json": "docs/vectors/wire/heartbeat.json",
}
SERVE = ("Sources/bindhub/Serve.swift",)
RULES = [
    *parts("beat", "heartbeat", but=SERVE),
    *parts("beats", "heartbeats", but=SERVE),
    # What people have in their scripts goes on to work.
    Rule(r'name: \.customLong\("beat"\)', 'name: [.customLong("heartbeat"), .customLong("beat")]', SERVE),
    Rule(r"--beat\b", "--heartbeat", SERVE),
    Rule(r"\bbetween two beats\b", "between two heartbeats", SERVE),
    *names({"beatMilliseconds": "heartbeatMilliseconds"}, SERVE),
]
