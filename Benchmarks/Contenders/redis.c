// Redis: each change is SET, so that it is kept, and PUBLISH on a channel of the key's name, both in one pipeline.
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
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
static const char *const *names;
static uint64_t answers;

static void connect_writer(void) {
  names = names_after("");
  writing = open_connection();
}

static void put(unsigned field, const char *value, size_t length) {
  const char *name = names[field];
  size_t lengths[] = {3, strlen(name), length};
  redisAppendCommandArgv(writing, 3, (const char *[]){"SET", name, value}, lengths);
  lengths[0] = 7;
  redisAppendCommandArgv(writing, 3, (const char *[]){"PUBLISH", name, value}, lengths);
}

static void flush(void) { write_all(writing); }

static uint64_t receive(int milliseconds) {
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
static uint64_t confirmed;

static void read_from(int index) {
  if (redisBufferRead(listening[index]) != REDIS_OK) give_up("redis: %s", listening[index]->errstr);
  void *any = NULL;
  while (redisGetReplyFromReader(listening[index], &any) == REDIS_OK && any) {
    redisReply *reply = any;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements >= 3) {
      const redisReply *last = reply->element[reply->elements - 1];
      // "message" or "pmessage"; what confirms a subscription ends with a number.
      if (last->type == REDIS_REPLY_STRING) {
        saw(index, last->str, (size_t)last->len);
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
  // Past so many channels one pattern for all of them is less work for Redis.
  enum { MOST_CHANNELS = 1000 };
  bool is_pattern = options.fields > MOST_CHANNELS;
  unsigned count = is_pattern ? 1 : options.fields;
  const char *words[MOST_CHANNELS + 1] = {is_pattern ? "PSUBSCRIBE" : "SUBSCRIBE", "f*"};
  if (!is_pattern) memcpy(words + 1, names_after(""), count * sizeof *words);
  for (int index = 0; index < options.count; index++) {
    listening[index] = open_connection();
    entries[index] = (struct pollfd){listening[index]->fd, POLLIN, 0};
    redisAppendCommandArgv(listening[index], (int)count + 1, words, NULL);
    write_all(listening[index]);
  }
  while (confirmed < (uint64_t)options.count * count) listen(1000);
}

// One hash with many fields, and how long it takes until all of it is here, from before the connection on.

static redisContext *open_blocking(void) {
  redisContext *context = redisConnect(options.host, options.port);
  if (!context || context->err) give_up("redis: cannot connect");
  return context;
}

static redisReply *reply_of(redisContext *context) {
  void *reply = NULL;
  if (redisGetReply(context, &reply) != REDIS_OK) give_up("redis: %s", context->errstr);
  if (((redisReply *)reply)->type == REDIS_REPLY_ERROR) give_up("redis: %s", ((redisReply *)reply)->str);
  return reply;
}

static int fill(void) {
  // So many fields are set by one command.
  enum { STEP = 500 };
  const char *words[2 + 2 * STEP] = {"HSET", "large"};
  size_t lengths[2 + 2 * STEP] = {4, 5};
  char *value = malloc(options.bytes);
  memset(value, 'x', options.bytes);
  value[0] = value[options.bytes - 1] = '"';
  redisContext *context = open_blocking();
  names = names_after("");
  for (unsigned first = 0; first < options.fields; first += STEP) {
    unsigned count = options.fields - first < STEP ? options.fields - first : STEP;
    for (unsigned at = 0; at < count; at++) {
      words[2 + 2 * at] = names[first + at];
      lengths[2 + 2 * at] = strlen(names[first + at]);
      words[3 + 2 * at] = value;
      lengths[3 + 2 * at] = options.bytes;
    }
    redisAppendCommandArgv(context, (int)(2 + 2 * count), words, lengths);
    freeReplyObject(reply_of(context));
  }
  puts("ready");
  return 0;
}

static int snapshot(void) {
  puts("ready");
  fflush(stdout);
  if (getchar() == EOF) return 1;
  uint64_t start = now();
  redisContext *context = open_blocking();
  redisAppendCommand(context, "HGETALL large");
  redisReply *all = reply_of(context);
  double milliseconds = (double)(now() - start) / 1e6;
  if (all->elements / 2 != options.fields) give_up("redis: %zu fields came", all->elements / 2);
  printf("{\"snapshot\":%.3f,\"fields\":%zu}\n", milliseconds, all->elements / 2);
  return 0;
}

int main(int argc, char **argv) {
  bool fills = argc > 1 && !strcmp(argv[1], "fill");
  if (fills || (argc > 1 && !strcmp(argv[1], "snapshot"))) {
    read_options(argc, argv);
    return fills ? fill() : snapshot();
  }
  const struct writer writer = {connect_writer, put, flush, receive};
  const struct listener listener = {connect_listeners, listen};
  return run(argc, argv, &writer, &listener);
}
