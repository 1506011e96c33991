"""What hubs, peers and etcd were measured to cost, and the limits that they have.

A comment names the source of each figure. "Etcd, 2026-11-22" stands for measurements of that day on two cores that
other programs shared, with three nodes of etcd 3.4 and records of 512 bytes. Absolute rates of such a machine are low.
Seconds and bytes, if nothing else is said.
"""

from __future__ import annotations

MILLISECOND, MICROSECOND = 1e-3, 1e-6
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

# Limits of the programs, which no option changes.

# docs/operate/edges.md, costs: "a hub has 1,000 sessions in all".
MAX_SESSIONS = 1_000
# docs/operate/clusters.md, memory.
MAX_MODELS = 100_000
# docs/operate/edges.md, costs.
MAX_FOLLOWED = 4_000
# docs/operate/failover.md: how many other hubs a hub names (`--sibling`).
MAX_SIBLINGS = 32
# docs/reference/etcd-format.md, transactions; how many are under way is in Sources/BindingEtcd/EtcdAppender.swift.
MODELS_OF_TRANSACTION = 63
TRANSACTIONS_UNDER_WAY = 4
# docs/reference/etcd-format.md, folds: a model is folded at its every 256th record; 1,024 stay where there is room.
FOLD_INTERVAL, FOLD_KEPT = 256, 1_024
# Sources/BindingHub/Storage/Shared/FoldQueue.swift: own appends to a model from which on it is folded where room is
# scarce, and anywhere.
FOLD_WORTHWHILE, FOLD_MOST_BYTES = 4 * KIB, 16 * MIB
# Sources/BindingEtcd/EtcdFolder.swift, EtcdReader.swift: a fold waits for so many calls one after the other (two to
# load the model, the fold in force, a lease, the new fold put in force) and one for each value of chunks; a value has
# three quarters of a transaction.
FOLD_CALLS, FOLD_CHUNK = 5, MIB * 3 // 4
# docs/reference/etcd-format.md, room: shares of etcd's quota, and how much of etcd's history is kept.
SCARCE_SHARE, FULL_SHARE = 0.70, 0.85
HISTORY_SECONDS, SCARCE_HISTORY_SECONDS = 600.0, 60.0
# Sources/BindingEtcd/EtcdUpkeep.swift: where the history may end is noted so often.
HISTORY_STEP = 10.0

# The processor time of a hub.

# Benchmarks/results/bench.md, idle: 984 peers take 6.1 % of a processor.
IDLE_PEER = 0.061 / 984
# Benchmarks/results/bench.md, by models: a change of one of 10,000 models takes 5.36 us where changes come together,
# and 32.0 us where each wakes the hub.
CHANGE = 5.36 * MICROSECOND
WAKE = 32.0 * MICROSECOND - CHANGE
# Benchmarks/results/bench.md, by peers: a change costs 4.8 us for each of 1,000 peers where each change goes alone.
COPY = 4.8 * MICROSECOND
# The same file, 32 subscribers over tcp: 377,000 changes/s that go together are 12,064,000 copies/s, on two cores.
COPY_TOGETHER = 2 / (377_000 * 32)
# Benchmarks/results/bench.md: 500 peers that come back at once have all joined one model each after 0.28 s.
CONNECT = 0.28 / 500
# A further model that a peer joins was not measured by itself: it is taken as a change and its copy.
JOIN_MODEL = CHANGE + COPY
# docs/performance/results.md: one way over tcp, from a writer through a hub to a reader.
HOP = 175 * MICROSECOND

# The memory of a hub.

# Benchmarks/results/bench.md, memory: one more peer, one more model, one more field.
PEER_BYTES, MODEL_BYTES, FIELD_BYTES = 56_083, 2_079, 176
# docs/design/faults.md, hostile traffic: a hub with keys, pages and eight peers, in quiet.
HUB_BYTES = 40 * MIB
# Benchmarks/results/bench.md, memory: what a field of 32 bytes needs by itself, and so about what a fold stores of it.
FIELD_OWN_BYTES = 42

# Etcd.

# Etcd, 2026-11-22: up to 2,600 conditional appends/s of one record each, 64 under way; 12,200 to 14,900 records/s in
# transactions of 64, four under way. Both together give the time of a transaction and of each record in it; they put
# 256 records in one transaction at 14,200/s, where 13,200 to 15,800 were measured.
SINGLE_APPENDS, GROUPED_RECORDS = 2_600.0, 13_550.0
ETCD_RECORD = (64 / GROUPED_RECORDS - 1 / SINGLE_APPENDS) / 63
ETCD_TRANSACTION = 1 / SINGLE_APPENDS - ETCD_RECORD
# Etcd, 2026-11-22: one append alone, the median (1.6 to 1.9 ms), most of which is waiting for disks and nodes.
ETCD_ALONE = 1.7 * MILLISECOND
# Etcd, 2026-11-22: 2,900 loads/s of models of 1 KiB and 1,850 of 16 KiB, 64 under way. A line through
# both tells of other sizes, which is an extrapolation beyond 16 KiB.
LOAD_KIB = (1 / 1_850 - 1 / 2_900) / 15
LOAD = 1 / 2_900 - LOAD_KIB
# Etcd, 2026-11-22: a record of 512 bytes takes 690 in etcd's file.
RECORD_OVERHEAD = 690 - 512
# docs/reference/etcd-format.md: the head of a removed model and the record of its removal, some 200 bytes.
HEAD_BYTES = 200
# docs/performance/results.md: etcd keeps its rate with 8 watchers. A hub is one; more on one log were not measured.
HUBS_OF_LOG = 8
# docs/operate/clusters.md: elections take 1 to 2 s, rarely 4 to 8. How rarely was not counted, so both are shown.
ELECTION, SLOW_ELECTION = (1.0, 2.0), (4.0, 8.0)
# Etcd, 2026-11-22, with the limits that docs/operate/clusters.md recommends for nodes near each other: 0.53 to 0.71 s.
NEAR_ELECTION = (0.53, 0.71)

# The times of a peer.

# docs/operate/failover.md; Sources/BindingPeer/API/Peer+Configuration.swift: the pause between rounds doubles, and half
# of it at least is waited.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.050, 1.0
# Sources/BindingPeer/Core/SessionOptions.swift: without a welcome the next hub is tried; a join is repeated.
WELCOME_TIMEOUT, JOIN_TIMEOUT = 2.0, 3.0
# Sources/BindingPeer/Transport/LinkSockets.swift: a connection that is not established is given up.
CONNECT_TIMEOUT = 2.0
# docs/operate/failover.md: a hub is taken for lost after 3 heartbeats, of a second each, and 1 s.
HEARTBEAT, SILENCE = 1.0, 4.0

# What was measured of whole systems, for comparison with what is simulated here.

# Benchmarks/results/bench.md: 500 peers come back at once to one hub.
MEASURED_STORM = 0.28
# docs/design/faults.md, several hubs: 500 peers over 20 models, their hub is killed, all are at another one.
MEASURED_CLUSTER_STORM = 0.75
# Etcd, 2026-11-22, a prototype of three hubs that all append to one model: the share of transactions that was refused.
MEASURED_REFUSED = (0.44, 0.53)
# The same table as above: the leader is killed; the longest that a writer waited, median and longest of 20 runs.
MEASURED_LEADER = (0.84, 1.18)
