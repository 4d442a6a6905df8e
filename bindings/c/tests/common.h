/* What all tests use. */
#ifndef COMMON_H
#define COMMON_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long cases;

/* Ends the test if `good` is 0; says which case it was. */
#define CHECK(good, ...)                                                                                               \
  do {                                                                                                                 \
    cases++;                                                                                                           \
    if (!(good)) {                                                                                                     \
      fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #good);                                                       \
      fprintf(stderr, __VA_ARGS__);                                                                                    \
      fprintf(stderr, "\n");                                                                                           \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

/* The same numbers at each run. */
static uint64_t random_state = 88172645463325252u;

static inline uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static inline size_t below(size_t limit) { return (size_t)(next_random() % limit); }

static inline uint8_t *random_bytes(size_t len) {
  uint8_t *bytes = (uint8_t *)malloc(len + 1);
  size_t i;
  if (bytes == NULL) {
    fprintf(stderr, "there is no memory for %lu bytes\n", (unsigned long)len);
    exit(1);
  }
  for (i = 0; i < len; i++)
    bytes[i] = (uint8_t)next_random();
  return bytes;
}

#endif
