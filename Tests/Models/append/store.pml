/* What the store does in one transaction, for append.pml. */
/* Reads the model at one revision into cBits, cMarks, cRecord. */
inline read() {
  cBits = 0; cMarks = 0; cRecord = 0;
  if
  :: fold ->
     MUST(fold_is_whole, chunk[(fold - 1) * 2] != 0 && chunk[(fold - 1) * 2] == chunk[(fold - 1) * 2 + 1]);
     i = chunk[(fold - 1) * 2];
     cBits = i & 15; cRecord = (i >> 4) & 3; cMarks = i >> 6
  :: else
  fi;
  do
  :: cRecord < headRecord ->
     cRecord++;
     MUST(no_hole, record[cRecord] != 0);
     cBits = cBits | (record[cRecord] << (2 * (cRecord - 1)));
     cMarks = cMarks | record[cRecord]
  :: else -> break
  od;
  i = 0
}
inline forgetScratch() { cBits = 0; cMarks = 0; cRecord = 0; i = 0; j = 0; place = 0 }

/* After each change of the store. */
inline checkStore() {
  read();
  MUST(acknowledged_is_kept, (acked[epoch] & ~removedBits & ~((cBits | (cBits >> 2)) & ALL)) == 0)
}

inline changed(what, bits) {
  revision++;
  change[revision] = what;
  changeRecord[revision] = bits
}

/* What a transaction compares. A revision never returns, so one that does not fit now never will: the model treats it
   as refused at once, which saves the states in which it is still under way. */
#define SAME(head, log) ((head) == headRevision && (log) == logRevision)
#define PLACEFREE(at_place) (at_place <= PLACES && record[at_place] == 0 && \
                             (at_place == 1 || record[at_place - 1] != 0))
#if defined(APPEND_WITHOUT_COMPARISON)
#define APPENDFITS(head, log, at_place) (at_place <= PLACES)
#elif defined(NO_HEAD_REVISION)
#define APPENDFITS(head, log, at_place) (log == logRevision && PLACEFREE(at_place))
#elif defined(NO_LOG_REVISION)
#define APPENDFITS(head, log, at_place) (head == headRevision)
#else
#define APPENDFITS(head, log, at_place) SAME(head, log)
#endif
/* A fold also compares that nobody has swept its chunks. */
#ifdef SWEEP_WITHOUT_COMPARISON
#define CHUNKSTHERE(h) true
#else
#define CHUNKSTHERE(h) (chunk[NAME(h) * 2] != 0 && chunk[NAME(h) * 2 + 1] != 0)
#endif
#ifdef FOLD_KEY
/* The pointer is the one that was read, and the last record that the fold covers is there, with its revision. */
#ifdef POINTER_WITHOUT_RECORD
#define RECORDTHERE(h) true
#else
#define RECORDTHERE(h) (generation == foldGeneration[h] && record[foldRecord[h]] != 0)
#endif
#define POINTERFITS(h, head, log) (foldLog[h] == logRevision && foldRevision == foldSeen[h] && CHUNKSTHERE(h) && \
                                   RECORDTHERE(h))
#else
#define POINTERFITS(h, head, log) (SAME(head, log) && CHUNKSTHERE(h))
#endif
#define FITS(h, kind, head, log, at_place) (kind == append -> APPENDFITS(head, log, at_place) : \
    (kind == foldPointer -> POINTERFITS(h, head, log) : SAME(head, log)))
#define OPENFITS(h) FITS(h, open[h], viewHead[h], viewLog[h], viewRecord[h] + 1)
#define LATEFITS(n) FITS(lateHub[n], lateKind[n], lateHead[n], lateLog[n], latePlace[n])

/* Forgets transactions under way that can change nothing any more. */
inline forgetLate() {
  if :: lateState[0] == flying && !LATEFITS(0) -> clearLate(0) :: else fi;
  if :: lateState[1] == flying && !LATEFITS(1) -> clearLate(1) :: else fi
}
inline clearLate(n) {
  lateState[n] = 0; lateKind[n] = 0; lateBits[n] = 0; lateHead[n] = 0; lateLog[n] = 0; latePlace[n] = 0; lateHub[n] = 0
}

/* One transaction that fits. */
inline transact(h, kind, bits, log, at_place) {
  place = at_place;
  if
  :: kind == append ->
     MUST(one_epoch, (log > 1) == epoch);
     MUST(no_hole, place == headRecord + 1);
     MUST(carried_out_once, (bits & done[epoch]) == 0);
     MUST(refusal_is_true, (bits & refusals) == 0);
     done[epoch] = done[epoch] | bits;
     record[place] = bits;
     headRecord = place;
     order[epoch * 2 + generation] = order[epoch * 2 + generation] | (bits << (2 * (place - 1)));
     changed(appended, bits);
     headRevision = revision;
     checkStore()
  :: kind == foldPointer ->
     /* The same transaction deletes what the fold replaces. */
     if
     :: fold && fold != NAME(h) + 1 -> chunk[(fold - 1) * 2] = 0; chunk[(fold - 1) * 2 + 1] = 0
     :: else
     fi;
#ifdef FOLD_KEY
     if :: headRecord > foldRecord[h] -> EVENT(folded_beside_append) :: else fi;
#endif
     fold = NAME(h) + 1;
     j = 1;
     do
#ifdef FOLD_KEY
     :: j <= foldRecord[h] -> record[j] = 0; j++
#else
     :: j <= PLACES && j <= headRecord -> record[j] = 0; j++
#endif
     :: else -> break
     od;
#ifdef FOLD_KEY
     foldRevision++;
#else
     changed(folded, fold);
     headRevision = revision;
#endif
     checkStore()
  :: kind == removal ->
     read();
     removedBits = removedBits | ((cBits | (cBits >> 2)) & ALL);
     if :: fold -> chunk[(fold - 1) * 2] = 0; chunk[(fold - 1) * 2 + 1] = 0 :: else fi;
     record[1] = 0; record[2] = 0; headRecord = 0; fold = 0;
     generation++;
     changed(removed, 0);
     headRevision = revision
#ifdef TOMBSTONE_DROPPED
     ; headRevision = 0
#endif
  fi;
  forgetLate()
}
