/* Prints the sizes on which programs that exist rely. */
#include <stdio.h>

#include "blake3.h"

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
  return 0;
}
