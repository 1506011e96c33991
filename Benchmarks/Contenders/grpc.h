// gRPC as far as a client of etcd needs it: protobuf messages over HTTP/2, by nghttp2.
#pragma once

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "measure.h"

struct connection;
// What the client makes of a whole message, and of the end of a call.
static void see_message(struct connection *connection, const uint8_t *at, const uint8_t *end);
static void see_end(void);

// One call: what is still to be sent of its request.
struct call {
  uint8_t *bytes;
  size_t length, position;
  // A watch says nothing more but stays.
  bool stays;
};

// A connection with its HTTP/2 session; of a watch also what came of an answer that is not whole yet.
struct connection {
  int descriptor, index;
  nghttp2_session *session;
  uint8_t *answer;
  size_t length, room;
  bool is_watching;
  // Whether what comes is of interest.
  bool takes_messages;
};

// Protobuf: only the few fields that are needed.

static size_t put_number(uint8_t *place, uint64_t number) {
  size_t length = 0;
  for (; number >= 128; number >>= 7) place[length++] = (uint8_t)(number | 128);
  place[length++] = (uint8_t)number;
  return length;
}

static size_t put_bytes(uint8_t *place, unsigned field, const void *bytes, size_t length) {
  size_t at = put_number(place, field << 3 | 2);
  at += put_number(place + at, length);
  memcpy(place + at, bytes, length);
  return at + length;
}

// The next field of a message. Numbers are left in `number`; of bytes, `number` is the length and `*content` the place.
static bool next_field(const uint8_t **at, const uint8_t *end, unsigned *field, const uint8_t **content,
                       uint64_t *number) {
  uint64_t parts[2] = {0, 0};
  *content = NULL;
  if (*at >= end) return false;
  for (int part = 0; part < 2; part++) {
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
      uint8_t byte = *(*at)++;
      parts[part] |= (uint64_t)(byte & 127) << shift;
      if (byte < 128) break;
    }
  }
  *field = (unsigned)(parts[0] >> 3);
  *number = parts[1];
  if ((parts[0] & 7) != 2) return (parts[0] & 7) == 0;
  if (parts[1] > (uint64_t)(end - *at)) return false;
  *content = *at;
  *at += parts[1];
  return true;
}

// HTTP/2.

static ssize_t send_some(nghttp2_session *session, const uint8_t *bytes, size_t length, int flags, void *about) {
  (void)session, (void)flags;
  ssize_t count = send(((struct connection *)about)->descriptor, bytes, length, MSG_NOSIGNAL);
  if (count < 0 && errno == EAGAIN) return NGHTTP2_ERR_WOULDBLOCK;
  return count < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE : count;
}

static ssize_t read_request(nghttp2_session *session, int32_t stream, uint8_t *place, size_t most, uint32_t *flags,
                            nghttp2_data_source *source, void *about) {
  (void)session, (void)stream, (void)about;
  struct call *call = source->ptr;
  size_t rest = call->length - call->position, count = rest < most ? rest : most;
  if (count == 0 && call->stays) return NGHTTP2_ERR_DEFERRED;
  memcpy(place, call->bytes + call->position, count);
  call->position += count;
  if (call->position == call->length && !call->stays) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return (ssize_t)count;
}

// Sends a message as a call of this method.
static void start_call(struct connection *connection, const char *path, const uint8_t *message, size_t length,
                       bool stays) {
  struct call *call = malloc(sizeof *call + length + 5);
  if (!call) give_up("no memory");
  *call = (struct call){(uint8_t *)(call + 1), length + 5, 0, stays};
  uint8_t head[5] = {0, 0, (uint8_t)(length >> 16), (uint8_t)(length >> 8), (uint8_t)length};
  memcpy(call->bytes, head, 5);
  memcpy(call->bytes + 5, message, length);
#define HEADER(name, value) {(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), 0}
  const nghttp2_nv headers[] = {
      HEADER(":method", "POST"), HEADER(":scheme", "http"),       HEADER(":path", path), HEADER(":authority", "bench"),
      HEADER("te", "trailers"),  HEADER("content-type", "application/grpc"),
  };
  nghttp2_data_provider provider = {.source = {.ptr = call}, .read_callback = read_request};
  int stream = nghttp2_submit_request(connection->session, NULL, headers, 6, &provider, call);
  if (stream < 0) give_up("etcd: %s", nghttp2_strerror(stream));
}

static int take_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t length,
                     void *about) {
  (void)session, (void)flags, (void)stream;
  struct connection *connection = about;
  if (!connection->takes_messages) return 0;
  if (connection->length + length > connection->room) {
    connection->room = (connection->length + length) * 2;
    connection->answer = realloc(connection->answer, connection->room);
    if (!connection->answer) give_up("no memory");
  }
  memcpy(connection->answer + connection->length, bytes, length);
  connection->length += length;
  size_t done = 0;
  while (connection->length - done >= 5) {
    const uint8_t *head = connection->answer + done;
    size_t size = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
    if (connection->length - done - 5 < size) break;
    see_message(connection, head + 5, head + 5 + size);
    done += 5 + size;
  }
  connection->length -= done;
  memmove(connection->answer, connection->answer + done, connection->length);
  return 0;
}

static int take_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t name_length,
                       const uint8_t *value, size_t length, uint8_t flags, void *about) {
  (void)session, (void)frame, (void)flags, (void)about;
  if (name_length == 11 && !memcmp(name, "grpc-status", 11) && !(length == 1 && value[0] == '0'))
    give_up("etcd: refused with status %.*s", (int)length, (const char *)value);
  return 0;
}

static int end_call(nghttp2_session *session, int32_t stream, uint32_t code, void *about) {
  (void)about;
  if (code != 0) give_up("etcd: a call ended with %u", code);
  free(nghttp2_session_get_stream_user_data(session, stream));
  see_end();
  return 0;
}

static void turn(struct connection *connection) {
  uint8_t bytes[65536];
  while (true) {
    ssize_t count = recv(connection->descriptor, bytes, sizeof bytes, 0);
    if (count == 0) give_up("etcd: closed");
    if (count < 0) break;
    if (nghttp2_session_mem_recv(connection->session, bytes, (size_t)count) < 0) give_up("etcd: bad HTTP/2");
  }
  if (nghttp2_session_send(connection->session) != 0) give_up("etcd: cannot send");
}

static void open_connection(struct connection *connection, int index, bool takes_messages) {
  *connection = (struct connection){.descriptor = connect_tcp(), .index = index, .takes_messages = takes_messages};
  nghttp2_session_callbacks *calls = NULL;
  nghttp2_session_callbacks_new(&calls);
  nghttp2_session_callbacks_set_send_callback(calls, send_some);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, take_data);
  nghttp2_session_callbacks_set_on_header_callback(calls, take_header);
  nghttp2_session_callbacks_set_on_stream_close_callback(calls, end_call);
  nghttp2_session_client_new(&connection->session, calls, connection);
  nghttp2_session_callbacks_del(calls);
  const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 1 << 24}};
  nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings, 1);
  nghttp2_session_set_local_window_size(connection->session, NGHTTP2_FLAG_NONE, 0, 1 << 24);
  turn(connection);
}
