/* Files whose reading and length disagree, as `treewide/tests/lengths.c` makes it, which is loaded before this program.
 * The argument is a folder. */
#include "treewide.h"

#include "common.h"

static void expect(const char *folder, const char *name, int expected) {
  uint8_t digest[32], *bytes = random_bytes(70000);
  char path[1000];
  FILE *file;
  int code;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  file = fopen(path, "wb");
  CHECK(file != NULL && fwrite(bytes, 1, 70000, file) == 70000 && fclose(file) == 0, "cannot write %s", path);
  code = treewide_hash_file(NULL, path, NULL, digest, 32);
  CHECK(code == expected, "%s: %d, %s", name, code, treewide_strerror(code));
  CHECK(remove(path) == 0, "%s", path);
  free(bytes);
}

int main(int argc, char **argv) {
  CHECK(argc == 2, "which folder?");
  expect(argv[1], "cut", TREEWIDE_E_ENDED);
  expect(argv[1], "low", TREEWIDE_E_GOES_ON);
  expect(argv[1], "good", 0);
  printf("capi/ends: %lu cases\n", cases);
  return 0;
}
