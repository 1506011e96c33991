// NATS core: each change is published on a subject of its own key. Nothing is kept and nothing acknowledged; a second
// thread asks the server, again and again, how far it has read, so that the writer cannot run ahead without end.
#include <nats/nats.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"

static natsConnection *open_connection(bool is_prompt) {
  char address[64];
  snprintf(address, sizeof address, "nats://%s:%d", options.host, options.port);
  natsOptions *choices = NULL;
  natsConnection *connection = NULL;
  natsOptions_Create(&choices);
  natsOptions_SetURL(choices, address);
  natsOptions_SetAllowReconnect(choices, false);
  natsOptions_UseGlobalMessageDelivery(choices, true);
  // Where delay counts, without waiting for more; where amount counts, with the library's own buffer.
  natsOptions_SetSendAsap(choices, is_prompt);
  natsStatus status = natsConnection_Connect(&connection, choices);
  if (status != NATS_OK) give_up("nats: %s", natsStatus_GetText(status));
  natsOptions_Destroy(choices);
  return connection;
}

// The writer.

static natsConnection *writing;
static atomic_uint_fast64_t given, taken;
static const char *const *subjects;

static void *ask(void *nothing) {
  while (true) {
    uint64_t before = atomic_load(&given);
    if (before == atomic_load(&taken)) {
      usleep(50);
      continue;
    }
    natsStatus status = natsConnection_FlushTimeout(writing, 10000);
    if (status != NATS_OK) give_up("nats: %s", natsStatus_GetText(status));
    atomic_store(&taken, before);
  }
  return nothing;
}

static void connect_writer(void) {
  subjects = names_after("bench.");
  writing = open_connection(options.rate > 0);
  pthread_t thread;
  if (options.rate == 0) pthread_create(&thread, NULL, ask, NULL);
}

static void put(unsigned field, const char *value, size_t length) {
  natsStatus status = natsConnection_Publish(writing, subjects[field], value, (int)length);
  if (status != NATS_OK) give_up("nats: %s", natsStatus_GetText(status));
  atomic_fetch_add(&given, 1);
}

static void flush(void) {}

static uint64_t receive(int milliseconds) {
  // At a given pace nobody asks how far the server is: that would be work which the pace does not need.
  if (options.rate > 0) return atomic_load(&given);
  for (int turn = 0; turn < milliseconds * 20 && atomic_load(&given) > atomic_load(&taken) + options.window / 2; turn++)
    usleep(50);
  return atomic_load(&taken);
}

// The listeners; the library has a thread for each connection and one that delivers.

static void came(natsConnection *connection, natsSubscription *subscription, natsMsg *message, void *about) {
  (void)connection, (void)subscription;
  saw((int)(intptr_t)about, natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message));
  natsMsg_Destroy(message);
}

static void connect_listeners(void) {
  for (int index = 0; index < options.count; index++) {
    natsConnection *connection = open_connection(false);
    natsSubscription *subscription = NULL;
    natsStatus status = natsConnection_Subscribe(&subscription, connection, "bench.*", came, (void *)(intptr_t)index);
    if (status == NATS_OK) status = natsSubscription_SetPendingLimits(subscription, -1, -1);
    if (status == NATS_OK) status = natsConnection_FlushTimeout(connection, 5000);
    if (status != NATS_OK) give_up("nats: %s", natsStatus_GetText(status));
  }
}

static void listen(int milliseconds) { usleep((useconds_t)milliseconds * 1000); }

int main(int argc, char **argv) {
  const struct writer writer = {connect_writer, put, flush, receive};
  const struct listener listener = {connect_listeners, listen};
  nats_Open(-1);
  nats_SetMessageDeliveryPoolSize(1);
  return run(argc, argv, &writer, &listener);
}
