// What every contender's client shares: the command line, the value that travels, the pace of the writer, and the
// figures. A client is one file that says how its server is written to and listened to.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_SUBSCRIBERS = 256 };

struct options {
  const char *host;
  int port;
  // What the contender is asked to promise, in its own words: "qos0", "file" and so on.
  const char *grade;
  // Bytes of a value, at least 32.
  size_t bytes;
  // Changes go to this many keys in turn.
  unsigned fields;
  // Changes that are handed over together.
  int batch;
  double seconds;
  // Changes a second; 0: as fast as `window` allows.
  double rate;
  // Changes that may be unacknowledged.
  uint64_t window;
  // Connections that listen.
  int count;
};

extern struct options options;

// The names of all keys, "f0" and so on, each after this text; they stay until the program ends.
const char *const *names_after(const char *text);

// How a writer reaches its server. Each function ends the program with a word when the server does not answer.
struct writer {
  void (*connect)(void);
  // Takes one change; it may stay in a buffer until `flush`.
  void (*put)(unsigned field, const char *value, size_t length);
  void (*flush)(void);
  // Reads what came in; waits at most so long for something, and says how many changes are acknowledged so far.
  uint64_t (*receive)(int milliseconds);
};

// How listeners reach their server: `options.count` connections, each hears every change.
struct listener {
  // Returns when all of them will hear whatever is written from now on.
  void (*connect)(void);
  // Listens for at most so long and calls `saw` for each change; one that listens in threads of its own only waits.
  void (*listen)(int milliseconds);
};

// Connection `index` has got this value. Calls for one index come from one thread at a time.
void saw(int index, const char *value, size_t length);

// Reads the command line from its third word on.
void read_options(int argc, char **argv);
// Nanoseconds of the clock that all processes of this machine share.
uint64_t now(void);

int run(int argc, char **argv, const struct writer *writer, const struct listener *listener);

// A TCP connection without delay; not blocking.
int connect_tcp(void);
// Whether there is something to read (or to write) within so long.
bool wait_for(int descriptor, short what, int milliseconds);
_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));
