/* libtreewide against BLAKE3's C library, and against itself. The argument, N, makes it take each N-th case. Compiled with
 * FEATURES defined, it also tests threads and files. */
#include "blake3.h"
#include "treewide.h"

#include "official_names.h"

#include "common.h"

#define MOST 70000
#define OUT 200

static uint8_t *input;
static const char context[] = "treewide 2026-11-25 tests of C";

/* Output of BLAKE3's C library. */
static void expect(unsigned which, size_t len, uint64_t seek, uint8_t *out, size_t out_len) {
  blake3_hasher hasher;
  switch (which % 3) {
  case 0:
    official_hasher_init(&hasher);
    break;
  case 1:
    official_hasher_init_keyed(&hasher, input);
    break;
  default:
    official_hasher_init_derive_key(&hasher, context);
  }
  official_hasher_update(&hasher, input, len);
  official_hasher_finalize_seek(&hasher, seek, out, out_len);
}

static treewide_mode modes[3];

static const treewide_mode *mode_of(unsigned which) { return which % 3 == 0 ? NULL : &modes[which % 3]; }

static void one_input(size_t step) {
  size_t len;
  for (len = 0; len <= MOST; len += len < 2100 ? 1 : step) {
    uint8_t a[OUT], b[OUT];
    size_t out_len = below(OUT + 1);
    unsigned which = (unsigned)below(3);
    treewide_hash(input, len, a);
    expect(0, len, 0, b, 32);
    CHECK(treewide_equal(a, b), "%lu bytes", (unsigned long)len);
    memset(a, 1, sizeof a);
    memset(b, 1, sizeof b);
    treewide_hash_mode(mode_of(which), input, len, a, out_len);
    expect(which, len, 0, b, out_len);
    CHECK(memcmp(a, b, sizeof a) == 0, "mode %u, %lu bytes of output for %lu", which, (unsigned long)out_len, (unsigned long)len);
  }
  {
    uint8_t a[32], b[32];
    treewide_hash(NULL, 0, a);
    expect(0, 0, 0, b, 32);
    CHECK(treewide_equal(a, b), "nothing");
    treewide_hash_mode(NULL, NULL, 0, NULL, 0);
    b[31] ^= 1;
    CHECK(!treewide_equal(a, b), "one bit");
  }
  {
    treewide_mode zeros;
    treewide_bytes one;
    uint8_t a[64], b[64];
    memset(&zeros, 0, sizeof zeros);
    one.data = input;
    one.len = MOST;
    treewide_hash_mode(&zeros, input, MOST, a, 64);
    expect(0, MOST, 0, b, 64);
    CHECK(memcmp(a, b, 64) == 0, "a mode of zeros");
    treewide_hash_many(&zeros, &one, 1, a);
    CHECK(treewide_equal(a, b), "a mode of zeros");
  }
}

/* No hasher of C saves a state of a subtree, which has no digest. */
static void state_of_a_part(void) {
  treewide_hasher hasher;
  uint8_t state[TREEWIDE_STATE_MAX], a[32], b[32];
  size_t len;
  treewide_init(&hasher, NULL);
  treewide_update(&hasher, input, 1000);
  treewide_finalize(&hasher, 0, b, 32);
  len = treewide_state_to_bytes(&hasher, state);
  state[42] = 1;
  treewide_hash(state, len - 32, state + len - 32);
  CHECK(treewide_state_from_bytes(&hasher, state, len) == TREEWIDE_E_STATE_PART, "chunk 1");
  treewide_finalize(&hasher, 0, a, 32);
  CHECK(treewide_equal(a, b), "written after an error");
}

/* Also saves and loads the hasher in the middle. */
static void in_pieces(size_t step) {
  size_t round;
  for (round = 0; round < 3000; round += step) {
    treewide_hasher hasher, copy;
    unsigned which = (unsigned)below(3);
    size_t len = below(MOST), at = below(len + 1), out_len = below(OUT + 1), saved;
    uint64_t seek = (next_random() >> 8) >> below(56);
    uint8_t a[OUT], b[OUT], state[TREEWIDE_STATE_MAX];
    treewide_init(&hasher, mode_of(which));
    treewide_update(&hasher, input, at);
    CHECK(treewide_count(&hasher) == at, "%lu", (unsigned long)at);
    copy = hasher;
    treewide_update(&hasher, "another end", 11);
    saved = treewide_state_to_bytes(&copy, state);
    CHECK(saved >= 188 && saved <= TREEWIDE_STATE_MAX, "%lu", (unsigned long)saved);
    memset(&copy, 0, sizeof copy);
    CHECK(treewide_state_from_bytes(&copy, state, saved) == 0, "%lu", (unsigned long)at);
    treewide_update(&copy, input + at, len - at);
    treewide_finalize(&copy, seek, a, out_len);
    expect(which, len, seek, b, out_len);
    CHECK(memcmp(a, b, out_len) == 0, "mode %u, %lu bytes", which, (unsigned long)len);
    treewide_reset(&copy);
    treewide_finalize(&copy, 0, a, 64);
    expect(which, 0, 0, b, 64);
    CHECK(memcmp(a, b, 64) == 0, "mode %u, reset", which);
    CHECK(treewide_state_from_bytes(&copy, state, saved - 1) == TREEWIDE_E_STATE_LENGTH, "cut off");
    state[saved - 40] ^= 1;
    CHECK(treewide_state_from_bytes(&copy, state, saved) == TREEWIDE_E_STATE_DAMAGED, "a bit");
    state[8]++;
    CHECK(treewide_state_from_bytes(&copy, state, saved) == TREEWIDE_E_STATE_VERSION, "the version");
    state[0]++;
    CHECK(treewide_state_from_bytes(&copy, state, saved) == TREEWIDE_E_NOT_A_STATE, "the name");
    CHECK(treewide_state_from_bytes(&copy, NULL, 0) == TREEWIDE_E_NOT_A_STATE, "nothing");
  }
}

/* A stream gets short pieces, and becomes a hasher and a stream again in the middle. A reader reads as treewide_finalize does. */
static void in_short_pieces(size_t step) {
  size_t round;
  for (round = 0; round < 1000; round += step) {
    unsigned which = (unsigned)below(3);
    size_t len = below(MOST), piece = 1 + below(2000), middle = below(len + 1), at, out_len, i;
    uint64_t seek = (next_random() >> 8) >> below(56);
    treewide_stream *stream = treewide_stream_new(mode_of(which));
    treewide_hasher hasher;
    treewide_reader reader, copy;
    uint8_t a[OUT], b[OUT];
    for (at = 0; at < len; at += piece) {
      treewide_stream_update(stream, input + at, at + piece < len ? piece : len - at);
      if (at <= middle && middle < at + piece) {
        treewide_stream_finalize(stream, 0, a, 32);
        treewide_stream_to_hasher(stream, &hasher);
        treewide_stream_free(stream);
        treewide_finalize(&hasher, 0, b, 32);
        CHECK(memcmp(a, b, 32) == 0, "mode %u, %lu bytes", which, (unsigned long)at);
        stream = treewide_stream_from_hasher(&hasher);
      }
    }
    CHECK(stream != NULL && treewide_stream_count(stream) == len, "%lu bytes", (unsigned long)len);
    treewide_stream_finalize(stream, seek, a, OUT);
    expect(which, len, seek, b, OUT);
    CHECK(memcmp(a, b, OUT) == 0, "mode %u, %lu bytes", which, (unsigned long)len);
    treewide_stream_to_hasher(stream, &hasher);
    treewide_reader_init(&reader, &hasher);
    treewide_reader_seek(&reader, seek);
    for (i = 0; i < 20; i++) {
      out_len = below(OUT + 1);
      copy = reader;
      treewide_reader_read(&reader, a, out_len);
      treewide_finalize(&hasher, seek, b, out_len);
      CHECK(memcmp(a, b, out_len) == 0, "read %lu of %lu bytes", (unsigned long)i, (unsigned long)out_len);
      treewide_reader_read(&copy, a, out_len);
      CHECK(memcmp(a, b, out_len) == 0, "copy, read %lu of %lu bytes", (unsigned long)i, (unsigned long)out_len);
      seek += out_len;
    }
    treewide_stream_reset(stream);
    treewide_stream_finalize(stream, 0, a, 64);
    expect(which, 0, 0, b, 64);
    CHECK(memcmp(a, b, 64) == 0, "mode %u, reset", which);
    treewide_stream_free(stream);
  }
  treewide_stream_free(NULL);
}

static void many(size_t step) {
  size_t round, i;
  for (round = 0; round < 400; round += step) {
    size_t n = below(200), at = below(100);
    unsigned which = (unsigned)below(3);
    size_t most = below(4) == 0 ? 2000 : 150;
    treewide_bytes *list = (treewide_bytes *)calloc(n + 1, sizeof *list);
    uint64_t *offsets = (uint64_t *)calloc(n + 1, sizeof *offsets);
    uint8_t *out = (uint8_t *)calloc(2 * n + 2, 32), expected[32];
    if (list == NULL || offsets == NULL || out == NULL)
      exit(1);
    offsets[0] = at;
    for (i = 0; i < n; i++) {
      list[i].len = below(most);
      if (at + list[i].len > MOST)
        list[i].len = 0;
      list[i].data = list[i].len == 0 ? NULL : input + at;
      offsets[i + 1] = at += list[i].len;
    }
    treewide_hash_many(mode_of(which), list, n, out);
    CHECK(treewide_hash_packed(mode_of(which), input, at, offsets, n, out + 32 * n) == 0, "offsets");
    for (i = 0; i < n; i++) {
      treewide_hash_mode(mode_of(which), list[i].data, list[i].len, expected, 32);
      CHECK(memcmp(out + 32 * i, expected, 32) == 0, "%lu of %lu", (unsigned long)i, (unsigned long)n);
      CHECK(memcmp(out + 32 * (n + i), expected, 32) == 0, "%lu of %lu", (unsigned long)i, (unsigned long)n);
    }
    CHECK(out[64 * n] == 0, "written past the end");
    if (n > 0) {
      CHECK(treewide_hash_packed(NULL, input, at - 1, offsets, n, out) == (at > 0 ? TREEWIDE_E_OFFSETS : 0), "too long");
      offsets[0] = (uint64_t)-1;
      CHECK(treewide_hash_packed(NULL, input, at, offsets, n, out) == TREEWIDE_E_OFFSETS, "decreasing");
    }
    free(list);
    free(offsets);
    free(out);
  }
  treewide_hash_many(NULL, NULL, 0, NULL);
  CHECK(treewide_hash_packed(NULL, NULL, 0, NULL, 0, NULL) == 0, "nothing");
}

static void own_threads(size_t step) {
  size_t round;
  for (round = 0; round < 600; round += step) {
    unsigned which = (unsigned)below(3);
    size_t part = (size_t)TREEWIDE_CHUNK_LEN << below(6), len = part + 1 + below(MOST - part), parts = (len + part - 1) / part;
    size_t order = below(parts), i, out_len = below(OUT + 1);
    uint8_t a[OUT], b[OUT], *cvs = (uint8_t *)calloc(parts, 32);
    if (cvs == NULL)
      exit(1);
    for (i = 0; i < parts; i++) {
      size_t at = (i + order) % parts * part;
      treewide_subtree(mode_of(which), at, input + at, part < len - at ? part : len - at, cvs + at / part * 32);
    }
    treewide_merge_root(mode_of(which), cvs, parts, a, out_len);
    expect(which, len, 0, b, out_len);
    CHECK(memcmp(a, b, out_len) == 0, "%lu parts, %lu bytes", (unsigned long)parts, (unsigned long)len);
    if (parts >= 4) {
      /* The first half of four, and two steps of one part. */
      treewide_subtree(mode_of(which), 0, input, 2 * part, a);
      treewide_merge(mode_of(which), cvs, cvs + 32, b);
      CHECK(memcmp(a, b, 32) == 0, "parts of %lu", (unsigned long)part);
    }
    free(cvs);
  }
}

static void the_rest(void) {
  static const char *names[] = {"avx512", "avx2", "sse41", "sse2", "sve2", "neon", "array", "portable", "auto"};
  char best[TREEWIDE_KERNEL_MAX], name[TREEWIDE_KERNEL_MAX];
  uint8_t a[32], b[32];
  size_t i;
  int code, other;
  unsigned forced = 0;
  CHECK(strcmp(treewide_version(), TREEWIDE_VERSION) == 0, "%s", treewide_version());
  treewide_kernel(best);
  expect(0, MOST, 0, b, 32);
  for (i = 0; i < sizeof names / sizeof *names; i++) {
    code = treewide_kernel_force(names[i]);
    CHECK(code == 0 || code == TREEWIDE_E_KERNEL, "%s: %d", names[i], code);
    if (code == 0) {
      forced++;
      treewide_kernel(name);
      CHECK(strncmp(name, names[i], strlen(names[i])) == 0 || strcmp(names[i], "auto") == 0, "%s", name);
      treewide_hash(input, MOST, a);
      CHECK(treewide_equal(a, b), "%s", name);
    }
  }
  CHECK(forced >= 3 && strcmp(best, name) == 0, "%u kernels, %s", forced, name);
  CHECK(treewide_kernel_force("no such kernel") == TREEWIDE_E_KERNEL, "a name");
  {
    char text[TREEWIDE_HEX_LEN];
    treewide_hash("abc", 3, a);
    treewide_hex(a, text);
    CHECK(strcmp(text, "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85") == 0, "%s", text);
    text[4] = 'B';
    CHECK(treewide_from_hex(text, b) == 0 && treewide_equal(a, b), "%s", text);
    text[63] = 'g';
    CHECK(treewide_from_hex(text, b) == TREEWIDE_E_HEX && treewide_equal(a, b), "%s", text);
    text[63] = 0;
    CHECK(treewide_from_hex(text, b) == TREEWIDE_E_HEX && treewide_from_hex("", b) == TREEWIDE_E_HEX, "%s", text);
  }
  for (code = TREEWIDE_E_PATH; code <= TREEWIDE_E_NOT_A_STATE; code++)
    for (other = TREEWIDE_E_PATH; other < code; other++)
      CHECK(strcmp(treewide_strerror(code), treewide_strerror(other)) != 0, "%d and %d", code, other);
  CHECK(strcmp(treewide_strerror(-2), strerror(2)) == 0, "%s", treewide_strerror(-2));
  CHECK(strcmp(treewide_strerror(1), treewide_strerror(-10000)) == 0, "%s", treewide_strerror(1));
}

#ifdef FEATURES
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* The threads of the pool do not exist in a child of fork. */
static void forked(const char *path, const uint8_t *bytes, size_t len, const uint8_t digest[32]) {
  int status;
  pid_t child = fork();
  CHECK(child >= 0, "fork");
  if (child == 0) {
    uint8_t a[32], b[32];
    treewide_hasher hasher;
    alarm(60);
    treewide_init(&hasher, &modes[1]);
    treewide_update_parallel(&hasher, bytes, len);
    treewide_finalize(&hasher, 0, a, 32);
    _exit(treewide_hash_file(&modes[1], path, NULL, b, 32) != 0 || memcmp(a, digest, 32) != 0 || memcmp(b, digest, 32) != 0);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0, "the child: %d", status);
}

/* A watcher that counts, and stops the reading at a number of bytes. */
struct seen {
  pthread_mutex_t lock;
  uint64_t bytes, most;
};

static int watch(void *context, uint64_t bytes) {
  struct seen *seen = (struct seen *)context;
  int stop;
  pthread_mutex_lock(&seen->lock);
  seen->bytes += bytes;
  stop = seen->bytes > seen->most;
  pthread_mutex_unlock(&seen->lock);
  return stop;
}

static void watched(const char *path, const uint8_t *bytes, size_t len, const treewide_mode *mode) {
  treewide_file_options options;
  treewide_hasher hasher;
  uint8_t a[32], b[32];
  memset(&options, 0, sizeof options);
  treewide_hash_mode(mode, bytes, len, b, 32);
  for (options.strategy = 0; options.strategy <= TREEWIDE_FILE_MMAP_PARALLEL; options.strategy++) {
    struct seen seen = {PTHREAD_MUTEX_INITIALIZER, 0, UINT64_MAX};
    int code;
    treewide_init(&hasher, mode);
    code = treewide_update_file_watched(&hasher, path, &options, watch, &seen);
    CHECK(code == 0 && seen.bytes == len, "strategy %u: %d", (unsigned)options.strategy, code);
    treewide_finalize(&hasher, 0, a, 32);
    CHECK(memcmp(a, b, 32) == 0, "strategy %u", (unsigned)options.strategy);
    if (len < 2000000)
      continue;
    seen.bytes = 0;
    seen.most = 1000000;
    code = treewide_update_file_watched(&hasher, path, &options, watch, &seen);
    CHECK(code == TREEWIDE_E_STOPPED, "strategy %u: %d", (unsigned)options.strategy, code);
    /* A tile for each thread, and the one at which it stopped. */
    CHECK(seen.bytes > seen.most && seen.bytes < len, "strategy %u: %lu", (unsigned)options.strategy, (unsigned long)seen.bytes);
  }
  CHECK(treewide_update_file_watched(&hasher, "target/check/absent", NULL, watch, NULL) == -ENOENT, "no file");
}

static void threads_and_files(void) {
  static const size_t lengths[] = {0, 5000, 3000000, 20000000};
  const char *path = "target/check/beyond.bin";
  size_t i;
  for (i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    size_t len = lengths[i];
    uint8_t a[OUT], b[OUT], *bytes = random_bytes(len);
    treewide_hasher hasher;
    treewide_file_options options;
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(bytes, 1, len, file) == len && fclose(file) == 0, "cannot write %s", path);
    treewide_hash_mode(&modes[1], bytes, len, b, OUT);
    treewide_init(&hasher, &modes[1]);
    treewide_update_parallel(&hasher, bytes, len / 3);
    treewide_update_parallel(&hasher, bytes + len / 3, len - len / 3);
    treewide_finalize(&hasher, 0, a, OUT);
    CHECK(memcmp(a, b, OUT) == 0, "%lu bytes in parallel", (unsigned long)len);
    CHECK(treewide_hash_file(&modes[1], path, NULL, a, OUT) == 0, "%s", path);
    CHECK(memcmp(a, b, OUT) == 0, "a file of %lu bytes", (unsigned long)len);
    forked(path, bytes, len, b);
    memset(&options, 0, sizeof options);
    for (options.strategy = 0; options.strategy <= TREEWIDE_FILE_MMAP_PARALLEL; options.strategy++) {
      options.threads = options.strategy % 3;
      options.drop_cache = options.strategy % 2;
      treewide_reset(&hasher);
      CHECK(treewide_update_file(&hasher, path, &options) == 0, "strategy %u", (unsigned)options.strategy);
      treewide_finalize(&hasher, 0, a, OUT);
      CHECK(memcmp(a, b, OUT) == 0, "strategy %u, %lu bytes", (unsigned)options.strategy, (unsigned long)len);
    }
    CHECK(treewide_hash_file(NULL, path, &options, a, 32) == TREEWIDE_E_OPTIONS, "strategy %u", (unsigned)options.strategy);
    watched(path, bytes, len, modes + 1);
    options.strategy = 0;
    options.reserved[3] = 1;
    CHECK(treewide_hash_file(NULL, path, &options, a, 32) == TREEWIDE_E_OPTIONS, "reserved");
    free(bytes);
  }
  CHECK(remove(path) == 0, "%s", path);
  {
    uint8_t a[32] = {7};
    int code = treewide_hash_file(NULL, path, NULL, a, 32);
    CHECK(code == -ENOENT && a[0] == 7, "%d: %s", code, treewide_strerror(code));
    code = treewide_hash_file(NULL, "target/check", NULL, a, 32);
    CHECK(code == -EISDIR && a[0] == 7, "%d: %s", code, treewide_strerror(code));
  }
}
#endif

int main(int argc, char **argv) {
  size_t step = argc > 1 ? (size_t)atol(argv[1]) : 1;
  input = random_bytes(MOST);
  treewide_mode_keyed(&modes[1], input);
  treewide_mode_derive_key(&modes[2], context, strlen(context));
  one_input(step);
  in_pieces(step);
  in_short_pieces(step);
  state_of_a_part();
  many(step);
  own_threads(step);
  the_rest();
#ifdef FEATURES
  threads_and_files();
#endif
  free(input);
  printf("capi/beyond: %lu cases\n", cases);
  return 0;
}
