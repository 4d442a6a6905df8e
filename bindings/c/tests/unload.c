/* A program that unloads libtreewide after it hashed a mapped file: unload LIBRARY FILE [own]. The SIGBUS afterwards ends it, or
 * with "own" reaches the handler that it had before. */
#define _POSIX_C_SOURCE 200809L

#include "treewide.h"

#include "common.h"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

typedef int hash_file(const treewide_mode *, const char *, const treewide_file_options *, uint8_t *, size_t);

static void own(int signal) { _exit(signal == SIGBUS ? 0 : 1); }

int main(int argc, char **argv) {
  treewide_file_options options = {TREEWIDE_FILE_MMAP, 1, 0, {0}};
  uint8_t digest[TREEWIDE_OUT_LEN];
  void *library, *symbol;
  hash_file *hash;
  CHECK(argc >= 3, "usage: unload LIBRARY FILE [own]");
  if (argc > 3)
    signal(SIGBUS, own);
  library = dlopen(argv[1], RTLD_NOW);
  CHECK(library != NULL, "%s", dlerror());
  symbol = dlsym(library, "treewide_hash_file");
  memcpy(&hash, &symbol, sizeof hash);
  CHECK(hash(NULL, argv[2], &options, digest, sizeof digest) == 0, "%s", argv[2]);
  CHECK(dlclose(library) == 0, "%s", dlerror());
  raise(SIGBUS);
  return 1;
}
