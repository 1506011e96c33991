#include "CStoreDisk.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  sqlite3_file base;
  char path[512];
  int32_t number;
  sqlite3_file *real;
} disk_file;

static sqlite3_vfs *system_vfs;
static sqlite3_vfs disk_vfs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static char recorded[512];
static char *notes;
static size_t notes_length, notes_room;

static char limited[512];
static int64_t room_left = -1;
static char failing[512];

static int begins(const char *path, const char *prefix) {
  return prefix[0] != 0 && strncmp(path, prefix, strlen(prefix)) == 0;
}

static void note(
    const char *path, storedisk_kind kind, int32_t file, int64_t offset, const void *bytes, int64_t length) {
  pthread_mutex_lock(&lock);
  if (kind == STOREDISK_MARK ? recorded[0] != 0 : begins(path, recorded)) {
    storedisk_note head = {kind, file, offset, length};
    size_t needed = sizeof head + (size_t)length;
    if (notes_length + needed > notes_room) {
      notes_room = (notes_length + needed) * 2;
      notes = realloc(notes, notes_room);
    }
    memcpy(notes + notes_length, &head, sizeof head);
    if (length > 0) memcpy(notes + notes_length + sizeof head, bytes, (size_t)length);
    notes_length += needed;
  }
  pthread_mutex_unlock(&lock);
}

static int32_t number_of(const char *path) {
  size_t length = strlen(path);
  return length > 4 && strcmp(path + length - 4, "-wal") == 0 ? 1 : 0;
}

// A file's calls go to the system's; writes, truncations and syncs are noted once they were done.

static int file_close(sqlite3_file *file) {
  disk_file *disk = (disk_file *)file;
  int result = disk->real->pMethods ? disk->real->pMethods->xClose(disk->real) : SQLITE_OK;
  free(disk->real);
  return result;
}

static int file_read(sqlite3_file *file, void *into, int count, sqlite3_int64 offset) {
  sqlite3_file *real = ((disk_file *)file)->real;
  return real->pMethods->xRead(real, into, count, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
  disk_file *disk = (disk_file *)file;
  pthread_mutex_lock(&lock);
  int is_full = 0;
  if (room_left >= 0 && begins(disk->path, limited)) {
    is_full = room_left < count;
    if (!is_full) room_left -= count;
  }
  pthread_mutex_unlock(&lock);
  if (is_full) return SQLITE_FULL;
  int result = disk->real->pMethods->xWrite(disk->real, bytes, count, offset);
  if (result == SQLITE_OK) note(disk->path, STOREDISK_WRITE, disk->number, offset, bytes, count);
  return result;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
  disk_file *disk = (disk_file *)file;
  int result = disk->real->pMethods->xTruncate(disk->real, size);
  if (result == SQLITE_OK) note(disk->path, STOREDISK_TRUNCATE, disk->number, size, NULL, 0);
  return result;
}

static int file_sync(sqlite3_file *file, int flags) {
  disk_file *disk = (disk_file *)file;
  pthread_mutex_lock(&lock);
  int fails = begins(disk->path, failing);
  if (fails) failing[0] = 0;
  // What is written while it runs may not be confirmed by it.
  int64_t before = (int64_t)notes_length;
  pthread_mutex_unlock(&lock);
  if (fails) return SQLITE_IOERR_FSYNC;
  int result = disk->real->pMethods->xSync(disk->real, flags);
  if (result == SQLITE_OK) note(disk->path, STOREDISK_SYNC, disk->number, before, NULL, 0);
  return result;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
  sqlite3_file *real = ((disk_file *)file)->real;
  return real->pMethods->xFileSize(real, size);
}

static int file_lock(sqlite3_file *file, int level) {
  sqlite3_file *real = ((disk_file *)file)->real;
  return real->pMethods->xLock(real, level);
}

static int file_unlock(sqlite3_file *file, int level) {
  sqlite3_file *real = ((disk_file *)file)->real;
  return real->pMethods->xUnlock(real, level);
}

static int file_check_reserved(sqlite3_file *file, int *result) {
  sqlite3_file *real = ((disk_file *)file)->real;
  return real->pMethods->xCheckReservedLock(real, result);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
  sqlite3_file *real = ((disk_file *)file)->real;
  return real->pMethods->xFileControl(real, operation, argument);
}

static int file_sector(sqlite3_file *file) {
  sqlite3_file *real = ((disk_file *)file)->real;
  return real->pMethods->xSectorSize(real);
}

static int file_traits(sqlite3_file *file) {
  sqlite3_file *real = ((disk_file *)file)->real;
  return real->pMethods->xDeviceCharacteristics(real);
}

static int file_shm_map(sqlite3_file *file, int page, int size, int extend, void volatile **into) {
  sqlite3_file *real = ((disk_file *)file)->real;
  return real->pMethods->xShmMap(real, page, size, extend, into);
}

static int file_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
  sqlite3_file *real = ((disk_file *)file)->real;
  return real->pMethods->xShmLock(real, offset, count, flags);
}

static void file_shm_barrier(sqlite3_file *file) {
  sqlite3_file *real = ((disk_file *)file)->real;
  real->pMethods->xShmBarrier(real);
}

static int file_shm_unmap(sqlite3_file *file, int removes) {
  sqlite3_file *real = ((disk_file *)file)->real;
  return real->pMethods->xShmUnmap(real, removes);
}

static const sqlite3_io_methods file_methods = {
    .iVersion = 2,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static int disk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *flags_out) {
  (void)vfs;
  disk_file *disk = (disk_file *)file;
  disk->base.pMethods = NULL;
  disk->path[0] = 0;
  if (name != NULL) strncpy(disk->path, name, sizeof disk->path - 1);
  disk->number = number_of(disk->path);
  disk->real = calloc(1, (size_t)system_vfs->szOsFile);
  if (disk->real == NULL) return SQLITE_NOMEM;
  int result = system_vfs->xOpen(system_vfs, name, disk->real, flags, flags_out);
  if (result != SQLITE_OK) {
    free(disk->real);
    return result;
  }
  disk->base.pMethods = &file_methods;
  return SQLITE_OK;
}

static int disk_delete(sqlite3_vfs *vfs, const char *name, int syncs) {
  (void)vfs;
  int result = system_vfs->xDelete(system_vfs, name, syncs);
  if (result == SQLITE_OK) note(name, STOREDISK_DELETE, number_of(name), 0, NULL, 0);
  return result;
}

int storedisk_install(void) {
  pthread_mutex_lock(&lock);
  int is_new = system_vfs == NULL;
  pthread_mutex_unlock(&lock);
  if (!is_new) return SQLITE_OK;
  sqlite3_vfs *found = sqlite3_vfs_find(NULL);
  if (found == NULL) return SQLITE_ERROR;
  pthread_mutex_lock(&lock);
  if (system_vfs == NULL) {
    system_vfs = found;
    // Calls that are not wrapped get this record instead of the system's, and use nothing of it but what is copied.
    disk_vfs = *found;
    disk_vfs.zName = "storedisk";
    disk_vfs.szOsFile = (int)sizeof(disk_file);
    disk_vfs.xOpen = disk_open;
    disk_vfs.xDelete = disk_delete;
  }
  pthread_mutex_unlock(&lock);
  return sqlite3_vfs_register(&disk_vfs, 1);
}

void storedisk_record(const char *prefix) {
  pthread_mutex_lock(&lock);
  free(notes);
  notes = NULL;
  notes_length = notes_room = 0;
  strncpy(recorded, prefix, sizeof recorded - 1);
  pthread_mutex_unlock(&lock);
}

void storedisk_mark(int64_t number) { note("", STOREDISK_MARK, 0, number, NULL, 0); }

void *storedisk_take(size_t *length) {
  pthread_mutex_lock(&lock);
  void *taken = notes;
  *length = notes_length;
  notes = NULL;
  notes_length = notes_room = 0;
  recorded[0] = 0;
  pthread_mutex_unlock(&lock);
  return taken;
}

void storedisk_limit(const char *prefix, int64_t bytes) {
  pthread_mutex_lock(&lock);
  strncpy(limited, prefix, sizeof limited - 1);
  room_left = bytes;
  pthread_mutex_unlock(&lock);
}

void storedisk_fail_sync(const char *prefix) {
  pthread_mutex_lock(&lock);
  strncpy(failing, prefix, sizeof failing - 1);
  pthread_mutex_unlock(&lock);
}
