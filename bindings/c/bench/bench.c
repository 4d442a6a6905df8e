/* libblake3 and libtreewide against BLAKE3's C library with its assembly, in one process, in turn: make bench.
 *
 * Each row is the median, over many rounds, of the time of the second divided by the time of the first in the same round. The first argument is
 * the seconds for each row; with a second one only threads are measured, compiled with TBB also against theirs with TBB. */
#define _POSIX_C_SOURCE 199309L

#include <time.h>

#include "blake3.h"
#include "treewide.h"

#include "../tests/official_names.h"

#include "../tests/common.h"

#define MOST_ROUNDS 4000

static double seconds_each = 1;
static uint8_t *input;
static uint8_t out[64];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef void work(size_t len);

static void ours(size_t len) {
  blake3_hasher hasher;
  blake3_hasher_init(&hasher);
  blake3_hasher_update(&hasher, input, len);
  blake3_hasher_finalize(&hasher, out, 32);
}

static void theirs(size_t len) {
  blake3_hasher hasher;
  official_hasher_init(&hasher);
  official_hasher_update(&hasher, input, len);
  official_hasher_finalize(&hasher, out, 32);
}

/* With a function that BLAKE3's C library does not have. */
static void ours_at_once(size_t len) { treewide_hash(out, input, len); }

/* In a library with threads. */
static void ours_tbb(size_t len) {
  blake3_hasher hasher;
  blake3_hasher_init(&hasher);
  blake3_hasher_update_tbb(&hasher, input, len);
  blake3_hasher_finalize(&hasher, out, 32);
}

#ifdef TBB
static void theirs_tbb(size_t len) {
  blake3_hasher hasher;
  official_hasher_init(&hasher);
  official_hasher_update_tbb(&hasher, input, len);
  official_hasher_finalize(&hasher, out, 32);
}
#endif

#define MANY 4096

static treewide_bytes list[MANY];
static uint8_t digests[32 * MANY];

/* MANY inputs of `len` bytes: in one call, in a loop of ours, and in a loop of theirs. */
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
    treewide_hash(digests + 32 * i, input + i * len, len);
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

/* 1,000 bytes at a time. */
static void ours_in_pieces(size_t len) {
  blake3_hasher hasher;
  size_t at;
  blake3_hasher_init(&hasher);
  for (at = 0; at + 1000 < len; at += 1000)
    blake3_hasher_update(&hasher, input + at, 1000);
  blake3_hasher_update(&hasher, input + at, len - at);
  blake3_hasher_finalize(&hasher, out, 32);
}

static void theirs_in_pieces(size_t len) {
  blake3_hasher hasher;
  size_t at;
  official_hasher_init(&hasher);
  for (at = 0; at + 1000 < len; at += 1000)
    official_hasher_update(&hasher, input + at, 1000);
  official_hasher_update(&hasher, input + at, len - at);
  official_hasher_finalize(&hasher, out, 32);
}

static double time_of(work *f, size_t len, size_t times) {
  size_t i;
  double start = now();
  for (i = 0; i < times; i++)
    f(len);
  return (now() - start) / (double)times;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *list, size_t n) {
  qsort(list, n, sizeof *list, by_size);
  return list[n / 2];
}

/* Prints how many times as fast as `other` `one` is. */
static void row(const char *name, work *one, work *other, size_t len) {
  static double times[MOST_ROUNDS], ratios[MOST_ROUNDS];
  size_t n = 0, repeat;
  double start, ratio, time;
  time_of(other, len, 1);
  repeat = (size_t)(1e-4 / time_of(one, len, 1)) + 1;
  for (start = now(); n < MOST_ROUNDS && (now() - start < seconds_each || n < 5); n++) {
    double a, b, c;
    b = time_of(other, len, repeat);
    a = time_of(one, len, repeat);
    c = time_of(other, len, repeat);
    times[n] = a;
    ratios[n] = (b + c) / 2 / a;
  }
  ratio = median(ratios, n);
  time = median(times, n);
  printf("| %s | %lu | %.1f ns | %.3f |\n", name, (unsigned long)len, time * 1e9, ratio);
  fflush(stdout);
}

int main(int argc, char **argv) {
  static const size_t lengths[] = {0,    1,    16,   32,   63,   64,   65,    100,   128,   256,   512,   1000,   1023,    1024,
                                   1025, 1500, 2048, 3072, 4096, 5120, 6144,  7168,  8192,  9216,  10240, 12288,  15360,   16384,
                                   20000, 31744, 32768, 65536, 70000, 131072, 1048576, 16777216};
  size_t i;
  if (argc > 1)
    seconds_each = atof(argv[1]);
  input = random_bytes(16777216);
  printf("| what, against what | bytes | time | times as fast |\n|---|---:|---:|---:|\n");
  if (argc > 2) {
    for (i = 0; i < sizeof lengths / sizeof *lengths; i++)
      row("update_tbb; update", ours_tbb, ours, lengths[i]);
#ifdef TBB
    /* From 1,000 bytes on, and one that is no power of two after each that is. */
    for (i = 1000; i <= 16777216; i = i < 16384 ? 16384 : 2 * i) {
      row("update_tbb; theirs with TBB", ours_tbb, theirs_tbb, i);
      if (i >= 1048576 && i < 16777216)
        row("update_tbb; theirs with TBB", ours_tbb, theirs_tbb, i / 2 * 3 - 77);
    }
#endif
    return 0;
  }
  for (i = 0; i < sizeof lengths / sizeof *lengths; i++)
    row("init, update, finalize; theirs", ours, theirs, lengths[i]);
  for (i = 0; i < sizeof lengths / sizeof *lengths; i++)
    row("treewide_hash; theirs", ours_at_once, theirs, lengths[i]);
  for (i = 14; i < sizeof lengths / sizeof *lengths - 1; i += 3)
    row("updates of 1,000 bytes; theirs", ours_in_pieces, theirs_in_pieces, lengths[i]);
  for (i = 16; i <= 2048; i *= 2) {
    row("treewide_hash_many of 4,096; a loop of theirs", many, their_loop, i);
    row("treewide_hash_many of 4,096; a loop of treewide_hash", many, loop, i);
  }
  return 0;
}
