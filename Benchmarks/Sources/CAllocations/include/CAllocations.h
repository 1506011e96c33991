#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether this platform's allocator can be counted here. Elsewhere all of these return 0.
bool allocations_are_counted(void);

/// Blocks that the calling thread has requested so far.
uint64_t allocations_made(void);

/// Bytes that the calling thread has requested so far.
uint64_t allocations_bytes_asked(void);

/// Bytes that the allocator has handed out and not received back, including its own headers and rounding.
size_t allocations_bytes_in_use(void);
