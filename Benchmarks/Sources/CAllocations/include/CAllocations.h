#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Whether this platform's allocator can be counted here. Elsewhere all of these give 0.
bool allocations_are_counted(void);

/// Blocks that the calling thread has asked for so far.
uint64_t allocations_made(void);

/// Bytes that the calling thread has asked for so far.
uint64_t allocations_bytes_asked(void);

/// Bytes that the allocator has given out and not got back, its own headers and rounding included.
size_t allocations_bytes_in_use(void);
