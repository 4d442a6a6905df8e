/* Prints the sizes on which programs that exist rely. */
#include <stdio.h>

#include "blake3.h"
#include "treewide.h"

#define SIZE(type)                                                                                                     \
  do {                                                                                                                 \
    struct aligned {                                                                                                   \
      char c;                                                                                                          \
      type t;                                                                                                          \
    };                                                                                                                 \
    printf("%s is %u bytes, aligned to %u\n", #type, (unsigned)sizeof(type), (unsigned)offsetof(struct aligned, t));   \
  } while (0)

int main(void) {
  SIZE(blake3_chunk_state);
  SIZE(blake3_hasher);
  SIZE(treewide_hasher);
  SIZE(treewide_mode);
  SIZE(treewide_reader);
  SIZE(treewide_bytes);
  SIZE(treewide_file_options);
  return 0;
}
