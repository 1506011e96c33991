#ifndef BINDBUS_CZMQ_GUARD_H
#define BINDBUS_CZMQ_GUARD_H

#include <stdint.h>

/* Bounds the memory that one connection can make libzmq use for a message: see ZeroMQ/MessageGuard.swift and
   docs/design/decisions/2026-11-22-a-message-is-bounded-before-it-is-collected.md.

   A guard limits the parts and bytes of one message. It applies to every connection that libzmq accepts on a listener
   opened between czmq_guard_begin and czmq_guard_end, on the thread that called them. The I/O thread that accepts a
   connection must also serve it: a context has one, or the socket's affinity names one. Linux only: elsewhere
   czmq_guard_end always returns 0. All functions may be called from any thread. */

/* Makes a guard. Returns its number, or -1 when all are in use. */
int czmq_guard_open(uint32_t max_parts, uint64_t max_bytes);

/* Frees a guard; its listeners must be closed. */
void czmq_guard_close(int guard);

/* From now on, sockets that this thread listens on belong to the guard. */
void czmq_guard_begin(int guard);

/* Ends what czmq_guard_begin began. Returns the number of listeners opened in between. 0 after a successful bind means
   that libzmq does not call the functions defined here, so nothing is guarded. */
int czmq_guard_end(void);

/* The last of those listeners: its descriptor, or -1. Asked on the same thread. */
int czmq_guard_listener(void);

/* Gives a copy of a listener's descriptor to the guard. Returns whether there was room. */
int czmq_guard_adopt(int guard, int fd);

/* From now on, or no longer, a guarded listener accepts nothing: another with a copy of its descriptor does. Returns
   whether there is such a listener. */
int czmq_guard_pause(int fd, int is_paused);

/* Connections that were ended because a message exceeded a bound, or because they spoke ZMTP 1 or 2. */
uint64_t czmq_guard_cut(int guard);

/* Connections that were closed on arrival because hardly any file descriptors were left. */
uint64_t czmq_guard_refused(int guard);

#endif
