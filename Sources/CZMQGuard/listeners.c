#include "listeners.h"

#include <stdatomic.h>
#include <stdint.h>

enum { listener_count = 1024 };

/* An entry holds descriptor + 1, whether it is paused, and the guard; 0: unused. */
static _Atomic uint64_t listeners[listener_count];
static const uint64_t paused_bit = 1u << 31;

static uint64_t entry_of(int fd, int guard) { return (uint64_t)(uint32_t)(fd + 1) << 32 | (uint32_t)guard; }

static int is_of(uint64_t entry, int fd) { return entry != 0 && entry >> 32 == (uint64_t)fd + 1; }

static int guard_in(uint64_t entry) { return (int)((uint32_t)entry & ~(uint32_t)paused_bit); }

/* The entry of a descriptor; 0: none. */
static uint64_t find(int fd) {
  for (int index = 0; index < listener_count; index++) {
    uint64_t entry = atomic_load_explicit(&listeners[index], memory_order_acquire);
    if (is_of(entry, fd)) return entry;
  }
  return 0;
}

int listeners_enter(int fd, int guard) {
  for (int index = 0; index < listener_count; index++) {
    uint64_t entry = atomic_load_explicit(&listeners[index], memory_order_relaxed);
    /* The descriptor belonged to another listener, now closed. */
    if (is_of(entry, fd)) atomic_compare_exchange_strong(&listeners[index], &entry, 0);
  }
  if (guard < 0 || fd < 0) return 0;
  for (int index = 0; index < listener_count; index++) {
    uint64_t none = 0;
    if (atomic_compare_exchange_strong(&listeners[index], &none, entry_of(fd, guard))) return 1;
  }
  return 0;
}

void listeners_leave(int guard) {
  for (int index = 0; index < listener_count; index++) {
    uint64_t entry = atomic_load(&listeners[index]);
    if (entry != 0 && guard_in(entry) == guard) atomic_compare_exchange_strong(&listeners[index], &entry, 0);
  }
}

int listeners_guard(int fd) {
  uint64_t entry = find(fd);
  return entry == 0 ? -1 : guard_in(entry);
}

int listeners_is_paused(int fd) { return (find(fd) & paused_bit) != 0; }

int listeners_pause(int fd, int is_paused) {
  for (int index = 0; index < listener_count; index++) {
    uint64_t entry = atomic_load_explicit(&listeners[index], memory_order_relaxed);
    if (!is_of(entry, fd)) continue;
    uint64_t changed = is_paused ? entry | paused_bit : entry & ~paused_bit;
    return atomic_compare_exchange_strong(&listeners[index], &entry, changed);
  }
  return 0;
}
