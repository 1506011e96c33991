/*
 * The append protocol: hubs without a leader append to one model's log in a replicated store.
 * docs/design/append-protocol.md explains it; scripts/check-models runs it. `-DNAME` plants the fault NAME.
 *
 * One step of a process is one `d_step`: something that the store does in one transaction, or that one hub does
 * between two messages. A process may stop after any step and go on at any later time, so a sleeping, slow or dead hub
 * needs no step of its own.
 */
#include "append/state.pml"
#include "append/store.pml"
#include "append/hub.pml"

active [HUBS] proctype hub() {
  byte h = _pid;
#ifdef LOAD_OVER_TWO_REVISIONS
  bool headRead;
  byte readFold, readRecord;
#endif
end:
  do
  /* The model is named here for the first time: its join waits for the load. */
  :: d_step { !LOADED(h) && h <= loadedOnce && LOADABLE ->
       if :: h == loadedOnce -> loadedOnce++ :: else fi;
#ifdef LOAD_OVER_TWO_REVISIONS
       if
       :: !headRead -> headRead = true; readFold = fold; readRecord = headRecord
       :: else ->
          i = fold; place = headRecord;
          fold = readFold; headRecord = readRecord;
          read();
          fold = i; headRecord = place;
          headRead = false; readFold = 0; readRecord = 0;
          load(h)
       fi;
#elif defined(EMPTY_ON_FIRST_JOIN)
       viewLog[h] = logRevision;
#else
       load(h);
#endif
       MUST(join_tells_what_is_there, !LOADED(h) || !BEHIND(h)) }

  /* The watch said `lost`, or the regular reading of heads found a later one. */
  :: d_step { LOADED(h) && open[h] == 0 && LOADABLE &&
              (viewHead[h] != headRevision || viewLog[h] != logRevision) -> load(h) }

  /* A peer joins that has seen more than this hub: that is no loss of the log, so the store is asked. */
  :: d_step { LOADED(h) && open[h] == 0 && BEHIND(h) && LOADABLE ->
       EVENT(peer_is_ahead);
#ifdef BELIEVE_PEER_AHEAD
       if
       :: epoch == 0 ->
          epoch = 1; acked[1] = acked[0]; fold = 0;
          record[1] = viewBits[h] & ALL; record[2] = viewBits[h] >> 2; headRecord = viewRecord[h];
          done[1] = viewMarks[h]; order[2 + generation] = viewBits[h];
          changed(restored, 0);
          logRevision = revision; headRevision = revision;
          checkStore();
          load(h)
       :: else -> load(h)
       fi }
#else
       if
       :: logRevision == viewLog[h] ->
          MUST(no_false_loss, generation > seenGeneration ||
                              (generation == seenGeneration && headRecord >= seenRecord))
       :: else
       fi;
       load(h) }
#endif

  /* Repeats are answered from the log, whoever wrote the record. */
  :: d_step { LOADED(h) && open[h] == 0 && (waiting[h] & viewMarks[h]) != 0 ->
       acknowledge(h, waiting[h] & viewMarks[h]);
       waiting[h] = waiting[h] & ~viewMarks[h] }

  /* Decides what waits, and appends it. */
  :: d_step { LOADED(h) && open[h] == 0 && waiting[h] != 0 && (waiting[h] & viewMarks[h]) == 0 &&
              viewRecord[h] < PLACES ->
       begin(h, append, waiting[h]);
       waiting[h] = 0;
#ifdef PUBLISH_UNDECIDED
       order[EPOCH(h) * 2 + viewGeneration[h]] = order[EPOCH(h) * 2 + viewGeneration[h]] |
         (openBits[h] << (2 * viewRecord[h]));
#endif
#ifdef ACKNOWLEDGE_ON_SEND
       acknowledge(h, openBits[h]);
#endif
     }

  /* The store takes the transaction. */
  :: d_step { open[h] != 0 && openState[h] == flying && OPENFITS(h) ->
       transact(h, open[h], openBits[h], viewLog[h], viewRecord[h] + 1);
       openState[h] = stored;
       openRevision[h] = revision;
       forgetScratch() }

  /* Its answer arrives. The revision of the answer is the head's new one. */
  :: d_step { open[h] == append && openState[h] == stored ->
       take(h, openBits[h], openRevision[h]);
       acknowledge(h, openBits[h]);
       close(h) }
  :: d_step { open[h] == foldPointer && openState[h] == stored ->
#ifndef FOLD_KEY
       viewHead[h] = openRevision[h];
#endif
       foldStage[h] = 3; foldHead[h] = 0;
       close(h) }
  :: d_step { open[h] == removal && openState[h] == stored ->
       viewGeneration[h]++;
       viewHead[h] = openRevision[h];
       clearView(h);
       dropWaiting(h);
       close(h);
       see(h) }
  /* Refused: another was first, or an earlier copy of the same bytes. The marks tell which; what has none is decided
     afresh here, without a round trip to its peer. */
  :: d_step { open[h] != 0 && openState[h] == flying && !OPENFITS(h) && LOADABLE ->
       waiting[h] = waiting[h] | openBits[h];
       if
       :: open[h] == foldPointer && fold == NAME(h) + 1 -> foldStage[h] = 3; foldHead[h] = 0
       :: open[h] == foldPointer && fold != NAME(h) + 1 ->
          if :: fold != 0 -> EVENT(fold_lost) :: else fi;
          deleteChunks(h)
       :: open[h] == append && viewLog[h] != logRevision -> EVENT(old_epoch_refused)
       :: open[h] == append && viewLog[h] == logRevision && (openBits[h] & done[epoch]) == 0 ->
          EVENT(another_was_first)
       :: open[h] == append && viewLog[h] == logRevision && (openBits[h] & done[epoch]) != 0 ->
          if :: sends[0] < 2 && sends[1] < 2 -> EVENT(own_copy_was_first) :: else fi
       :: else
       fi;
       close(h);
       load(h) }

  /* No answer in time: unknown. Only the comparison settles it, so the same bytes go again. */
  :: d_step { open[h] != 0 && lates < LATE ->
       leave(h);
       openState[h] = flying; openRevision[h] = 0;
#ifdef TRUST_READ_AFTER_UNKNOWN
       if
       :: open[h] == append && headRevision == viewHead[h] && logRevision == viewLog[h] ->
          refusals = refusals | openBits[h];
          close(h)
       :: else
       fi;
#endif
#ifdef FOLD_GIVES_UP_AFTER_UNKNOWN
       if
       :: open[h] == foldPointer && fold != NAME(h) + 1 -> deleteChunks(h); close(h)
       :: else
       fi;
#endif
     }

  /* The watch tells the next change. What arrives first settles an open transaction: it is stored if the change is
     its own, and else it can never be, because the head or the log has another revision now. */
  :: d_step { LOADED(h) && POSITION(h) < revision && (open[h] == 0 || lates < LATE) ->
       j = POSITION(h) + 1;
       if
#ifdef FOLD_KEY
       :: open[h] == foldPointer && change[j] == appended
       :: open[h] != 0 && !(open[h] == foldPointer && change[j] == appended) ->
#else
       :: open[h] != 0 ->
#endif
          leave(h);
          i = openBits[h];
          if
#if defined(FOLD_KEY) && !defined(POINTER_SETTLED_BY_HEAD)
          /* The watch of the head tells nothing of the pointer, which may have moved before: it is read. */
          :: open[h] == foldPointer && fold != NAME(h) + 1 -> deleteChunks(h)
          :: open[h] == foldPointer && fold == NAME(h) + 1 -> foldStage[h] = 3
#else
          :: open[h] == foldPointer && !(change[j] == folded && changeRecord[j] == NAME(h) + 1) -> deleteChunks(h)
          :: open[h] == foldPointer && change[j] == folded && changeRecord[j] == NAME(h) + 1 ->
             foldStage[h] = 3; foldHead[h] = 0
#endif
          :: else
          fi;
          close(h)
       :: else
       fi;
       if
       :: change[j] == appended ->
          place = j;
          take(h, changeRecord[j], j);
          if
          :: i != 0 && i == changeRecord[place] -> EVENT(watch_was_first); acknowledge(h, i)
          :: else -> waiting[h] = waiting[h] | i
          fi
       :: change[j] == folded -> viewHead[h] = j; waiting[h] = waiting[h] | i
       :: change[j] == removed ->
          viewGeneration[h]++;
          viewHead[h] = j;
          clearView(h);
          waiting[h] = waiting[h] | i;
          if :: waiting[h] != 0 -> EVENT(waited_over_removal) :: else fi;
          dropWaiting(h);
          see(h)
       :: change[j] == restored ->
          viewLog[h] = 0; viewHead[h] = 0; viewGeneration[h] = 0;
          clearView(h);
          waiting[h] = 0
       fi;
       forgetScratch() }

  /* Folds its view. The name of a fold holds the head's revision and the hub's start, so no other hub writes it. */
  :: d_step { LOADED(h) && foldStage[h] == 0 && folds < FOLDS && viewRecord[h] > 0 && open[h] == 0 ->
       folds++;
       foldStage[h] = 1;
#ifdef FOLD_KEY
       foldSeen[h] = foldRevision; foldRecord[h] = viewRecord[h];
       foldLog[h] = viewLog[h]; foldGeneration[h] = viewGeneration[h];
#else
       foldHead[h] = viewHead[h];
#endif
       chunk[NAME(h) * 2] = FOLDED(h) }
  :: d_step { foldStage[h] == 1 && VIEWFOLDS(h) ->
       foldStage[h] = 2;
#ifdef FOLD_KEY
       chunk[NAME(h) * 2 + 1] = chunk[NAME(h) * 2] }
#else
       chunk[NAME(h) * 2 + 1] = FOLDED(h) }
#endif
  :: d_step { foldStage[h] == 2 && VIEWFOLDS(h) && open[h] == 0 -> begin(h, foldPointer, 0) }
  :: d_step { (foldStage[h] == 1 || foldStage[h] == 2) && !VIEWFOLDS(h) && open[h] != foldPointer ->
       deleteChunks(h) }

  /* Removes the model: every writer in it has confirmed its outcome. */
  :: d_step { LOADED(h) && open[h] == 0 && waiting[h] == 0 && removals < REMOVALS && viewMarks[h] != 0 &&
              (viewMarks[h] & ~acknowledged) == 0 ->
       removals++;
       begin(h, removal, 0) }

  /* A writer moves here, joins, and sends its proposal. */
  :: d_step { CANSEND(0, h) -> send(0, h) }
  :: d_step { CANSEND(1, h) && sends[0] > 0 -> send(1, h) }

#ifdef BOTH_ANSWERS
  :: d_step { lates > 0 && lateState[0] == stored && lateHub[0] == h -> takeLate(h, 0) }
  :: d_step { lates > 1 && lateState[1] == stored && lateHub[1] == h -> takeLate(h, 1) }
#endif
  od
}

/* What is under way in the network, and the operator. */
active proctype world() {
  do
  :: d_step { lateState[0] == flying -> land(0) }
  :: d_step { lateState[1] == flying -> land(1) }

  /* A sweep of old chunks that no fold in force names: the one that writes them was only slow. */
  :: d_step { sweeps < SWEEPS && SLOWFOLD(0) -> sweeps++; chunk[0] = 0; chunk[1] = 0; forgetLate() }
  :: d_step { sweeps < SWEEPS && SLOWFOLD(1) -> sweeps++; chunk[2] = 0; chunk[3] = 0; forgetLate() }
#if HUBS > 2
  :: d_step { sweeps < SWEEPS && SLOWFOLD(2) -> sweeps++; chunk[4] = 0; chunk[5] = 0; forgetLate() }
#endif

  /* A new epoch over the same records: the head is not written. */
  :: d_step { restores < RESTORES && epoch == 0 ->
       restores++;
       acked[1] = acked[0] & ~removedBits; done[1] = done[0];
       read();
       order[2 + generation] = cBits;
       renew();
       forgetLate();
       checkStore();
       forgetScratch() }
  /* A backup from before the first record. More than one transaction, so the log says first that it begins, which
     ends all appends of the epoch before, and last that it is over; between the two no hub loads. */
  :: d_step { restores < RESTORES && epoch == 0 && headRecord > 0 ->
       restores++;
       restoring = true;
       renew();
       done[1] = done[0];
       order[2 + generation] = order[generation];
       forgetLate() }
  :: d_step { restoring ->
       restoring = false;
       if :: fold -> chunk[(fold - 1) * 2] = 0; chunk[(fold - 1) * 2 + 1] = 0 :: else fi;
       record[1] = 0; record[2] = 0; headRecord = 0; fold = 0;
       done[1] = 0;
       order[2 + generation] = 0;
       changed(restored, 0);
       logRevision = revision;
       headRevision = revision;
       checkStore();
       forgetLate();
       forgetScratch() }

  :: timeout ->
     MUST(ends_settled, SETTLED(0) && SETTLED(1) && SETTLED(HUBS - 1));
     break
  od
}
