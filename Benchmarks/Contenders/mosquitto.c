// Mosquitto: each change is published retained, so that it is kept, with the quality of service that the grade names.
#include <mosquitto.h>
#include <poll.h>
#include <string.h>

#include "measure.h"

static int quality(void) { return strcmp(options.grade, "qos1") == 0 ? 1 : 0; }

static struct mosquitto *open_connection(void *about) {
  mosquitto_lib_init();
  struct mosquitto *client = mosquitto_new(NULL, true, about);
  mosquitto_int_option(client, MOSQ_OPT_TCP_NODELAY, 1);
  mosquitto_max_inflight_messages_set(client, (unsigned)options.window);
  return client;
}

static void connect_to_broker(struct mosquitto *client) {
  int code = mosquitto_connect(client, options.host, options.port, 60);
  if (code != MOSQ_ERR_SUCCESS) give_up("mosquitto: %s", mosquitto_strerror(code));
}

static void turn(struct mosquitto *client, int milliseconds) {
  int code = mosquitto_loop(client, milliseconds, 1);
  if (code != MOSQ_ERR_SUCCESS) give_up("mosquitto: %s", mosquitto_strerror(code));
}

// The writer. Without a quality of service nothing is acknowledged; what counts then is that it was written out.

static struct mosquitto *writing;
static bool is_connected;
static uint64_t acknowledged;
static const char *const *topics;

static void connected(struct mosquitto *client, void *about, int code) {
  (void)client, (void)about;
  if (code != 0) give_up("mosquitto: refused with %d", code);
  is_connected = true;
}

static void published(struct mosquitto *client, void *about, int number) {
  (void)client, (void)about, (void)number;
  acknowledged++;
}

static void connect_writer(void) {
  topics = names_after("bench/");
  writing = open_connection(NULL);
  mosquitto_connect_callback_set(writing, connected);
  mosquitto_publish_callback_set(writing, published);
  connect_to_broker(writing);
  while (!is_connected) turn(writing, 100);
}

static void put(unsigned field, const char *value, size_t length) {
  int code = mosquitto_publish(writing, NULL, topics[field], (int)length, value, quality(), true);
  if (code != MOSQ_ERR_SUCCESS) give_up("mosquitto: %s", mosquitto_strerror(code));
}

static void flush(void) {}

static uint64_t receive(int milliseconds) {
  uint64_t before = acknowledged;
  bool has_more = mosquitto_want_write(writing);
  if (wait_for(mosquitto_socket(writing), has_more ? POLLIN | POLLOUT : POLLIN, milliseconds)) {
    if (has_more) mosquitto_loop_write(writing, 1);
    // One call reads one packet.
    do {
      before = acknowledged;
      int code = mosquitto_loop_read(writing, 1);
      if (code != MOSQ_ERR_SUCCESS) give_up("mosquitto: %s", mosquitto_strerror(code));
    } while (acknowledged > before);
  }
  mosquitto_loop_misc(writing);
  return acknowledged;
}

// The listeners.

static struct mosquitto *listening[MOST_SUBSCRIBERS];
static struct pollfd entries[MOST_SUBSCRIBERS];
static int subscribed;
static uint64_t messages;

static void subscribe_when_connected(struct mosquitto *client, void *about, int code) {
  (void)about;
  if (code != 0 || mosquitto_subscribe(client, NULL, "bench/#", quality()) != MOSQ_ERR_SUCCESS)
    give_up("mosquitto: cannot subscribe");
}

static void confirmed(struct mosquitto *client, void *about, int number, int count, const int *granted) {
  (void)client, (void)about, (void)number, (void)count, (void)granted;
  subscribed++;
}

static void came(struct mosquitto *client, void *about, const struct mosquitto_message *message) {
  (void)client;
  messages++;
  saw((int)(intptr_t)about - 1, message->payload, (size_t)message->payloadlen);
}

static void listen(int milliseconds) {
  for (int index = 0; index < options.count; index++) {
    entries[index].events = POLLIN;
    if (mosquitto_want_write(listening[index])) entries[index].events |= POLLOUT;
  }
  if (poll(entries, (nfds_t)options.count, milliseconds) <= 0) return;
  for (int index = 0; index < options.count; index++) {
    if (entries[index].revents & POLLOUT) mosquitto_loop_write(listening[index], 1);
    uint64_t before = 0;
    for (int most = 1000; entries[index].revents & POLLIN && most > 0; most--) {
      before = messages;
      int code = mosquitto_loop_read(listening[index], 1);
      if (code != MOSQ_ERR_SUCCESS) give_up("mosquitto: %s", mosquitto_strerror(code));
      if (messages == before) break;
    }
    mosquitto_loop_misc(listening[index]);
  }
}

static void connect_listeners(void) {
  for (int index = 0; index < options.count; index++) {
    // Not from 0: nothing given means the client itself.
    listening[index] = open_connection((void *)(intptr_t)(index + 1));
    mosquitto_connect_callback_set(listening[index], subscribe_when_connected);
    mosquitto_subscribe_callback_set(listening[index], confirmed);
    mosquitto_message_callback_set(listening[index], came);
    connect_to_broker(listening[index]);
    entries[index] = (struct pollfd){mosquitto_socket(listening[index]), POLLIN, 0};
    while (subscribed <= index) turn(listening[index], 100);
  }
}

int main(int argc, char **argv) {
  const struct writer writer = {connect_writer, put, flush, receive};
  const struct listener listener = {connect_listeners, listen};
  return run(argc, argv, &writer, &listener);
}
