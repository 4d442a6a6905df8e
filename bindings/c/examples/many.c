/* Digests of many short records at once: many FILE. A record is a line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "treewide.h"

static void *need(void *memory) {
  if (memory == NULL) {
    fprintf(stderr, "many: there is not enough memory\n");
    exit(1);
  }
  return memory;
}

int main(int argc, char **argv) {
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  char *data = NULL;
  size_t len = 0, room = 0, n = 0, i, start = 0;
  uint64_t *offsets;
  uint8_t *digests;
  char text[TREEWIDE_HEX_LEN];
  if (file == NULL) {
    fprintf(stderr, "usage: many FILE: %s\n", argc == 2 ? strerror(errno) : "one file is needed");
    return 2;
  }
  do {
    if (len == room)
      data = (char *)need(realloc(data, room = 2 * room + 65536));
    len += start = fread(data + len, 1, room - len, file);
  } while (start > 0);
  fclose(file);

  /* Record i is the bytes from offsets[i] up to offsets[i + 1]. */
  offsets = (uint64_t *)need(malloc((len + 2) * sizeof *offsets));
  offsets[0] = 0;
  for (i = 0; i < len; i++)
    if (data[i] == '\n' || i + 1 == len)
      offsets[++n] = i + 1;
  digests = (uint8_t *)need(malloc(n * TREEWIDE_OUT_LEN + 1));
  if (treewide_hash_packed(NULL, data, len, offsets, n, digests) != 0)
    return 1; /* the offsets above are in order */

  for (i = 0; i < n; i++) {
    treewide_hex(digests + i * TREEWIDE_OUT_LEN, text);
    puts(text);
  }
  free(data);
  free(offsets);
  free(digests);
  return 0;
}
