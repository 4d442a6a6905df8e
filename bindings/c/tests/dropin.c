/* libblake3 against BLAKE3's C library: every length up to 70,000 bytes, in one piece, in random pieces, and continued
 * by a copy; the modes; output from any byte on. The argument, N, makes it take each N-th case. */
#include "blake3.h"

#include "official_names.h"

#include "common.h"

#define MOST 70000
#define OUT 200

static uint8_t *input;
static uint8_t key[BLAKE3_KEY_LEN];

/* No UTF-8, and with a zero. */
static const uint8_t raw_context[] = {0xff, 0, 0xc0, 'a', 0x80};

/* Starts the same mode in both libraries. */
static void start(unsigned mode, blake3_hasher *ours, blake3_hasher *theirs) {
  static const char context[] = "treewide 2026-11-25 tests of C";
  switch (mode % 4) {
  case 0:
    blake3_hasher_init(ours);
    official_hasher_init(theirs);
    break;
  case 1:
    blake3_hasher_init_keyed(ours, key);
    official_hasher_init_keyed(theirs, key);
    break;
  case 2:
    blake3_hasher_init_derive_key(ours, context);
    official_hasher_init_derive_key(theirs, context);
    break;
  default:
    blake3_hasher_init_derive_key_raw(ours, raw_context, sizeof raw_context);
    official_hasher_init_derive_key_raw(theirs, raw_context, sizeof raw_context);
  }
}

static void compare(const blake3_hasher *ours, const blake3_hasher *theirs, size_t out_len, size_t len) {
  uint8_t a[OUT], b[OUT];
  memset(a, 1, sizeof a);
  memset(b, 1, sizeof b);
  blake3_hasher_finalize(ours, a, out_len);
  official_hasher_finalize(theirs, b, out_len);
  CHECK(memcmp(a, b, sizeof a) == 0, "%lu bytes of output for %lu", (unsigned long)out_len, (unsigned long)len);
}

static void every_length(size_t step) {
  size_t len;
  for (len = 0; len <= MOST; len += len < 2100 ? 1 : step) {
    blake3_hasher ours, theirs, copy;
    size_t at, middle = len == 0 ? 0 : below(len + 1);
    start((unsigned)len, &ours, &theirs);
    official_hasher_update(&theirs, input, len);
    copy = ours;
    blake3_hasher_update(&ours, input, len);
    compare(&ours, &theirs, 32, len);
    for (at = 0; at < middle;) {
      size_t piece = 1 + below(below(4) == 0 ? MOST : 1500);
      piece = piece < middle - at ? piece : middle - at;
      blake3_hasher_update(&copy, input + at, piece);
      at += piece;
    }
    ours = copy;
    blake3_hasher_update(&copy, "not the input", 13);
    blake3_hasher_update(&ours, input + at, len - at);
    compare(&ours, &theirs, 32, len);
  }
}

static void modes_and_output(size_t step) {
  size_t round, out_len;
  for (round = 0; round < 8000; round += step) {
    blake3_hasher ours, theirs;
    size_t len = below(4) == 0 ? below(MOST) : below(3000);
    uint8_t a[OUT], b[OUT];
    uint64_t seek = next_random() >> below(64);
    start((unsigned)round / (unsigned)step, &ours, &theirs);
    blake3_hasher_update(&ours, input, len);
    official_hasher_update(&theirs, input, len);
    out_len = below(OUT + 1);
    compare(&ours, &theirs, out_len, len);
    /* The end of the output is 2^64 - 1; past it the libraries may differ. */
    seek = seek < UINT64_MAX - OUT ? seek : seek - OUT;
    blake3_hasher_finalize_seek(&ours, seek, a, out_len);
    official_hasher_finalize_seek(&theirs, seek, b, out_len);
    CHECK(memcmp(a, b, out_len) == 0, "%lu bytes from %llu", (unsigned long)out_len, (unsigned long long)seek);
    blake3_hasher_reset(&ours);
    official_hasher_reset(&theirs);
    blake3_hasher_update_tbb(&ours, input, len / 2);
    official_hasher_update(&theirs, input, len / 2);
    compare(&ours, &theirs, 64, len / 2);
  }
}

static void nothing(void) {
  blake3_hasher ours, theirs;
  start(0, &ours, &theirs);
  blake3_hasher_update(&ours, NULL, 0);
  blake3_hasher_update_tbb(&ours, NULL, 0);
  blake3_hasher_finalize(&ours, NULL, 0);
  blake3_hasher_finalize_seek(&ours, 99, NULL, 0);
  compare(&ours, &theirs, OUT, 0);
  blake3_hasher_init_derive_key_raw(&ours, NULL, 0);
  official_hasher_init_derive_key(&theirs, "");
  compare(&ours, &theirs, OUT, 0);
  CHECK(strcmp(blake3_version(), BLAKE3_VERSION_STRING) == 0, "version %s", blake3_version());
}

/* Long enough for several threads. */
static void several_threads(size_t len) {
  blake3_hasher ours, theirs;
  uint8_t *bytes = random_bytes(len);
  start(1, &ours, &theirs);
  blake3_hasher_update(&ours, bytes, 1);
  blake3_hasher_update_tbb(&ours, bytes + 1, len - 1);
  official_hasher_update(&theirs, bytes, len);
  compare(&ours, &theirs, OUT, len);
  free(bytes);
}

int main(int argc, char **argv) {
  size_t step = argc > 1 ? (size_t)atol(argv[1]) : 1;
  input = random_bytes(MOST);
  memcpy(key, input, sizeof key);
  nothing();
  every_length(step);
  modes_and_output(step);
  several_threads(step == 1 ? 20000000 : 2000000);
  free(input);
  printf("capi/drop-in: %lu cases\n", cases);
  return 0;
}
