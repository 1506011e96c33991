#ifndef CBINDINGMODEL_H
#define CBINDINGMODEL_H

#include <stdint.h>

// What BindingModel needs for its speed and Swift 6 cannot express on all its platforms: a thread-local variable, and
// atomic access to the memory of a Swift object.

#if defined(__ELF__)
  // One instruction instead of a call, in a shared library too: it takes 8 bytes of the room that every thread has for
  // libraries that are loaded later.
  #define BINDBUS_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) _Thread_local
#else
  #define BINDBUS_THREAD_LOCAL _Thread_local
#endif

extern BINDBUS_THREAD_LOCAL void *_Nullable bindbus_thread_slot;

/// The calling thread's pointer; null until it is set.
static inline void *_Nullable bindbus_thread_pointer(void) { return bindbus_thread_slot; }
static inline void bindbus_set_thread_pointer(void *_Nullable pointer) { bindbus_thread_slot = pointer; }

// Loads are sequentially consistent and stores release: a store is followed by the release of a lock. The address must
// be a multiple of the size.

static inline uint8_t bindbus_load_1(const void *_Nonnull address) {
  return __atomic_load_n((const uint8_t *)address, __ATOMIC_SEQ_CST);
}
static inline uint32_t bindbus_load_4(const void *_Nonnull address) {
  return __atomic_load_n((const uint32_t *)address, __ATOMIC_SEQ_CST);
}
static inline uint64_t bindbus_load_8(const void *_Nonnull address) {
  return __atomic_load_n((const uint64_t *)address, __ATOMIC_SEQ_CST);
}
static inline void bindbus_store_1(void *_Nonnull address, uint8_t value) {
  __atomic_store_n((uint8_t *)address, value, __ATOMIC_RELEASE);
}
static inline void bindbus_store_4(void *_Nonnull address, uint32_t value) {
  __atomic_store_n((uint32_t *)address, value, __ATOMIC_RELEASE);
}
static inline void bindbus_store_8(void *_Nonnull address, uint64_t value) {
  __atomic_store_n((uint64_t *)address, value, __ATOMIC_RELEASE);
}

#endif
