/*
 * Change of home: an edge passes one writer's proposals on to the home of a model, and the home moves.
 * docs/design/append-protocol.md explains it; scripts/check-models runs it. `-DNAME` plants the fault NAME.
 *
 * The comparison in the log is taken as append.pml proves it: a record goes in only after the last record that its
 * hub has applied. So a hub's view is a count of records here. A step may come at any later time: partitions, sleeping
 * hubs and late answers need no step of their own.
 */
#include "home/state.pml"

inline publish(version, content) {
  MUST(one_order, published[version] == 0 || published[version] == content);
  published[version] = content
}

/* Applies the next record of the log. */
inline apply(h) {
  view[h]++;
  publish(view[h], record[view[h]]);
  if
  :: record[view[h]] <= NUMBERS -> viewMark[h] = record[view[h]]
  :: record[view[h]] == OWNER_TAKEN -> viewOwned[h] = true
  :: record[view[h]] == OWNER_ENDED -> viewOwned[h] = false
  fi
}
inline catchUp(h) {
  do
  :: view[h] < last -> apply(h)
  :: else -> break
  od;
  skip
}

inline store(h) {
  if
  :: open[h] <= NUMBERS ->
     MUST(carried_out_once, open[h] > mark);
     MUST(numbers_are_dense, open[h] == mark + 1);
     MUST(owner_has_approved, !owned || (approved & BIT(open[h])));
     mark = open[h]
  :: open[h] == OWNER_TAKEN -> owned = true
  :: open[h] == OWNER_ENDED -> owned = false
  fi;
  last++;
  record[last] = open[h];
  isStored[h] = true
}

/* What is sent for an earlier session changes nothing at the edge, so it is not kept. */
#ifdef EDGE_HEARS_OLD_SESSION
#define HEARD(s) ((s) != 0)
#else
#define HEARD(s) ((s) == sessions)
#endif
inline answer(h, number) {
  MUST(outcome_is_true, number <= mark);
  if
  :: HEARD(session[h]) -> down!outcome, session[h], number, 0
  :: else
  fi
}

/* Approved by the owner that is here, or there is none. A home that finds an owner in the log that has not joined it
   decides nothing of others. */
#ifdef NEW_HOME_ASKS_NO_OWNER
#define MAYDECIDE(h) true
#else
#define MAYDECIDE(h) (!viewOwned[h] || ownerAt == h)
#endif

active [HUBS] proctype hub() {
  byte h = _pid;
end:
  do
  /* A resuming join. The peer may rightly be ahead of this hub, by its version or by its numbers: ask the store. */
  :: d_step { up[h]?[join, s, n, v] && open[h] == 0 && nfull(down) ->
       up[h]?k, s, n, v;
       if
#ifdef ASK_ONLY_BY_VERSION
       :: v > view[h] ->
#else
       :: v > view[h] || n > viewMark[h] + 1 ->
#endif
          EVENT(store_is_asked);
          MUST(no_false_loss, v <= last && n <= mark + 1);
          catchUp(h)
       :: else
       fi;
       session[h] = s;
       MUST(nothing_is_forgotten, n <= viewMark[h] + 1);
       if :: HEARD(s) -> down!welcome, s, viewMark[h], view[h] :: else fi;
       k = 0; s = 0; n = 0; v = 0 }
  :: d_step { up[h]?[propose, s, n, v] && nfull(down) ->
       up[h]?k, s, n, v;
       if :: s != sessions -> EVENT(old_home_hears) :: else fi;
#ifdef PASS_BEFORE_MARK
       session[h] = s;
#endif
       if
       :: n <= viewMark[h] && s == session[h] -> answer(h, n)
       :: n <= viewMark[h] && s != session[h]
       :: n > viewMark[h] && (n == viewMark[h] + 1 || ((waiting[h] | (open[h] == n - 1)) & BIT(n - 1))) ->
          if :: open[h] != n -> waiting[h] = waiting[h] | BIT(n) :: else fi
       :: else -> if :: HEARD(s) -> down!expected, s, viewMark[h] + 1, 0 :: else fi
       fi;
       k = 0; s = 0; n = 0; v = 0 }

  /* Repeats are answered from the log. */
  :: d_step { open[h] == 0 && viewMark[h] >= 1 && (waiting[h] & 1) && nfull(down) ->
       waiting[h] = waiting[h] & 2;
       answer(h, 1) }
  :: d_step { open[h] == 0 && viewMark[h] >= 2 && (waiting[h] & 2) && nfull(down) ->
       waiting[h] = waiting[h] & 1;
       answer(h, 2) }

  /* Decides the next number. */
  :: d_step { open[h] == 0 && viewMark[h] < NUMBERS && (waiting[h] & BIT(viewMark[h] + 1)) && MAYDECIDE(h) ->
       if :: open[1 - h] != 0 && open[1 - h] <= NUMBERS -> EVENT(two_homes_decide) :: else fi;
       open[h] = viewMark[h] + 1;
       waiting[h] = waiting[h] & ~BIT(open[h]);
       if :: viewOwned[h] && ownerAt == h -> approved = approved | BIT(open[h]) :: else fi;
#ifdef PUBLISH_UNDECIDED
       publish(view[h] + 1, open[h])
#endif
     }

  /* The owner claims here; the record comes before it is told. Where the log names it already, it only joins. */
  :: d_step { OWNERS && ownerMoves < 2 && ownerAt != h && open[h] == 0 && (owned == viewOwned[h]) ->
       ownerMoves++;
       if
       :: viewOwned[h] -> ownerAt = h
       :: !viewOwned[h] && ownerMoves == 1 -> open[h] = OWNER_TAKEN
       :: else
       fi }
  /* It gives up, or a lease after this hub took over it has not joined. Both leave a record before anything of others
     is decided. */
  :: d_step { open[h] == 0 && viewOwned[h] ->
       if :: waiting[h] != 0 && ownerAt != h -> EVENT(owner_is_awaited) :: else fi;
#ifdef LEASE_WITHOUT_RECORD
       viewOwned[h] = false
#else
       open[h] = OWNER_ENDED
#endif
     }

  :: d_step { open[h] != 0 && !isStored[h] && view[h] == last -> store(h) }
  :: d_step { open[h] != 0 && isStored[h] && nfull(down) ->
       apply(h);
       if
       :: open[h] <= NUMBERS -> answer(h, open[h])
       :: open[h] == OWNER_TAKEN -> ownerAt = h
       :: open[h] == OWNER_ENDED -> ownerAt = (ownerAt == h -> NOWHERE : ownerAt)
       fi;
       open[h] = 0;
       isStored[h] = false }
  /* Another was first: decide afresh. */
  :: d_step { open[h] != 0 && !isStored[h] && view[h] != last ->
       if :: open[h] <= NUMBERS -> waiting[h] = waiting[h] | BIT(open[h]) :: else fi;
       open[h] = 0;
       catchUp(h) }
  /* The watch. */
  :: d_step { open[h] == 0 && view[h] < last -> apply(h) }
  od
}

/* Passing on needs the mark: without it the new home would be asked out of turn. */
#ifdef PASS_BEFORE_MARK
#define MAYPASS present
#else
#define MAYPASS (present && state == joined)
#endif

inline newSession() {
  sessions++; state = connecting; passed = 0; edgeMark = 0; edgeVersion = 0;
#ifndef EDGE_HEARS_OLD_SESSION
  do :: len(down) > 0 -> down?k, s, n, v :: len(down) == 0 -> break od;
#endif
  k = 0; s = 0; n = 0; v = 0
}

inline pass(number) {
  passed = passed | BIT(number);
  up[home]!propose, sessions, number, 0
}

inline tell(number) {
  MUST(no_peer_goes_back, replica >= seen);
  i = 1;
  do
  :: i <= replica -> MUST(mark_covers_replica, record[i] > NUMBERS || record[i] <= number); i++
  :: else -> break
  od;
  i = 0;
  seen = replica;
  present = true
}

inline hear() {
  down?k, s, n, v;
  if
#ifdef EDGE_HEARS_OLD_SESSION
  :: k == outcome ->
     MUST(outcome_once, !(resolved & BIT(n)));
#else
  :: k == outcome && (s != sessions || !(passed & BIT(n)))
  :: k == outcome && s == sessions && (passed & BIT(n)) ->
     MUST(outcome_once, !(resolved & BIT(n)));
#endif
     passed = passed & ~BIT(n);
     resolved = resolved | BIT(n);
     i = 1;
     do
     :: record[i] != n -> i++
     :: else -> break
     od;
     seen = (i > seen -> i : seen);
     i = 0
  :: k == expected && s == sessions ->
     /* The writer may conclude that the hub has forgotten its numbers. */
     MUST(nothing_is_forgotten, !(resolved & BIT(n)));
     passed = 0
  :: k == welcome && s == sessions && state == joining -> 
     state = joined;
     if :: !present -> edgeMark = n; edgeVersion = v :: else fi
  :: else
  fi;
  k = 0; s = 0; n = 0; v = 0
}

active proctype edge() {
  do
  /* Another home, or the same one again. Each number that was passed on is answered with `busy`: its writer repeats
     it. */
  :: d_step { changes < CHANGES -> changes++; home = 1 - home; newSession() }
  :: d_step { changes < CHANGES -> changes++; newSession() }
  /* The writer's connection breaks, and it comes back with what it has. */
  :: d_step { rejoins < REJOINS ->
       rejoins++;
       present = false;
       newSession() }
#ifdef EDGE_ANSWERS_RESUMING_JOIN
  :: d_step { !present && replica >= seen -> tell(0) }
#endif
  :: d_step { state == connecting && nfull(up[home]) ->
       up[home]!join, sessions, UNACKNOWLEDGED, VERSION;
       state = joining }

  :: d_step { nempty(down) -> hear() }

  /* Follows the home. */
  :: d_step { state == joined && replica < view[home] -> replica = view[home] }

  /* Answers the writer's join once the replica has what the home told, with the mark of what the replica shows. */
  :: d_step { !present && state == joined && replica >= edgeVersion ->
       n = edgeMark;
#ifndef MARK_OF_THE_WELCOME
       i = edgeVersion;
       do
       :: i < replica -> i++; n = (record[i] <= NUMBERS && record[i] > n -> record[i] : n)
       :: else -> break
       od;
       i = 0;
#endif
       tell(n);
       n = 0; edgeMark = 0; edgeVersion = 0 }

  /* The writer sends, or repeats, in order of number. */
  :: d_step { MAYPASS && !(resolved & 1) && !(passed & 1) && nfull(up[home]) -> pass(1) }
  :: d_step { MAYPASS && !(resolved & 2) && !(passed & 2) && ((resolved | passed) & 1) && nfull(up[home]) -> pass(2) }

  :: timeout -> MUST(ends_settled, resolved == 3 && present); break
  od
}
