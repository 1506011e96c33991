// Redis: each change is SET, so that it is kept, and PUBLISH on a channel of the key's name, both in one pipeline.
#include <hiredis/hiredis.h>
#include <poll.h>
#include <string.h>

#include "measure.h"

static redisContext *open_connection(void) {
  redisContext *context = redisConnectNonBlock(options.host, options.port);
  if (!context || context->err) give_up("redis: cannot connect");
  if (!wait_for(context->fd, POLLOUT, 5000)) give_up("redis: no answer");
  return context;
}

static void write_all(redisContext *context) {
  int done = 0;
  while (!done) {
    if (redisBufferWrite(context, &done) != REDIS_OK) give_up("redis: %s", context->errstr);
    if (!done) wait_for(context->fd, POLLOUT, 1000);
  }
}

// The writer.

static redisContext *writing;
static uint64_t answers;

static void connect_writer(void) { writing = open_connection(); }

static void put(unsigned field, const char *value, size_t length) {
  const char *name = field_names[field];
  size_t lengths[] = {3, strlen(name), length};
  redisAppendCommandArgv(writing, 3, (const char *[]){"SET", name, value}, lengths);
  lengths[0] = 7;
  redisAppendCommandArgv(writing, 3, (const char *[]){"PUBLISH", name, value}, lengths);
}

static void flush(void) { write_all(writing); }

static uint64_t hear(int milliseconds) {
  if (wait_for(writing->fd, POLLIN, milliseconds)) {
    if (redisBufferRead(writing) != REDIS_OK) give_up("redis: %s", writing->errstr);
    void *reply = NULL;
    while (redisGetReplyFromReader(writing, &reply) == REDIS_OK && reply) {
      if (((redisReply *)reply)->type == REDIS_REPLY_ERROR) give_up("redis: %s", ((redisReply *)reply)->str);
      freeReplyObject(reply);
      answers++;
    }
  }
  return answers / 2;
}

// The listeners.

static redisContext *listening[MOST_SUBSCRIBERS];
static struct pollfd entries[MOST_SUBSCRIBERS];
static int confirmed;

static void read_from(int index) {
  if (redisBufferRead(listening[index]) != REDIS_OK) give_up("redis: %s", listening[index]->errstr);
  void *any = NULL;
  while (redisGetReplyFromReader(listening[index], &any) == REDIS_OK && any) {
    redisReply *reply = any;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 3) {
      if (reply->element[0]->str[0] == 'm') {
        saw(index, reply->element[2]->str, (size_t)reply->element[2]->len);
      } else {
        confirmed++;
      }
    }
    freeReplyObject(reply);
  }
}

static void listen(int milliseconds) {
  if (poll(entries, (nfds_t)options.count, milliseconds) <= 0) return;
  for (int index = 0; index < options.count; index++) {
    if (entries[index].revents) read_from(index);
  }
}

static void connect_listeners(void) {
  const char *words[FIELDS + 1] = {"SUBSCRIBE"};
  for (int field = 0; field < FIELDS; field++) words[field + 1] = field_names[field];
  for (int index = 0; index < options.count; index++) {
    listening[index] = open_connection();
    entries[index] = (struct pollfd){listening[index]->fd, POLLIN, 0};
    redisAppendCommandArgv(listening[index], FIELDS + 1, words, NULL);
    write_all(listening[index]);
  }
  while (confirmed < options.count * FIELDS) listen(1000);
}

int main(int argc, char **argv) {
  const struct writer writer = {connect_writer, put, flush, hear};
  const struct listener listener = {connect_listeners, listen};
  return run(argc, argv, &writer, &listener);
}
