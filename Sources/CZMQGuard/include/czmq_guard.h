#ifndef BINDBUS_CZMQ_GUARD_H
#define BINDBUS_CZMQ_GUARD_H

#include <stdint.h>

/* Bounds what one connection may make libzmq collect: see ZeroMQ/MessageGuard.swift and
   docs/design/decisions/2026-11-22-a-message-is-bounded-before-it-is-collected.md.

   A guard says how many parts and bytes one message may have. It applies to every connection that libzmq accepts on a
   listener that was opened between czmq_guard_begin and czmq_guard_end, on the thread that called them. Its context
   must have one I/O thread. Linux only: elsewhere czmq_guard_end always gives 0. */

/* The number of a new guard, or -1 when all are in use. From any thread, as all of these. */
int czmq_guard_open(uint32_t max_parts, uint64_t max_bytes);

/* The guard is in use no longer; its listeners must be closed. */
void czmq_guard_close(int guard);

/* What this thread listens on from now on belongs to the guard. */
void czmq_guard_begin(int guard);

/* Ends that; how many listeners were seen since. 0 after a successful bind: libzmq does not call what is defined here,
   and nothing is guarded. */
int czmq_guard_end(void);

/* Connections that were ended since a message on them went past a bound, or they spoke ZMTP 1 or 2. */
uint64_t czmq_guard_cut(int guard);

/* Connections that were closed as they came, since hardly any file descriptors were left. */
uint64_t czmq_guard_refused(int guard);

#endif
