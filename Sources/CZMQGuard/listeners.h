#ifndef BINDBUS_LISTENERS_H
#define BINDBUS_LISTENERS_H

/* The guards of listening descriptors, and which of them accept nothing now. All may be called from any thread. */

/* Gives a listening descriptor to a guard (-1: to none), instead of what the number stood for before. Returns whether
   a guard has it now. */
int listeners_enter(int fd, int guard);

/* Takes all descriptors from a guard. */
void listeners_leave(int guard);

/* The guard of a listening descriptor, or -1. */
int listeners_guard(int fd);

/* Whether another listener of the same context accepts what arrives here. Both wait for the same queue, and libzmq's
   only I/O thread asks both in each turn, so leaving a connection to the other costs one call. */
int listeners_is_paused(int fd);

/* Returns whether a guard has the descriptor. */
int listeners_pause(int fd, int is_paused);

#endif
