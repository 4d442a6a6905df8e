/* How much stack calls need, by painting the stack of a thread: no more than treewide.h says. */
#define _DEFAULT_SOURCE

#include <pthread.h>
#include <sys/mman.h>

#include "blake3.h"
#include "treewide.h"

#include "common.h"

#define ROOM (1 << 20)
#define LEN (1 << 20)

static uint8_t *input;
static treewide_hasher hasher;
static blake3_hasher dropin;
#define MANY 3000

static uint8_t out[MANY * 32];
static treewide_bytes list[MANY];
static uint64_t offsets[MANY + 1];

static void nothing(void) {}
static void hash(void) { treewide_hash(input, LEN, out); }
static void hash_mode(void) { treewide_hash_mode(NULL, input, LEN, out, 64); }
static void subtree(void) { treewide_subtree(NULL, 0, input, LEN, out); }
static void update(void) { treewide_update(&hasher, input, LEN); }
static void finalize(void) { treewide_finalize(&hasher, 1, out, sizeof out); }
static void load(void) {
  static uint8_t state[TREEWIDE_STATE_MAX];
  size_t len = treewide_state_to_bytes(&hasher, state);
  treewide_state_from_bytes(&hasher, state, len);
}
static void dropin_update(void) { blake3_hasher_update(&dropin, input, LEN); }
static void dropin_tbb(void) { blake3_hasher_update_tbb(&dropin, input, LEN); }
static void many(void) { treewide_hash_many(NULL, list, MANY, out); }
static void packed(void) { treewide_hash_packed(NULL, input, LEN, offsets, MANY, out); }
#ifdef FEATURES
static void parallel(void) { treewide_update_parallel(&hasher, input, LEN); }
static void file(void) { treewide_hash_file(NULL, "check.mk", NULL, out, 32); }
#endif

static void (*called)(void);

static void *run(void *unused) {
  called();
  return unused;
}

static size_t used(void (*call)(void)) {
  pthread_attr_t attributes;
  pthread_t thread;
  size_t free_bytes = 0;
  uint8_t *stack = (uint8_t *)mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(stack != MAP_FAILED, "no memory");
  memset(stack, 0xa5, ROOM);
  called = call;
  CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, ROOM) == 0, "attributes");
  CHECK(pthread_create(&thread, &attributes, run, NULL) == 0 && pthread_join(thread, NULL) == 0, "thread");
  while (free_bytes < ROOM && stack[free_bytes] == 0xa5)
    free_bytes++;
  pthread_attr_destroy(&attributes);
  munmap(stack, ROOM);
  return ROOM - free_bytes;
}

static void expect(const char *name, void (*call)(void), size_t most) {
  size_t bytes = used(call) - used(nothing);
  if (getenv("SHOW") != NULL)
    printf("%s: %lu bytes of stack\n", name, (unsigned long)bytes);
  CHECK(bytes > 0 && bytes < most, "%s needs %lu bytes of stack", name, (unsigned long)bytes);
}

int main(void) {
  size_t i;
  input = random_bytes(LEN);
  treewide_init(&hasher, NULL);
  blake3_hasher_init(&dropin);
  for (i = 0; i < MANY; i++) {
    list[i].len = i == 1000 ? 300000 : below(i < 2000 ? 100 : 600);
    list[i].data = input + below(LEN - list[i].len);
    offsets[i + 1] = offsets[i] + list[i].len;
  }
  CHECK(offsets[MANY] <= LEN, "%lu bytes", (unsigned long)offsets[MANY]);
#define EXPECT(call, most) expect(#call, call, most)
  EXPECT(hash, 40000);
  EXPECT(hash_mode, 40000);
  EXPECT(subtree, 40000);
  EXPECT(update, 40000);
  EXPECT(finalize, 40000);
  EXPECT(load, 40000);
  EXPECT(dropin_update, 40000);
  EXPECT(dropin_tbb, 40000);
  EXPECT(many, 90000);
  EXPECT(packed, 90000);
#ifdef FEATURES
  EXPECT(parallel, 40000);
  EXPECT(file, 40000);
#endif
  free(input);
  printf("capi/stack: %lu cases\n", cases);
  return 0;
}
