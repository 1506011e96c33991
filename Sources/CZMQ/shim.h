#ifndef BINDBUS_CZMQ_SHIM_H
#define BINDBUS_CZMQ_SHIM_H

#include <zmq.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/eventfd.h>
#endif

/* The library honours this option from 4.3.0 on, but distributions hide its name behind the draft interface. */
static const int czmq_zap_enforce_domain_option = 93;

/* Opens what one thread writes to wake another that polls: an eventfd (both numbers are the same) or a pipe.
   Non-blocking, not inherited by child processes. Returns 0, or -1 with errno. */
static inline int czmq_wakeup_open(int *read_fd, int *write_fd) {
#ifdef __linux__
  int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) return -1;
  *read_fd = fd;
  *write_fd = fd;
  return 0;
#else
  int fds[2];
  if (pipe(fds) != 0) return -1;
  for (int i = 0; i < 2; i++) {
    fcntl(fds[i], F_SETFL, O_NONBLOCK);
    fcntl(fds[i], F_SETFD, FD_CLOEXEC);
  }
  *read_fd = fds[0];
  *write_fd = fds[1];
  return 0;
#endif
}

/* `flock` is a structure and a function at once, `open` takes a variable number of arguments: plain faces for both. */
static inline int czmq_lock_exclusively(int fd) { return flock(fd, LOCK_EX | LOCK_NB); }

static inline int czmq_open_lock_file(const char *path) {
  return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Names the calling thread, as far as there is room; the systems disagree about the arguments. */
static inline void czmq_name_this_thread(const char *name) {
  char room[16];
  strncpy(room, name, sizeof room - 1);
  room[sizeof room - 1] = 0;
#ifdef __linux__
  /* Hidden by the system's header unless its extensions are asked for. */
  extern int pthread_setname_np(pthread_t, const char *);
  pthread_setname_np(pthread_self(), room);
#else
  pthread_setname_np(room);
#endif
}

#endif
