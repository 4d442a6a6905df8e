/* libblake3 and libtreewide next to BLAKE3's C library with its assembly, in one process: make -s bench.
 *
 * Prints samples as lines of JSON, which `treewide-bench report -` judges. The first argument is the seconds for each row. With a
 * second one only threads are measured, if compiled with TBB also those of BLAKE3's library. */
#define _POSIX_C_SOURCE 199309L

#include <time.h>

#include "blake3.h"
#include "treewide.h"

#include "../tests/official_names.h"

#include "../tests/common.h"

#define MOST_TURNS 1001
#define LONGEST 16777216
#define MANY 4096
#define MOST_ENGINES 3
#ifdef __x86_64__
#define BAR_OF_MANY (__builtin_cpu_supports("avx512vl") ? 10 : 5)
#else
#define BAR_OF_MANY 5
#endif

static double seconds_each = 1;
static uint8_t *input, out[64], digests[32 * MANY];
static treewide_bytes list[MANY];

/* A function that hashes `len` bytes with the hasher of library `prefix`, in pieces of `piece`. */
#define WITH_A_HASHER(name, prefix, update, piece)                                                                     \
  static void name(size_t len) {                                                                                       \
    blake3_hasher hasher;                                                                                              \
    size_t at, each = piece;                                                                                           \
    prefix##_hasher_init(&hasher);                                                                                     \
    for (at = 0; at + each < len; at += each)                                                                          \
      prefix##_hasher_##update(&hasher, input + at, each);                                                             \
    prefix##_hasher_##update(&hasher, input + at, len - at);                                                           \
    prefix##_hasher_finalize(&hasher, out, 32);                                                                        \
  }

WITH_A_HASHER(ours, blake3, update, LONGEST)
WITH_A_HASHER(theirs, official, update, LONGEST)
WITH_A_HASHER(ours_in_pieces, blake3, update, 1000)
WITH_A_HASHER(theirs_in_pieces, official, update, 1000)
WITH_A_HASHER(ours_tbb, blake3, update_tbb, LONGEST)
#ifdef TBB
WITH_A_HASHER(theirs_tbb, official, update_tbb, LONGEST)
#endif

static void ours_at_once(size_t len) { treewide_hash(input, len, out); }

/* MANY inputs of `len` bytes, next to each other in memory: in one call, in a loop of ours, and in a loop of theirs. */
static void many(size_t len) {
  size_t i;
  for (i = 0; i < MANY; i++) {
    list[i].data = input + i * len;
    list[i].len = len;
  }
  treewide_hash_many(NULL, list, MANY, digests);
}

static void loop(size_t len) {
  size_t i;
  for (i = 0; i < MANY; i++)
    treewide_hash(input + i * len, len, digests + 32 * i);
}

static void their_loop(size_t len) {
  size_t i;
  for (i = 0; i < MANY; i++) {
    blake3_hasher hasher;
    official_hasher_init(&hasher);
    official_hasher_update(&hasher, input + i * len, len);
    official_hasher_finalize(&hasher, digests + 32 * i, 32);
  }
}

struct engine {
  const char *name;
  void (*hash)(size_t len);
};

static const struct engine one_call[] = {{"treewide_hash", ours_at_once}, {"BLAKE3's C library", theirs}, {NULL, NULL}};
static const struct engine hasher[] = {{"libblake3", ours}, {"BLAKE3's C library", theirs}, {NULL, NULL}};
static const struct engine pieces[] = {{"libblake3", ours_in_pieces}, {"BLAKE3's C library", theirs_in_pieces}, {NULL, NULL}};
static const struct engine batch[] = {{"treewide_hash_many", many}, {"a loop of treewide_hash", loop}, {"BLAKE3's C library", their_loop}, {NULL, NULL}};
static const struct engine threads[] = {{"libblake3, update_tbb", ours_tbb},
                                        {"libblake3, update", ours},
#ifdef TBB
                                        {"BLAKE3's C library with TBB", theirs_tbb},
#endif
                                        {NULL, NULL}};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static double time_of(const struct engine *engine, size_t len, size_t calls) {
  double start = now();
  while (calls-- > 0)
    engine->hash(len);
  return now() - start;
}

/* The least ratio of the time of BLAKE3's C library to ours, for one input. */
static double bar_of(size_t len) {
  if (len <= 64)
    return 1.5;
  return len == 3072 || len == 7168 || len == 15360 ? 1.4 : 0.98;
}

/* Measures engines in turns. The engine that begins changes from turn to turn. The bar is for the last one. */
static void row(const char *name, const struct engine *engines, size_t len, size_t inputs, double bar) {
  static double samples[MOST_ENGINES][MOST_TURNS];
  size_t count = 0, turns, i, calls;
  double start;
  while (engines[count].name != NULL)
    time_of(&engines[count++], len, 1);
  calls = (size_t)(2e5 / (time_of(&engines[0], len, 1) + 1)) + 1;
  for (start = now(), turns = 0; turns < MOST_TURNS && (now() - start < 1e9 * seconds_each || turns < 5); turns++)
    for (i = 0; i < count; i++)
      samples[(i + turns) % count][turns] = time_of(&engines[(i + turns) % count], len, calls);
  for (i = 0; i < count; i++) {
    size_t turn;
    printf("{\"name\":\"%s %lu B\",\"engine\":\"%s\",\"bytes\":%lu,\"calls\":%lu,\"samples\":[", name, (unsigned long)len, engines[i].name,
           (unsigned long)(len * inputs), (unsigned long)calls);
    for (turn = 0; turn < turns; turn++)
      printf(turn == 0 ? "%.0f" : ",%.0f", samples[i][turn] + 1);
    if (i == count - 1)
      printf("],\"bar\":%.2f}\n", bar);
    else
      printf("]}\n");
  }
  fflush(stdout);
}

int main(int argc, char **argv) {
  static const size_t lengths[] = {0,    1,    16,   32,   63,   64,   65,    100,   128,   256,   512,    1000,    1023,   1024,
                                   1025, 1500, 2048, 3072, 4096, 5120, 6144,  7168,  8192,  9216,  10240,  12288,   15360,  16384,
                                   20000, 31744, 32768, 65536, 70000, 131072, 1048576, LONGEST};
  size_t i;
  if (argc > 1)
    seconds_each = atof(argv[1]);
  input = random_bytes(LONGEST);
  if (argc > 2) {
    /* From 1,000 bytes on; after each power of two comes a length that is not one. */
    for (i = 1000; i <= LONGEST; i = i < 16384 ? 16384 : 2 * i) {
      row("threads", threads, i, 1, i >= 1048576 ? 1 : 0);
      if (i >= 1048576 && i < LONGEST)
        row("threads", threads, i / 2 * 3 - 77, 1, 1);
    }
    return 0;
  }
  for (i = 0; i < sizeof lengths / sizeof *lengths; i++)
    row("hash", one_call, lengths[i], 1, bar_of(lengths[i]));
  for (i = 0; i < sizeof lengths / sizeof *lengths; i++)
    row("init, update, finalize", hasher, lengths[i], 1, bar_of(lengths[i]));
  for (i = 14; i < sizeof lengths / sizeof *lengths - 1; i += 3)
    row("updates of 1,000 B", pieces, lengths[i], 1, 0.98);
  for (i = 16; i <= 2048; i *= 2)
    row("4,096 inputs of", batch, i, MANY, i == 64 ? BAR_OF_MANY : 0.98);
  return 0;
}
