/* Links libblake3.a and another static library of Rust. */
#include "blake3.h"

#include "common.h"

size_t other_rust_length(uint32_t n);

int main(void) {
  blake3_hasher hasher;
  uint8_t out[4];
  blake3_hasher_init(&hasher);
  blake3_hasher_finalize(&hasher, out, sizeof out);
  CHECK(out[0] == 0xaf && out[3] == 0xb9, "the digest of nothing begins with %02x", out[0]);
  CHECK(other_rust_length(1234) == 12, "%u", (unsigned)other_rust_length(1234));
  printf("capi/two Rust libraries: %lu cases\n", cases);
  return 0;
}
