#include "measure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct options options = {
    .host = "127.0.0.1", .grade = "", .bytes = 32, .fields = 16, .batch = 1, .seconds = 1, .window = 1024, .count = 1};

// A value is a JSON string, the same for every contender: a quote, 16 digits of time, 10 of the change's number,
// 'e' if it is the last one, filler, a quote.
enum { TIME_AT = 1, TIME_DIGITS = 16, NUMBER_AT = 17, NUMBER_DIGITS = 10, MARK_AT = 27, LEAST_BYTES = 32 };
enum { CLOCKED = 16 };  // of so many changes the time of one is taken where only their number counts
static const uint64_t offset = 1000000000000000;
// Nothing came for so long after something did: whoever still waits has missed the last change.
static const uint64_t silence = 3000000000;
static const uint64_t timeout = 60000000000;

_Noreturn void give_up(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  _exit(1);
}

// In 16 digits.
uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return offset + ((uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec) % offset;
}

static void sleep_until(uint64_t moment) {
  uint64_t present = now();
  if (moment <= present) return;
  struct timespec rest = {(time_t)((moment - present) / 1000000000), (long)((moment - present) % 1000000000)};
  nanosleep(&rest, NULL);
}

static void write_digits(char *place, int digits, uint64_t number) {
  for (int at = digits - 1; at >= 0; at--, number /= 10) place[at] = (char)('0' + number % 10);
}

static uint64_t read_digits(const char *place, int digits) {
  uint64_t number = 0;
  for (int at = 0; at < digits; at++) number = number * 10 + (uint64_t)(place[at] - '0');
  return number;
}

const char *const *names_after(const char *text) {
  size_t room = strlen(text) + 12;
  char *places = malloc(options.fields * room);
  const char **names = malloc(options.fields * sizeof *names);
  if (!places || !names) give_up("no memory");
  for (unsigned field = 0; field < options.fields; field++) {
    snprintf(places + field * room, room, "%sf%u", text, field);
    names[field] = places + field * room;
  }
  return names;
}

// The writer.

static char *value;
static uint64_t sent;

static void put(const struct writer *writer, uint64_t time, bool is_last) {
  write_digits(value + TIME_AT, TIME_DIGITS, time);
  write_digits(value + NUMBER_AT, NUMBER_DIGITS, ++sent);
  value[MARK_AT] = is_last ? 'e' : 'x';
  writer->put((unsigned)(sent % options.fields), value, options.bytes);
}

static void write_in_time(const struct writer *writer, uint64_t start) {
  uint64_t count = (uint64_t)(options.rate * options.seconds);
  while (sent < count) {
    uint64_t due = start + (uint64_t)((double)sent * 1e9 / options.rate);
    sleep_until(due);
    uint64_t present = now();
    // A change carries the time at which it was due, so a writer that is held up cannot hide that.
    while (sent < count && due <= present && sent - writer->receive(0) < options.window) {
      put(writer, due, false);
      writer->flush();
      due = start + (uint64_t)((double)sent * 1e9 / options.rate);
    }
    if (sent - writer->receive(0) >= options.window) writer->receive(1);
  }
}

static void write_in_haste(const struct writer *writer, uint64_t start) {
  uint64_t end = start + (uint64_t)(options.seconds * 1e9);
  uint64_t acknowledged = 0;
  while (now() < end) {
    for (int room = 64; room > 0 && sent - acknowledged + (uint64_t)options.batch <= options.window; room--) {
      for (int change = 0; change < options.batch; change++) put(writer, now(), false);
      writer->flush();
    }
    bool is_full = sent - acknowledged + (uint64_t)options.batch > options.window;
    acknowledged = writer->receive(is_full ? 1000 : 0);
  }
}

static void wait_for_all(const struct writer *writer) {
  uint64_t begun = now();
  while (writer->receive(100) < sent) {
    if (now() > begun + timeout) give_up("not all changes were acknowledged");
  }
}

static int publish(const struct writer *writer) {
  value = malloc(options.bytes);
  memset(value, 'x', options.bytes);
  value[0] = value[options.bytes - 1] = '"';
  writer->connect();
  puts("ready");
  fflush(stdout);
  if (getchar() == EOF) return 1;
  uint64_t start = now();
  if (options.rate > 0) {
    write_in_time(writer, start);
  } else {
    write_in_haste(writer, start);
  }
  // Only then the last one: a server that works on several at once may otherwise tell of it before others.
  wait_for_all(writer);
  put(writer, now(), true);
  writer->flush();
  wait_for_all(writer);
  printf("{\"sent\":%llu,\"seconds\":%.6f}\n", (unsigned long long)sent, (double)(now() - start) / 1e9);
  return 0;
}

// The listeners.

struct seen {
  uint64_t count;
  // When the first came, when the last one came whose time was taken, and how many had come then.
  uint64_t first, last, clocked;
  // The number of the last change: how many there are. 0 until it came.
  uint64_t expected;
  uint32_t *delays;
  size_t delay_count, delay_room;
} __attribute__((aligned(128)));
static struct seen seen[MOST_SUBSCRIBERS];
static atomic_int finished;

static void note_delay(struct seen *mine, uint64_t delay) {
  if (mine->delay_count == mine->delay_room) {
    mine->delay_room = mine->delay_room ? mine->delay_room * 2 : 4096;
    mine->delays = realloc(mine->delays, mine->delay_room * sizeof *mine->delays);
    if (!mine->delays) give_up("no memory");
  }
  mine->delays[mine->delay_count++] = delay > UINT32_MAX ? UINT32_MAX : (uint32_t)delay;
}

void saw(int index, const char *text, size_t length) {
  if (length < LEAST_BYTES) return;
  struct seen *mine = &seen[index];
  mine->count++;
  // The last change is outside the pace and not measured.
  if (text[MARK_AT] == 'e') {
    mine->expected = read_digits(text + NUMBER_AT, NUMBER_DIGITS);
    atomic_fetch_add(&finished, 1);
    return;
  }
  // Reading the clock must not be what is measured.
  if (options.rate == 0 && mine->count % CLOCKED != 1) return;
  uint64_t present = now();
  if (!mine->first) mine->first = present;
  mine->last = present;
  mine->clocked = mine->count;
  if (options.rate > 0) {
    uint64_t written = read_digits(text + TIME_AT, TIME_DIGITS);
    note_delay(mine, present > written ? present - written : 0);
  }
}

static int in_order(const void *one, const void *other) {
  uint32_t left = *(const uint32_t *)one, right = *(const uint32_t *)other;
  return (left > right) - (left < right);
}

static void report_delays(void) {
  size_t count = 0;
  for (int index = 0; index < options.count; index++) count += seen[index].delay_count;
  if (count == 0) return;
  uint32_t *all = malloc(count * sizeof *all);
  size_t at = 0;
  for (int index = 0; index < options.count; index++) {
    memcpy(all + at, seen[index].delays, seen[index].delay_count * sizeof *all);
    at += seen[index].delay_count;
  }
  qsort(all, count, sizeof *all, in_order);
  static const struct {
    const char *name;
    double share;
  } parts[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}};
  for (size_t part = 0; part < sizeof parts / sizeof *parts; part++) {
    size_t place = (size_t)(parts[part].share * (double)count);
    printf(",\"%s\":%.3f", parts[part].name, all[place < count ? place : count - 1] / 1e3);
  }
  printf(",\"samples\":%zu", count);
}

static int subscribe(const struct listener *listener) {
  listener->connect();
  puts("ready");
  fflush(stdout);
  uint64_t begun = now();
  while (atomic_load(&finished) < options.count) {
    listener->listen(100);
    uint64_t latest = 0;
    for (int index = 0; index < options.count; index++) latest = seen[index].last > latest ? seen[index].last : latest;
    if (latest ? now() > latest + silence : now() > begun + timeout) break;
  }
  uint64_t least = UINT64_MAX, expected = 0;
  double rate = 0;
  for (int index = 0; index < options.count; index++) {
    const struct seen *mine = &seen[index];
    if (mine->expected > expected) expected = mine->expected;
    if (mine->count >= least) continue;
    least = mine->count;
    rate = mine->last > mine->first ? (double)(mine->clocked - 1) / ((double)(mine->last - mine->first) / 1e9) : 0;
  }
  printf("{\"least\":%llu,\"expected\":%llu,\"rate\":%.1f", (unsigned long long)least, (unsigned long long)expected,
         rate);
  report_delays();
  puts("}");
  fflush(stdout);
  // Threads of a client library may still be listening.
  _exit(0);
}

// Connections.

bool wait_for(int descriptor, short what, int milliseconds) {
  struct pollfd entry = {descriptor, what, 0};
  return poll(&entry, 1, milliseconds) > 0;
}

int connect_tcp(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options.port)};
  int descriptor = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
  if (inet_pton(AF_INET, options.host, &address.sin_addr) != 1) give_up("%s is no address", options.host);
  if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) give_up("connect: %s", strerror(errno));
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  fcntl(descriptor, F_SETFL, O_NONBLOCK);
  return descriptor;
}

// The command line.

static const char usage[] =
    "usage: publish|subscribe --port N [--host A] [--grade TEXT] [--bytes N] [--fields N] [--batch N] [--seconds S]\n"
    "       [--rate R] [--window N] [--count N]\n";

void read_options(int argc, char **argv) {
  for (int at = 2; at + 1 < argc; at += 2) {
    const char *name = argv[at], *text = argv[at + 1];
    if (!strcmp(name, "--host")) options.host = text;
    else if (!strcmp(name, "--port")) options.port = atoi(text);
    else if (!strcmp(name, "--grade")) options.grade = text;
    else if (!strcmp(name, "--bytes")) options.bytes = (size_t)atol(text);
    else if (!strcmp(name, "--fields")) options.fields = (unsigned)atol(text);
    else if (!strcmp(name, "--batch")) options.batch = atoi(text);
    else if (!strcmp(name, "--seconds")) options.seconds = atof(text);
    else if (!strcmp(name, "--rate")) options.rate = atof(text);
    else if (!strcmp(name, "--window")) options.window = (uint64_t)atol(text);
    else if (!strcmp(name, "--count")) options.count = atoi(text);
    else give_up("unknown option %s\n%s", name, usage);
  }
  if (options.port <= 0 || options.bytes < LEAST_BYTES || options.fields < 1 || options.batch < 1 ||
      options.count < 1 || options.count > MOST_SUBSCRIBERS)
    give_up("%s", usage);
}

int run(int argc, char **argv, const struct writer *writer, const struct listener *listener) {
  if (argc < 2) give_up("%s", usage);
  read_options(argc, argv);
  // A client whose queue grows without end is ended; it must not take the machine with it.
  struct rlimit limit = {(rlim_t)4 << 30, (rlim_t)4 << 30};
  setrlimit(RLIMIT_AS, &limit);
  if (!strcmp(argv[1], "publish")) return publish(writer);
  if (!strcmp(argv[1], "subscribe")) return subscribe(listener);
  give_up("%s", usage);
}
