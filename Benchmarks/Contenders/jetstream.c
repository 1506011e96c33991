// NATS JetStream's key-value store: each change is a put of its key, acknowledged once the stream has it. The grade
// says where the stream lies, "memory" or "file". Listeners are watchers of the whole bucket.
#include <nats/nats.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"

static const char bucket[] = "bench";

static void check(const char *what, natsStatus status) {
  if (status != NATS_OK) give_up("jetstream: %s: %s", what, natsStatus_GetText(status));
}

static jsCtx *open_context(bool is_prompt) {
  char address[64];
  snprintf(address, sizeof address, "nats://%s:%d", options.host, options.port);
  natsOptions *choices = NULL;
  natsConnection *connection = NULL;
  natsOptions_Create(&choices);
  natsOptions_SetURL(choices, address);
  natsOptions_SetAllowReconnect(choices, false);
  natsOptions_SetSendAsap(choices, is_prompt);
  check("connect", natsConnection_Connect(&connection, choices));
  natsOptions_Destroy(choices);
  jsOptions how;
  jsOptions_Init(&how);
  // Past this many without an answer a put waits for room: the library keeps the window.
  how.PublishAsync.MaxPending = (int64_t)options.window;
  how.PublishAsync.StallWait = 20000;
  jsCtx *context = NULL;
  check("context", natsConnection_JetStream(&context, connection, &how));
  return context;
}

// The writer.

static jsCtx *writing;
static const char *const *subjects;
static uint64_t given;

static void connect_writer(void) {
  subjects = names_after("$KV.bench.");
  writing = open_context(options.rate > 0);
  kvConfig shape;
  kvConfig_Init(&shape);
  shape.Bucket = bucket;
  // The most it can: with fewer a watcher that is behind never hears of the values between.
  shape.History = 64;
  shape.StorageType = strcmp(options.grade, "file") == 0 ? js_FileStorage : js_MemoryStorage;
  kvStore *store = NULL;
  check("bucket", js_CreateKeyValue(&store, writing, &shape));
  kvStore_Destroy(store);
}

// What kvStore_Put does, without waiting for each answer.
static void put(unsigned field, const char *value, size_t length) {
  check("put", js_PublishAsync(writing, subjects[field], value, (int)length, NULL));
  given++;
}

static void flush(void) {}

// Without time to wait there is nothing to find out: the library keeps the window. With it, all answers are awaited.
static uint64_t receive(int milliseconds) {
  if (milliseconds > 0) {
    jsPubOptions how;
    jsPubOptions_Init(&how);
    how.MaxWait = 30000;
    check("end", js_PublishAsyncComplete(writing, &how));
  }
  return given;
}

// The listeners: a watcher hands over one entry a call, so each has a thread.

static kvWatcher *watching[MOST_SUBSCRIBERS];
static atomic_int prepared;

static void *watch(void *about) {
  int index = (int)(intptr_t)about;
  bool is_past_start = false;
  while (true) {
    kvEntry *entry = NULL;
    natsStatus status = kvWatcher_Next(&entry, watching[index], 60000);
    if (status == NATS_TIMEOUT) continue;
    check("watch", status);
    if (entry) {
      saw(index, kvEntry_Value(entry), (size_t)kvEntry_ValueLen(entry));
      kvEntry_Destroy(entry);
    } else if (!is_past_start) {
      // The bucket's content has been told; what follows is new.
      is_past_start = true;
      atomic_fetch_add(&prepared, 1);
    }
  }
  return NULL;
}

static void connect_listeners(void) {
  for (int index = 0; index < options.count; index++) {
    jsCtx *context = open_context(false);
    kvStore *store = NULL;
    check("bucket", js_KeyValue(&store, context, bucket));
    kvWatchOptions how;
    kvWatchOptions_Init(&how);
    check("watcher", kvStore_WatchAll(&watching[index], store, &how));
    pthread_t thread;
    pthread_create(&thread, NULL, watch, (void *)(intptr_t)index);
  }
  while (atomic_load(&prepared) < options.count) usleep(1000);
}

static void listen(int milliseconds) { usleep((useconds_t)milliseconds * 1000); }

int main(int argc, char **argv) {
  const struct writer writer = {connect_writer, put, flush, receive};
  const struct listener listener = {connect_listeners, listen};
  return run(argc, argv, &writer, &listener);
}
