/* Loaded before libzmq: drops the authentication domain of sockets of one kind, as a mistake in the settings would, and
   as an older libzmq does without a word. LEAKY_KIND is the number of the kind: 6 a ROUTER, 9 an XPUB. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#define ZMQ_TYPE 16
#define ZMQ_ZAP_DOMAIN 55

int zmq_getsockopt(void *socket, int option, void *value, size_t *size);

int zmq_setsockopt(void *socket, int option, const void *value, size_t size) {
  static int (*real)(void *, int, const void *, size_t);
  if (!real) real = (int (*)(void *, int, const void *, size_t))dlsym(RTLD_NEXT, "zmq_setsockopt");
  int kind = 0;
  size_t length = sizeof kind;
  const char *leaky = getenv("LEAKY_KIND");
  if (option == ZMQ_ZAP_DOMAIN && leaky && zmq_getsockopt(socket, ZMQ_TYPE, &kind, &length) == 0 &&
      kind == atoi(leaky))
    return 0;
  return real(socket, option, value, size);
}
