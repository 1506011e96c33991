#ifndef CPAGES_H
#define CPAGES_H

#include <stddef.h>

/// A file of the gateway's pages, as it stands in this target's folder `pages`. Lives as long as the process.
typedef struct {
  /// Without a folder, zero-terminated.
  const char *name;
  const unsigned char *bytes;
  size_t length;
} cpages_file;

/// How many files there are.
size_t cpages_count(void);

/// The file of that number; NULL from `cpages_count()` on.
const cpages_file *cpages_at(size_t number);

#endif
