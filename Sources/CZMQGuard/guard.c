/* For accept4 and RTLD_NEXT. */
#define _GNU_SOURCE 1

#include "czmq_guard.h"
#include "listeners.h"

#include <stdatomic.h>

enum { guard_count = 1024, kept_descriptors = 32 };

struct guard {
  _Atomic int is_used;
  uint32_t max_parts;
  uint64_t max_bytes;
  _Atomic uint64_t cut;
  _Atomic uint64_t refused;
};

/* Static, so that an I/O thread that is still ending may count in the guard of a closed hub. */
static struct guard guards[guard_count];

static _Thread_local int beginning = -1;
static _Thread_local int begun_listeners;
static _Thread_local int begun_descriptor = -1;

int czmq_guard_open(uint32_t max_parts, uint64_t max_bytes) {
  for (int guard = 0; guard < guard_count; guard++) {
    int is_used = 0;
    if (!atomic_compare_exchange_strong(&guards[guard].is_used, &is_used, 1)) continue;
    guards[guard].max_parts = max_parts;
    guards[guard].max_bytes = max_bytes;
    atomic_store(&guards[guard].cut, 0);
    atomic_store(&guards[guard].refused, 0);
    return guard;
  }
  return -1;
}

void czmq_guard_close(int guard) {
  listeners_leave(guard);
  atomic_store(&guards[guard].is_used, 0);
}

void czmq_guard_begin(int guard) {
  beginning = guard;
  begun_listeners = 0;
  begun_descriptor = -1;
}

int czmq_guard_end(void) {
  beginning = -1;
  return begun_listeners;
}

int czmq_guard_listener(void) { return begun_descriptor; }

int czmq_guard_adopt(int guard, int fd) { return listeners_enter(fd, guard); }

int czmq_guard_pause(int fd, int is_paused) { return listeners_pause(fd, is_paused); }

uint64_t czmq_guard_cut(int guard) { return atomic_load_explicit(&guards[guard].cut, memory_order_relaxed); }

uint64_t czmq_guard_refused(int guard) { return atomic_load_explicit(&guards[guard].refused, memory_order_relaxed); }

#if defined(__linux__) && !defined(__ANDROID__)

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#ifndef __SOCKADDR_ARG
#define __SOCKADDR_ARG struct sockaddr *restrict
#endif

#define EXPORTED __attribute__((visibility("default")))

/* The parser state of one accepted connection. */
struct connection {
  int guard; /* The guard + 1; 0: this descriptor is not guarded. */
  uint8_t is_cut;
  uint8_t greeting;
  uint8_t head_length;
  uint8_t head[9];
  uint32_t parts;          /* Parts of the current message so far. */
  uint64_t message_bytes;  /* The total size of these parts. */
  uint64_t body_left;      /* Unread bytes of the current frame. */
};

enum { greeting_length = 64, flag_more = 1, flag_large = 2, flag_command = 4 };

/* Indexed by descriptor. Only an I/O thread that has accepted a guarded connection has this table, and only that thread
   reads from its connections. So it needs no lock, and other threads pay for a single load. */
static _Thread_local struct connection *connections;
static _Thread_local size_t connection_count;

static pthread_key_t table_key;
static pthread_once_t table_key_once = PTHREAD_ONCE_INIT;
static void make_table_key(void) { pthread_key_create(&table_key, free); }

static struct connection *connection_of(int fd) {
  if (fd < 0 || (size_t)fd >= connection_count || connections[fd].guard == 0) return NULL;
  return &connections[fd];
}

/* Begins to track a new connection, replacing any earlier one of the same descriptor. Returns 0 if out of memory. */
static int follow(int fd, int guard) {
  if ((size_t)fd >= connection_count) {
    size_t count = (size_t)fd + 256;
    struct connection *table = realloc(connections, count * sizeof *table);
    if (table == NULL) return 0;
    memset(table + connection_count, 0, (count - connection_count) * sizeof *table);
    connections = table;
    connection_count = count;
    pthread_once(&table_key_once, make_table_key);
    pthread_setspecific(table_key, table);
  }
  memset(&connections[fd], 0, sizeof connections[fd]);
  connections[fd].guard = guard + 1;
  return 1;
}

static uint64_t size_in(const uint8_t *head) {
  if (!(head[0] & flag_large)) return head[1];
  uint64_t size = 0;
  for (int index = 1; index < 9; index++) size = size << 8 | head[index];
  return size;
}

/* Counts a new frame. Returns whether its message is still within the bounds. */
static int is_bounded(struct connection *connection, uint8_t flags, uint64_t size) {
  const struct guard *guard = &guards[connection->guard - 1];
  if (size > guard->max_bytes) return 0;
  if ((flags & (flag_command | flag_more)) == flag_command) return 1; /* A heartbeat may arrive between two parts. */
  if (size > guard->max_bytes - connection->message_bytes) return 0;
  connection->message_bytes += size;
  connection->parts += 1;
  if (connection->parts > guard->max_parts) return 0;
  if (!(flags & flag_more)) {
    connection->parts = 0;
    connection->message_bytes = 0;
  }
  return 1;
}

/* Whether a byte of the greeting fits ZMTP 3 or later: earlier versions frame messages differently. */
static int is_greeting(int position, uint8_t byte) {
  switch (position) {
  case 0: return byte == 0xFF;
  case 9: return byte & 1;
  case 10: return byte >= 3;
  default: return 1;
  }
}

/* Parses received bytes. Returns 0 if a message exceeds a bound or the greeting is not ZMTP 3. */
static int walk(struct connection *connection, const uint8_t *bytes, size_t count) {
  while (count > 0) {
    if (connection->body_left > 0) {
      size_t part = connection->body_left < count ? (size_t)connection->body_left : count;
      connection->body_left -= part;
      bytes += part;
      count -= part;
      continue;
    }
    uint8_t byte = *bytes++;
    count--;
    if (connection->greeting < greeting_length) {
      if (!is_greeting(connection->greeting, byte)) return 0;
      connection->greeting++;
      continue;
    }
    connection->head[connection->head_length++] = byte;
    if (connection->head_length < (connection->head[0] & flag_large ? 9 : 2)) continue;
    connection->head_length = 0;
    connection->body_left = size_in(connection->head);
    if (!is_bounded(connection, connection->head[0], connection->body_left)) return 0;
  }
  return 1;
}

/* Replaces recv for libzmq. A forbidden message appears to libzmq as the end of the connection. */
EXPORTED ssize_t recv(int fd, void *buffer, size_t size, int flags) {
  ssize_t count = recvfrom(fd, buffer, size, flags, NULL, NULL);
  if (connections == NULL || count <= 0 || flags & MSG_PEEK) return count;
  struct connection *connection = connection_of(fd);
  if (connection == NULL || (!connection->is_cut && walk(connection, buffer, (size_t)count))) return count;
  if (!connection->is_cut) atomic_fetch_add_explicit(&guards[connection->guard - 1].cut, 1, memory_order_relaxed);
  connection->is_cut = 1;
  errno = ECONNRESET;
  return -1;
}

/* The C library's function of this name, which this file shadows. */
static void *next(_Atomic(void *) *known, const char *name) {
  void *found = atomic_load_explicit(known, memory_order_acquire);
  if (found != NULL) return found;
  found = dlsym(RTLD_NEXT, name);
  atomic_store_explicit(known, found, memory_order_release);
  return found;
}

EXPORTED int listen(int fd, int backlog) {
  if (listeners_enter(fd, beginning)) {
    begun_listeners++;
    begun_descriptor = fd;
  }
  static _Atomic(void *) known;
  int (*listen)(int, int) = (int (*)(int, int))next(&known, "listen");
  return listen != NULL ? listen(fd, backlog) : (int)syscall(SYS_listen, fd, backlog);
}

static int none_arrived(void) {
  errno = EAGAIN;
  return -1;
}

/* The system assigns the lowest free descriptor, so one near the limit means that nearly all are in use. Without free
   descriptors libzmq ends the process (over ipc) or retries forever (over tcp). */
static int is_near_limit(int fd) {
  struct rlimit limit;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 2 * kept_descriptors &&
         (rlim_t)fd >= limit.rlim_cur - kept_descriptors;
}

/* Guards or refuses a newly accepted connection. Returns the result of accept: a descriptor, or -1 and errno. */
static int accepted(int listener, int fd) {
  int guard = listeners_guard(listener);
  if (guard < 0) return fd;
  if (fd < 0) {
    if (errno == EMFILE || errno == ENFILE) {
      /* Other code in this process has used up the descriptors. Retry until it frees some. */
      usleep(1000);
      errno = ECONNABORTED;
    }
    return fd;
  }
  if (!is_near_limit(fd) && follow(fd, guard)) return fd;
  atomic_fetch_add_explicit(&guards[guard].refused, 1, memory_order_relaxed);
  close(fd);
  errno = ECONNABORTED;
  return -1;
}

EXPORTED int accept(int fd, __SOCKADDR_ARG address, socklen_t *restrict length) {
  static _Atomic(void *) known;
  int (*accept)(int, struct sockaddr *, socklen_t *) =
      (int (*)(int, struct sockaddr *, socklen_t *))next(&known, "accept");
  if (listeners_is_paused(fd)) return none_arrived();
  struct sockaddr *plain = *(struct sockaddr **)&address;
  if (accept != NULL) return accepted(fd, accept(fd, plain, length));
  return accepted(fd, (int)syscall(SYS_accept4, fd, plain, length, 0));
}

EXPORTED int accept4(int fd, __SOCKADDR_ARG address, socklen_t *restrict length, int flags) {
  static _Atomic(void *) known;
  int (*accept4)(int, struct sockaddr *, socklen_t *, int) =
      (int (*)(int, struct sockaddr *, socklen_t *, int))next(&known, "accept4");
  if (listeners_is_paused(fd)) return none_arrived();
  struct sockaddr *plain = *(struct sockaddr **)&address;
  if (accept4 != NULL) return accepted(fd, accept4(fd, plain, length, flags));
  return accepted(fd, (int)syscall(SYS_accept4, fd, plain, length, flags));
}

#endif
