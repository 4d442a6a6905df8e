/* Prints the BLAKE3 digest of each file, as b3sum does: sum FILE...; standard input without arguments. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "treewide.h"

static int failed;

/* Prints what went wrong with a file, and continues with the next one. */
static void complain(const char *name, const char *text) {
  fprintf(stderr, "sum: %s: %s\n", name, text);
  failed = 1;
}

static void print(const treewide_hasher *hasher, const char *name) {
  uint8_t digest[TREEWIDE_OUT_LEN];
  char text[TREEWIDE_HEX_LEN];
  treewide_finalize(hasher, 0, digest, sizeof digest);
  treewide_hex(digest, text);
  printf("%s", text);
  if (name != NULL)
    printf("  %s", name);
  printf("\n");
}

/* From here on all bytes of `file`. */
static void sum(FILE *file, const char *name) {
  static unsigned char buffer[1 << 16];
  treewide_hasher hasher;
  size_t len;
  treewide_init(&hasher, NULL);
  while ((len = fread(buffer, 1, sizeof buffer, file)) > 0)
    treewide_update(&hasher, buffer, len);
  if (ferror(file))
    complain(name == NULL ? "standard input" : name, strerror(errno));
  else
    print(&hasher, name);
}

int main(int argc, char **argv) {
  int i;
  if (argc < 2)
    sum(stdin, NULL);
  for (i = 1; i < argc; i++) {
    FILE *file = fopen(argv[i], "rb");
    if (file == NULL) {
      complain(argv[i], strerror(errno));
      continue;
    }
    sum(file, argv[i]);
    fclose(file);
  }
  if (fflush(stdout) != 0)
    complain("standard output", strerror(errno));
  return failed;
}
