#define _GNU_SOURCE
#include "CAllocations.h"

#if defined(__linux__)
#include <features.h>
#endif

#if defined(__GLIBC__)
#include <errno.h>
#include <malloc.h>

// A program's own functions precede those of its libraries, so every allocation of the process comes through here,
// including the Swift runtime's. Memory is returned to the library's own `free`.

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static __thread uint64_t blocks;
static __thread uint64_t bytes;

static void note(size_t size) {
  blocks += 1;
  bytes += size;
}

void *malloc(size_t size) {
  note(size);
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  note(count * size);
  return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
  note(size);
  return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size) {
  note(size);
  return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  note(size);
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
  note(size);
  void *memory = __libc_memalign(alignment, size);
  if (memory == NULL) return ENOMEM;
  *result = memory;
  return 0;
}

bool allocations_are_counted(void) { return true; }
uint64_t allocations_made(void) { return blocks; }
uint64_t allocations_bytes_asked(void) { return bytes; }
size_t allocations_bytes_in_use(void) { return mallinfo2().uordblks; }

#else

bool allocations_are_counted(void) { return false; }
uint64_t allocations_made(void) { return 0; }
uint64_t allocations_bytes_asked(void) { return 0; }
size_t allocations_bytes_in_use(void) { return 0; }

#endif
