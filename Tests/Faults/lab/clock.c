/* Moves the wall clock of a process by the number of seconds in the file FAULTS_CLOCK (8 bytes, native order), which
   may change at any time. The monotonic clock is unaffected. Loaded before the C library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

static volatile const long long *offset;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FAULTS_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *place = mmap(NULL, sizeof(long long), PROT_READ, MAP_SHARED, file, 0);
  if (place != MAP_FAILED) offset = place;
}

static long long seconds(void) { return offset ? *offset : 0; }

int clock_gettime(clockid_t clock, struct timespec *at) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int code = real(clock, at);
  if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += seconds();
  return code;
}

int gettimeofday(struct timeval *at, void *zone) {
  static int (*real)(struct timeval *, void *);
  if (!real) real = (int (*)(struct timeval *, void *))dlsym(RTLD_NEXT, "gettimeofday");
  int code = real(at, zone);
  if (code == 0) at->tv_sec += seconds();
  return code;
}

time_t time(time_t *at) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
