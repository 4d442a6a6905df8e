/* Each misuse that the headers name ends the program with a message. */
#define _POSIX_C_SOURCE 200809L

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blake3.h"
#include "treewide.h"

#include "common.h"

static uint8_t bytes[8192], out[32];
static treewide_hasher hasher;
static blake3_hasher dropin;

static void null_update(void) { treewide_update(&hasher, NULL, 7); }
static void null_hash(void) { treewide_hash(out, NULL, 7); }
static void null_output(void) { treewide_finalize(&hasher, 0, NULL, 7); }
static void null_many(void) { treewide_hash_many(NULL, NULL, 7, out); }
static void null_dropin(void) { blake3_hasher_update(&dropin, NULL, 7); }
static void too_long(void) { treewide_hash(out, bytes, (size_t)-1); }
static void too_many(void) { treewide_hash_many(NULL, (const treewide_bytes *)(void *)bytes, (size_t)-1 / 2, out); }
static void empty_subtree(void) { treewide_subtree(NULL, 0, bytes, 0, out); }
static void odd_offset(void) { treewide_subtree(NULL, 1000, bytes, 10, out); }
static void long_subtree(void) { treewide_subtree(NULL, 1024, bytes, 1025, out); }
static void lone_subtree(void) { treewide_merge_root(NULL, bytes, 1, out, 32); }

/* The message of `misuse`, which aborts. */
static void expect_abort(void (*misuse)(void), const char *text) {
  char message[500] = "";
  int ends[2], status;
  ssize_t n, len = 0;
  pid_t child;
  CHECK(pipe(ends) == 0 && (child = fork()) >= 0, "fork");
  if (child == 0) {
    dup2(ends[1], 2);
    misuse();
    _exit(0);
  }
  close(ends[1]);
  while ((n = read(ends[0], message + len, sizeof message - 1 - (size_t)len)) > 0)
    len += n;
  close(ends[0]);
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%s: status %d", text, status);
  CHECK(strstr(message, text) != NULL, "`%s` does not say `%s`", message, text);
}

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
