/* Files without memory for their buffers. The argument is a file of at least 4 MiB. */
#define _DEFAULT_SOURCE

#include <errno.h>
#include <malloc.h>
#include <sys/resource.h>

#include "treewide.h"

#include "common.h"

/* The bytes of addresses in use. */
static rlim_t in_use(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1 && fclose(file) == 0, "no /proc/self/statm");
  return (rlim_t)pages * 4096;
}

int main(int argc, char **argv) {
  uint8_t digest[32], again[32], *input;
  treewide_file_options options = {0};
  struct rlimit least, all;
  uint32_t strategy;
  int code;
  CHECK(argc == 2, "which file?");
  /* What is freed goes back to the system, and does not become the next buffer. */
  CHECK(mallopt(M_MMAP_THRESHOLD, 65536) == 1, "mallopt");
  CHECK(treewide_hash_file(NULL, argv[1], NULL, digest, 32) == 0, "%s", argv[1]);
  /* Starts the threads, which also need memory. */
  input = random_bytes(1 << 21);
  {
    treewide_hasher hasher;
    treewide_init(&hasher, NULL);
    treewide_update_parallel(&hasher, input, 1 << 21);
  }
  free(input);
  CHECK(getrlimit(RLIMIT_AS, &all) == 0, "getrlimit");
  for (strategy = TREEWIDE_FILE_AUTO; strategy <= TREEWIDE_FILE_MMAP_PARALLEL; strategy++) {
    options.strategy = strategy;
    least = all;
    least.rlim_cur = in_use();
    CHECK(setrlimit(RLIMIT_AS, &least) == 0, "setrlimit");
    memset(again, 7, 32);
    code = treewide_hash_file(NULL, argv[1], &options, again, 32);
    CHECK(setrlimit(RLIMIT_AS, &all) == 0, "setrlimit");
    CHECK(code == -ENOMEM && again[0] == 7 && again[31] == 7, "strategy %u: %d, %s", (unsigned)strategy, code, treewide_strerror(code));
    CHECK(treewide_hash_file(NULL, argv[1], &options, again, 32) == 0 && treewide_equal(digest, again), "strategy %u", (unsigned)strategy);
  }
  printf("capi/no_memory: %lu cases\n", cases);
  return 0;
}
