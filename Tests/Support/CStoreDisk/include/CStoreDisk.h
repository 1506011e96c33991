#ifndef CSTOREDISK_H
#define CSTOREDISK_H

#include <stddef.h>
#include <stdint.h>

/// A disk for tests of the store: what SQLite writes to the files whose paths begin with a prefix is noted, and
/// fails when it is asked to. From `storedisk_install` on it lies between SQLite and the system, for the whole process.

/// What was done, in the order in which it was done. The bytes of a write follow its note.
typedef enum {
  STOREDISK_WRITE = 1,
  STOREDISK_SYNC = 2,
  STOREDISK_TRUNCATE = 3,
  STOREDISK_DELETE = 4,
  STOREDISK_MARK = 5,
} storedisk_kind;

typedef struct {
  int32_t kind;
  /// 0: the database, 1: its write-ahead log. Of a mark: 0.
  int32_t file;
  /// Of a write where it begins; of a truncation the new length; of a mark its number; of a sync how many bytes of
  /// notes there were when it began: it confirms those.
  int64_t offset;
  /// Of a write.
  int64_t length;
} storedisk_note;

/// Returns 0, or SQLite's error.
int storedisk_install(void);

/// Notes from now on what is done to files whose paths begin so; forgets what was noted before.
void storedisk_record(const char *prefix);
/// Notes something of the test's own between what is done.
void storedisk_mark(int64_t number);
/// Ends noting. The notes are the caller's, who frees them with `free`.
void *storedisk_take(size_t *length);

/// Files whose paths begin so have room for so many more bytes; -1: any number. Then writing fails as on a full disk.
void storedisk_limit(const char *prefix, int64_t bytes);
/// The next sync of a file whose path begins so fails.
void storedisk_fail_sync(const char *prefix);

#endif
