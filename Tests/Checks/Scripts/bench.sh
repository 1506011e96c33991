#!/usr/bin/env bash
# How scripts/bench refuses impossible requests, and whether its ratios, tables and plots match the measurements.
# The measuring itself is covered by `scripts/bench --quick`, which scripts/test runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

# shellcheck source=scripts/support/answers.sh
source scripts/support/answers.sh

answers 0 scripts/bench --help
answers 64 scripts/bench --no-such-option
answers 64 scripts/bench --rounds 0
answers 64 scripts/bench --seconds nan
answers 64 scripts/bench --only 'a case that there is not'
BINDBUS_BIN=/nonexistent answers 72 scripts/bench --quick
answers 0 scripts/bench hubs --help
answers 64 scripts/bench hubs --hubs 1
answers 64 scripts/bench hubs --rounds 0
answers 0 scripts/bench instructions --help
answers 64 scripts/bench instructions HEAD
answers 64 scripts/bench instructions --seeds 0 HEAD HEAD
if command -v valgrind >/dev/null && command -v strip >/dev/null; then
  answers 64 scripts/bench instructions HEAD 'no revision'
fi

python3 - <<'PYTHON'
import sys
import xml.dom.minidom

sys.dont_write_bytecode = True
sys.path.insert(0, "Benchmarks/compare")
from cases import AIMS, ALL, SHORT
from contenders import BY_NAME
from drawing import drawings
from report import Results, as_json, as_markdown, is_met

fast = next(case for case in ALL if case.rate == 20_000 and case.subscribers == 8)
best = next(aim for aim in AIMS if aim.cases == (fast,))
results = Results()
results.skipped["JetStream KV, memory"] = "not here"
for ours, redis, nats in ((50, 100, 400), (90, 300, 100), (30, 100, 60)):
    for name, delay in (("bindhub", ours), ("Redis", redis), ("NATS core", nats)):
        results.add(fast, name, {part: delay for part in ("p50", "p90", "p99", "p99.9", "max")} | {
            "rate": 20_000, "missed": 0.25 if name == "Redis" else 0, "cost": 1})
ratios = results.ratios(best, fast)
assert ratios == [0.5, 0.9, 0.5], ratios
assert is_met(best, ratios) is True and is_met(best, [0.7]) is False and is_met(best, []) is None

about = {"date": "-", "machine": {"processor": "-", "cores": 2, "system": "-"}, "versions": {}, "rounds": 3,
         "seconds": 1, "fileSystem": "-", "loadBefore": 0, "loadAfter": 0}
text = as_markdown(results, [fast], AIMS, about)
for words in ("| 50.0 (30.0–90.0) |", "missed 25.0%", "| JetStream KV, memory | skipped |",
              "- JetStream KV, memory: not here",
              "| p99: bindhub by Redis or NATS core | 20,000/s, 8 subscribers | 0.50 (0.50–0.90) | ≤ 0.6 | met |"):
    assert words in text, (words, text)
aim = as_json(results, [fast], [best], about)["aims"][0]
assert aim["median"] == 0.5 and aim["isMet"], aim
plots = drawings(results, [fast])
assert list(plots) == ["latency-20000.svg"]
words = xml.dom.minidom.parseString(plots["latency-20000.svg"]).documentElement.toxml()
assert "NATS core" in words and "microseconds" in words and "JetStream" not in words

# A hub's function calls another of the protocol, which calls memcpy; so does the hub, for a third of its cost.
import instructions
profile = instructions.parsed("""
fn=(1) $s10BindingHub3HubV4sendyyF
0 100
cfn=(2) $s15BindingProtocol10WireWriterV3u16yyF
calls=1 0
0 260
cfn=(3) memcpy
calls=1 0
0 30
fn=(2)
+3 200
cfn=(3)
calls=2 0
* 60
fn=(3)
0 90
""")
sums = instructions.sums(profile)
assert sums["BindingHub"] == (100, 130) and sums["BindingProtocol"] == (200, 260), sums
profile_of_half = instructions.Profile({name: cost // 2 for name, cost in profile.own.items()}, profile.calls)
lines, grown = instructions.report(profile_of_half, profile, 2)
assert grown == ["BindingHub", "BindingProtocol"], grown
assert "| BindingHub | 0.0 | 0.0 | +100.00 % | 0.0 | 0.0 | +100.00 % |" in lines, lines
assert instructions.report(profile, profile_of_half, 2)[1] == []
for case in ALL + SHORT:
    assert all(name in BY_NAME for name in case.contenders)
for aim in AIMS:
    assert aim.cases and all({aim.ours, *aim.others} <= set(case.contenders) for case in aim.cases), aim
PYTHON
printf 'bench.sh: passed\n' >&2
