/* Bounds, properties and state of append.pml. */
#ifndef HUBS
#define HUBS 3 /* They are told apart only by the order in which they first load the model. */
#endif
#define WRITERS 2 /* Each has one proposal; its bit says which. A record holds the bits of its proposals. */
#define ALL 3
#define PLACES 2
#ifndef LATE
#define LATE 2 /* Answers that come late or never, in all. */
#endif
#ifndef SENDS
#define SENDS 2 /* How often a writer sends its proposal, each time to another hub. */
#endif
#ifndef FOLDS
#define FOLDS 2 /* Folds in all, at most one a hub. */
#endif
#ifndef SWEEPS
#define SWEEPS 0 /* How often a hub takes the chunks of a slow fold for leftovers. */
#endif
#ifndef REMOVALS
#define REMOVALS 1
#endif
#ifndef RESTORES
#define RESTORES 1
#endif
#define REVISIONS 12

/* The properties. A broken one ends the search with `assertion violated` and its name. */
hidden byte acknowledged_is_stored = 1, acknowledged_is_kept = 1, carried_out_once = 1, no_hole = 1,
  one_order = 1, refusal_is_true = 1, join_tells_what_is_there = 1, no_false_loss = 1,
  fold_is_whole = 1, one_epoch = 1, ends_settled = 1;
#define MUST(name, condition) if :: (condition) :: else -> name = 0; assert(name) fi

/* Events that the model is made for: `-DSEEK=NAME` searches for one, and must find it. */
mtype = { another_was_first, late_one_lands, own_copy_was_first, watch_was_first, peer_is_ahead, fold_lost,
          waited_over_removal, old_epoch_refused, folded_beside_append };
#ifdef SEEK
#define EVENT(name) assert(name != SEEK)
#else
#define EVENT(name) skip
#endif

/* The store. Each change of it has a revision of its own; `b/log` and the head of the model are two keys. */
byte revision = 1, logRevision = 1, epoch;
bool restoring;
byte headRevision, headRecord, generation;
byte record[PLACES + 1]; /* 0: no such key */
byte fold;               /* The hub whose fold is in force, counted from 1; 0: none. Its name holds that hub's start. */
byte chunk[HUBS * 2];    /* Two chunks a fold: records' bits | count << 4 | marks << 6. 0: no such key */

/* What the watch tells: kind and record of each revision. */
mtype = { appended, folded, removed, restored }
mtype change[REVISIONS];
byte changeRecord[REVISIONS];

/* The hubs. `viewLog` 0: the model is not loaded. The view is the model at one revision. */
byte viewLog[HUBS], viewHead[HUBS], viewRecord[HUBS], viewBits[HUBS], viewMarks[HUBS], viewGeneration[HUBS];
byte loadedOnce;
byte waiting[HUBS]; /* Proposals that the hub has taken in and not yet decided, by writer. */
mtype = { append, foldPointer, removal }
mtype = { flying, stored }
mtype open[HUBS]; /* The one transaction of this model that the hub awaits; 0: none. It compares the view. */
byte openBits[HUBS];
mtype openState[HUBS];
byte openRevision[HUBS]; /* Of the answer that is under way. */
byte foldStage[HUBS]; /* 0 not yet, 1 and 2 chunks written, 3 over */
byte foldHead[HUBS];
#ifdef FOLD_KEY
/* The variant in which the pointer has a key of its own, which no append compares: it has its own revisions. */
byte foldRevision, foldSeen[HUBS], foldLog[HUBS], foldGeneration[HUBS], foldRecord[HUBS];
#endif

/* Transactions whose answer no hub awaits any more, and which may still arrive. */
mtype lateKind[LATE + 2], lateState[LATE + 2];
byte lateHub[LATE + 2], lateBits[LATE + 2], lateHead[LATE + 2], lateLog[LATE + 2], latePlace[LATE + 2];
byte lates, folds, sweeps, removals, restores;

/* The writers, and what all peers together have seen. */
byte sends[WRITERS], at[WRITERS];
byte acknowledged, refusals;
byte seenEpoch, seenGeneration, seenRecord;

/* Only for the properties: what was carried out and acknowledged in each epoch, and the one order. */
byte done[2], acked[2], removedBits, order[4];

/* Scratch; 0 between steps. */
hidden byte cBits, cMarks, cRecord, i, j, place;

#define EPOCH(h) (viewLog[h] > 1)
#ifdef LOAD_WHILE_RESTORING
#define LOADABLE true
#else
#define LOADABLE !restoring
#endif
#define LOADED(h) (viewLog[h] != 0)
#define POSITION(h) (viewLog[h] > viewHead[h] -> viewLog[h] : viewHead[h])
#define BEHIND(h) (EPOCH(h) < seenEpoch || \
                   (EPOCH(h) == seenEpoch && (viewGeneration[h] < seenGeneration || \
                    (viewGeneration[h] == seenGeneration && viewRecord[h] < seenRecord))))
#define FIRST(bits, n) ((bits) & ((1 << (2 * (n))) - 1))
#ifdef TWO_FOLDS_ONE_NAME
#define NAME(h) 0
#else
#define NAME(h) (h)
#endif
