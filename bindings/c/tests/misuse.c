/* Each misuse that the headers name ends the program with a message. */
#include "misuse.h"

#include "blake3.h"
#include "treewide.h"

static uint8_t bytes[8192], out[32];
static treewide_hasher hasher;
static blake3_hasher dropin;

static void null_update(void) { treewide_update(&hasher, NULL, 7); }
static void null_hash(void) { treewide_hash(NULL, 7, out); }
static void null_output(void) { treewide_finalize(&hasher, 0, NULL, 7); }
static void null_many(void) { treewide_hash_many(NULL, NULL, 7, out); }
static void null_dropin(void) { blake3_hasher_update(&dropin, NULL, 7); }
static void too_long(void) { treewide_hash(bytes, (size_t)-1, out); }
static void too_many(void) { treewide_hash_many(NULL, (const treewide_bytes *)(void *)bytes, (size_t)-1 / 2, out); }
static void empty_subtree(void) { treewide_subtree(NULL, 0, bytes, 0, out); }
static void odd_offset(void) { treewide_subtree(NULL, 1000, bytes, 10, out); }
static void long_subtree(void) { treewide_subtree(NULL, 1024, bytes, 1025, out); }
static void lone_subtree(void) { treewide_merge_root(NULL, bytes, 1, out, 32); }

int main(void) {
  treewide_init(&hasher, NULL);
  blake3_hasher_init(&dropin);
  expect_abort(null_update, "NULL stands for no bytes, not for 7");
  expect_abort(null_hash, "NULL stands for no bytes, not for 7");
  expect_abort(null_output, "NULL stands for no bytes, not for 7");
  expect_abort(null_many, "NULL stands for no bytes");
  expect_abort(null_dropin, "NULL stands for no bytes, not for 7");
  expect_abort(too_long, "no buffer has 18446744073709551615 bytes");
  expect_abort(too_many, "no buffer has");
  expect_abort(empty_subtree, "a subtree has at least one byte");
  expect_abort(odd_offset, "begins at a multiple of 1,024 bytes, not at 1000");
  expect_abort(long_subtree, "a subtree at byte 1024 has at most 1024 bytes, not 1025");
  expect_abort(lone_subtree, "at least two subtrees, not 1");
  printf("capi/misuse: %lu cases\n", cases);
  return 0;
}
