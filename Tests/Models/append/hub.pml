/* What a hub does between two messages, for append.pml. */
/* Peers see what a hub has applied, or answers with. */
inline see(h) {
  MUST(one_order, viewBits[h] == FIRST(order[EPOCH(h) * 2 + viewGeneration[h]], viewRecord[h]));
  if
  :: EPOCH(h) > seenEpoch || (EPOCH(h) == seenEpoch && (viewGeneration[h] > seenGeneration ||
     (viewGeneration[h] == seenGeneration && viewRecord[h] > seenRecord))) ->
     seenEpoch = EPOCH(h); seenGeneration = viewGeneration[h]; seenRecord = viewRecord[h]
  :: else
  fi
}

/* Answers the writers among `bits` whose session is still here. */
inline acknowledge(h, bits) {
  j = bits & ((at[0] == h -> 1 : 0) | (at[1] == h -> 2 : 0));
  MUST(acknowledged_is_stored, (j & ~done[EPOCH(h)]) == 0);
  acknowledged = acknowledged | j;
  acked[EPOCH(h)] = acked[EPOCH(h)] | j;
  if :: j & 1 -> sends[0] = SENDS; at[0] = HUBS :: else fi;
  if :: j & 2 -> sends[1] = SENDS; at[1] = HUBS :: else fi;
  j = 0
}

/* The sessions of the model say hello anew: what waited is for a model, or an epoch, that is no more. */
inline dropWaiting(h) {
#ifdef DECIDE_AFRESH_AFTER_REMOVAL
  skip
#else
  waiting[h] = 0
#endif
}

/* Takes in the model at one revision. */
inline load(h) {
  read();
  if
  :: LOADED(h) && (viewLog[h] != logRevision || viewGeneration[h] != generation) -> dropWaiting(h)
  :: else
  fi;
  viewLog[h] = logRevision; viewHead[h] = headRevision; viewGeneration[h] = generation;
  viewRecord[h] = cRecord; viewBits[h] = cBits; viewMarks[h] = cMarks;
  forgetScratch();
  see(h)
}

inline take(h, bits, at_revision) {
  viewRecord[h]++;
  viewBits[h] = viewBits[h] | (bits << (2 * (viewRecord[h] - 1)));
  viewMarks[h] = viewMarks[h] | bits;
  viewHead[h] = at_revision;
  see(h)
}

/* The open transaction is settled otherwise than by its answer: it may still be under way. */
inline leave(h) {
  if
#ifdef BOTH_ANSWERS
  :: (openState[h] == flying && OPENFITS(h)) || openState[h] == stored ->
#else
  :: openState[h] == flying && OPENFITS(h) ->
#endif
     lateKind[lates] = open[h]; lateHub[lates] = h; lateBits[lates] = openBits[h]; lateState[lates] = openState[h];
     lateHead[lates] = viewHead[h]; lateLog[lates] = viewLog[h]; latePlace[lates] = viewRecord[h] + 1;
     lates++
  :: else -> lates++
  fi
}
inline close(h) { open[h] = 0; openBits[h] = 0; openState[h] = 0; openRevision[h] = 0 }
inline deleteChunks(h) { chunk[NAME(h) * 2] = 0; chunk[NAME(h) * 2 + 1] = 0; foldStage[h] = 3; foldHead[h] = 0 }
inline clearView(h) { viewRecord[h] = 0; viewBits[h] = 0; viewMarks[h] = 0 }

#define FOLDED(h) (viewBits[h] | (viewRecord[h] << 4) | (KEPT(h) << 6))
#ifdef FORGET_FOREIGN_MARK
#define KEPT(h) (viewMarks[h] & came[h])
byte came[HUBS]; /* The writers that this hub has met. */
#else
#define KEPT(h) viewMarks[h]
#endif

#ifdef FOLD_KEY
#define VIEWFOLDS(h) (viewLog[h] == foldLog[h] && viewGeneration[h] == foldGeneration[h])
#else
#define VIEWFOLDS(h) (viewHead[h] == foldHead[h])
#endif
#define SLOWFOLD(h) ((foldStage[h] == 1 || foldStage[h] == 2) && fold != h + 1 && chunk[h * 2] != 0)
#define SETTLED(h) (open[h] == 0 && (waiting[h] == 0 || viewRecord[h] == PLACES))

#define CANSEND(w, h) (LOADED(h) && !BEHIND(h) && sends[w] < SENDS && (sends[w] == 0 || at[w] != h) && \
                       ((acknowledged | refusals) & (1 << w)) == 0)
inline send(w, h) {
  waiting[h] = waiting[h] | (1 << w);
  at[w] = h;
  sends[w]++
#ifdef FORGET_FOREIGN_MARK
  ; came[h] = (foldStage[h] == 0 -> came[h] | (1 << w) : came[h])
#endif
}

/* A transaction of which the hub knows no more reaches the store. Its answer has a number that is not open. */
inline land(n) {
  EVENT(late_one_lands);
  transact(lateHub[n], lateKind[n], lateBits[n], lateLog[n], latePlace[n]);
#ifdef BOTH_ANSWERS
  lateState[n] = stored; lateHead[n] = revision;
#else
  clearLate(n);
#endif
  forgetScratch()
}
#ifdef BOTH_ANSWERS
inline takeLate(h, n) {
  lateState[n] = 0;
  if
  :: lateKind[n] == append && viewRecord[h] < PLACES ->
     i = (open[h] == append -> openBits[h] : lateBits[n]);
     take(h, i, lateHead[n]);
     if :: open[h] == append -> close(h); acknowledge(h, i) :: else fi
  :: else
  fi;
  forgetScratch()
}
#endif

inline renew() {
  epoch = 1;
  removedBits = 0;
  changed(restored, 0);
  logRevision = revision
}

inline begin(h, kind, bits) { open[h] = kind; openBits[h] = bits; openState[h] = flying }
