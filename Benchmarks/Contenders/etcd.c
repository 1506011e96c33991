// etcd: each change is a Put of its key, listeners are watches of all keys; both in etcd's own protocol (gRPC, which is
// protobuf messages over HTTP/2), not through its JSON gateway, which would do a part of the work twice.
//
// With the grade "append" changes are appended to a log as hubs append them that share one: one transaction under way,
// on condition that nobody else has written; it has a head of 18 bytes, and as one record all changes that came
// meanwhile. It orders and checks nothing.
#include <poll.h>

#include "grpc.h"
#include "measure.h"

static uint64_t acknowledged;

// The record that waits, and how many changes are in it and in the transaction under way.
enum { RECORD_ROOM = 1 << 20, HEAD_BYTES = 18, CHANGE_OVERHEAD = 12 };
static bool appends;
static uint8_t record[RECORD_ROOM];
static size_t record_length;
static uint64_t waiting, under_way, record_number, head_revision;

static void send_record(void);

static void see_event(int index, const uint8_t *at, const uint8_t *end) {
  unsigned field;
  uint64_t number;
  const uint8_t *content, *entry;
  while (next_field(&at, end, &field, &entry, &number)) {
    if (field != 2 || !entry) continue;
    const uint8_t *inside = entry, *entry_end = entry + number;
    while (next_field(&inside, entry_end, &field, &content, &number)) {
      if (field != 5 || !content) continue;
      if (!appends) saw(index, (const char *)content, (size_t)number);
      // Of a record, each change; the head is shorter than one.
      size_t size = CHANGE_OVERHEAD + options.bytes;
      for (size_t place = 0; appends && place + size <= number; place += size)
        saw(index, (const char *)content + place + CHANGE_OVERHEAD, options.bytes);
    }
  }
}

static void see_answer(struct connection *connection, const uint8_t *at, const uint8_t *end) {
  unsigned field;
  uint64_t number;
  const uint8_t *content;
  while (next_field(&at, end, &field, &content, &number)) {
    if (field == 3 && number) connection->is_watching = true;
    if (field == 4 && number) give_up("etcd: the watch was cancelled");
    if (field == 11 && content) see_event(connection->index, content, content + number);
  }
}

// What became of a transaction.
static void see_transaction(const uint8_t *at, const uint8_t *end) {
  unsigned field;
  uint64_t number;
  const uint8_t *content;
  bool succeeded = false;
  while (next_field(&at, end, &field, &content, &number)) {
    if (field == 2) succeeded = number;
    if (field != 1 || !content) continue;
    const uint8_t *inside = content, *header_end = content + number;
    while (next_field(&inside, header_end, &field, &content, &number)) {
      if (field == 3) head_revision = number;
    }
  }
  if (!succeeded) give_up("etcd: somebody else wrote");
}
static void see_message(struct connection *connection, const uint8_t *at, const uint8_t *end) {
  if (connection->index < 0) {
    see_transaction(at, end);
  } else {
    see_answer(connection, at, end);
  }
}

static void see_end(void) {
  if (!appends) {
    acknowledged++;
    return;
  }
  acknowledged += under_way;
  under_way = 0;
  if (waiting) send_record();
}

// The writer.

static struct connection writing;
static const char *const *names;

// The waiting changes as one record, on condition that the head is as it was.
static void send_record(void) {
  static uint8_t message[RECORD_ROOM + 512], inner[RECORD_ROOM + 256];
  static const char head_name[] = "bench/m/model", record_name[] = "bench/r/model";
  const uint8_t head[HEAD_BYTES] = {0};
  uint8_t key[sizeof record_name + 8];
  memcpy(key, record_name, sizeof record_name);
  record_number++;
  for (int byte = 0; byte < 8; byte++) key[sizeof record_name + byte] = (uint8_t)(record_number >> (56 - 8 * byte));

  // Compare: result EQUAL is 0 and left out, target MOD is 2.
  size_t length = put_number(inner, 2 << 3);
  length += put_number(inner + length, 2);
  length += put_bytes(inner + length, 3, head_name, sizeof head_name);
  length += put_number(inner + length, 6 << 3);
  length += put_number(inner + length, head_revision);
  size_t at = put_bytes(message, 1, inner, length);

  struct {
    const void *key, *value;
    size_t key_length, value_length;
  } puts[] = {{head_name, head, sizeof head_name, HEAD_BYTES}, {key, record, sizeof key, record_length}};
  for (int number = 0; number < 2; number++) {
    length = put_bytes(inner, 1, puts[number].key, puts[number].key_length);
    length += put_bytes(inner + length, 2, puts[number].value, puts[number].value_length);
    // An operation of the successes, which is a put.
    uint8_t start[24];
    size_t start_length = put_number(start, 2 << 3 | 2);
    start_length += put_number(start + start_length, length);
    at += put_number(message + at, 2 << 3 | 2);
    at += put_number(message + at, start_length + length);
    memcpy(message + at, start, start_length);
    memcpy(message + at + start_length, inner, length);
    at += start_length + length;
  }
  start_call(&writing, "/etcdserverpb.KV/Txn", message, at, false);
  under_way = waiting;
  waiting = record_length = 0;
}

static void connect_writer(void) {
  names = names_after("");
  open_connection(&writing, -1, appends);
}

static void put(unsigned field, const char *value, size_t length) {
  uint8_t message[70000];
  if (length > 65536) give_up("etcd: a value of %zu bytes", length);
  if (appends) {
    if (record_length + CHANGE_OVERHEAD + length > RECORD_ROOM) give_up("etcd: a record that is too long");
    memset(record + record_length, 0, CHANGE_OVERHEAD);
    memcpy(record + record_length, &field, sizeof field);
    memcpy(record + record_length + CHANGE_OVERHEAD, value, length);
    record_length += CHANGE_OVERHEAD + length;
    waiting++;
    return;
  }
  size_t at = put_bytes(message, 1, names[field], strlen(names[field]));
  at += put_bytes(message + at, 2, value, length);
  start_call(&writing, "/etcdserverpb.KV/Put", message, at, false);
}

static void flush(void) {
  if (appends && waiting && !under_way) send_record();
  if (nghttp2_session_send(writing.session) != 0) give_up("etcd: cannot send");
}

static uint64_t receive(int milliseconds) {
  bool is_full = nghttp2_session_want_write(writing.session);
  wait_for(writing.descriptor, is_full ? POLLIN | POLLOUT : POLLIN, milliseconds);
  turn(&writing);
  return acknowledged;
}

// The listeners.

static struct connection listening[MOST_SUBSCRIBERS];
static struct pollfd entries[MOST_SUBSCRIBERS];

static void listen_for(int milliseconds) {
  if (poll(entries, (nfds_t)options.count, milliseconds) <= 0) return;
  for (int index = 0; index < options.count; index++) {
    if (entries[index].revents) turn(&listening[index]);
  }
}

static void connect_listeners(void) {
  // All keys: from the byte 0 on, without an end.
  uint8_t inner[16], message[32];
  size_t length = put_bytes(inner, 1, "\0", 1);
  length += put_bytes(inner + length, 2, "\0", 1);
  length = put_bytes(message, 1, inner, length);
  for (int index = 0; index < options.count; index++) {
    open_connection(&listening[index], index, true);
    entries[index] = (struct pollfd){listening[index].descriptor, POLLIN, 0};
    start_call(&listening[index], "/etcdserverpb.Watch/Watch", message, length, true);
    for (int tries = 0; !listening[index].is_watching; tries++) {
      if (tries > 500) give_up("etcd: no watch");
      turn(&listening[index]);
      wait_for(listening[index].descriptor, POLLIN, 10);
    }
  }
}

int main(int argc, char **argv) {
  const struct writer writer = {connect_writer, put, flush, receive};
  const struct listener listener = {connect_listeners, listen_for};
  for (int word = 1; word + 1 < argc; word++) {
    if (!strcmp(argv[word], "--grade")) appends = !strcmp(argv[word + 1], "append");
  }
  return run(argc, argv, &writer, &listener);
}
