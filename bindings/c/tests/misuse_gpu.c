/* NULL where there are buffers ends the program with a message. */
#include "misuse.h"

#include "treewide_gpu.h"

static treewide_gpu *device;
static uint64_t none[1];
static uint8_t digest[32];

static void null_addresses(void) { treewide_gpu_hash(device, NULL, NULL, none, 1, digest); }
static void null_lengths(void) { treewide_gpu_hash(device, NULL, none, NULL, 1, digest); }
static void null_digests(void) { treewide_gpu_hash(device, NULL, none, none, 1, NULL); }
static void null_devices(void) { treewide_gpu_devices(NULL, 1); }
static void null_lengths_to(void) { treewide_gpu_hash_to(device, NULL, none, NULL, 1, 0); }

int main(void) {
  CHECK(treewide_gpu_open(0, NULL, &device) == 0, "%s", treewide_gpu_error());
  expect_abort(null_addresses, "NULL stands for no bytes, not for 8");
  expect_abort(null_lengths, "NULL stands for no bytes, not for 8");
  expect_abort(null_digests, "NULL stands for no bytes, not for 32");
  expect_abort(null_lengths_to, "NULL stands for no bytes, not for 8");
  expect_abort(null_devices, "NULL stands for no devices, not for 1");
  CHECK(treewide_gpu_hash(device, NULL, NULL, NULL, 0, NULL) == 0, "%s", treewide_gpu_error());
  CHECK(treewide_gpu_hash_to(device, NULL, NULL, NULL, 0, 0) == 0, "%s", treewide_gpu_error());
  treewide_gpu_close(device);
  printf("capi/misuse_gpu: %lu cases\n", cases);
  return 0;
}
