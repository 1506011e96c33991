/* Bounds, properties and state of home.pml. */
#ifndef CHANGES
#define CHANGES 2 /* How often the edge takes another home, or connects to the same one again. */
#endif
#ifndef REJOINS
#define REJOINS 1 /* How often the writer's connection to the edge breaks. */
#endif
#ifndef OWNERS
#define OWNERS 1 /* 0: the model has no owner. */
#endif
#define HUBS 2
#define NUMBERS 2
#define PLACES 4

/* The properties. A broken one ends the search with `assertion violated` and its name. */
hidden byte carried_out_once = 1, numbers_are_dense = 1, one_order = 1, outcome_is_true = 1, outcome_once = 1,
  nothing_is_forgotten = 1, no_false_loss = 1, mark_covers_replica = 1, no_peer_goes_back = 1,
  owner_has_approved = 1, ends_settled = 1;
#define MUST(name, condition) if :: (condition) :: else -> name = 0; assert(name) fi

/* Events that the model is made for: `-DSEEK=NAME` searches for one, and must find it. */
mtype = { two_homes_decide, old_home_hears, store_is_asked, owner_is_awaited };
#ifdef SEEK
#define EVENT(name) assert(name != SEEK)
#else
#define EVENT(name) skip
#endif

/* The log: 1 and 2 are the writer's numbers. */
#define OWNER_TAKEN 3
#define OWNER_ENDED 4
byte record[PLACES + 1], last, mark;
bool owned;
byte published[PLACES + 1]; /* What a hub told its peers at this version; 0: nothing yet. */

/* The hubs. The owner's presence is ephemeral: no record says at which hub it is. */
byte view[HUBS], viewMark[HUBS], session[HUBS], waiting[HUBS], open[HUBS];
bool viewOwned[HUBS], isStored[HUBS];
#define NOWHERE 2
byte ownerAt = NOWHERE, ownerMoves, approved;

/* The edge. Sessions are numbered; what comes for an earlier one is dropped. */
mtype = { connecting, joining, joined }
mtype state = connecting;
byte home, sessions = 1, edgeMark, edgeVersion, replica, passed, changes, rejoins;

/* The writer. Bits of numbers: 1 and 2. */
byte resolved, seen;
bool present = true; /* The edge has answered its join. */

mtype = { join, propose, outcome, expected, welcome }
chan up[HUBS] = [5] of { mtype, byte, byte, byte }; /* join: session, unacknowledged, version · propose: number */
chan down = [4] of { mtype, byte, byte, byte };     /* welcome: session, mark, version · outcome, expected: number */

#define BIT(n) (1 << ((n) - 1))
#define UNACKNOWLEDGED (resolved == 3 -> 3 : (resolved & 1 -> 2 : 1))
#ifdef ASK_ONLY_BY_VERSION
#define VERSION replica
#else
#define VERSION (seen > replica -> seen : replica)
#endif

/* Scratch; 0 between steps. */
hidden byte i, n, s, v;
hidden mtype k;
