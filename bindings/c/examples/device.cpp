// The BLAKE3 digest of a file's bytes in the memory of a GPU: device FILE.
//
//   nvcc device.cpp -ltreewide_gpu -ltreewide -o device
//
// Without the CUDA runtime it takes memory of the host for memory of the device, which is right only for a driver that is a
// program, as in the tests.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "treewide_gpu.h"

#if __has_include(<cuda_runtime.h>)
#include <cuda_runtime.h>

static void *to_device(const std::vector<char> &bytes) {
  void *memory = nullptr;
  if (cudaMalloc(&memory, bytes.size() + 1) != cudaSuccess ||
      cudaMemcpy(memory, bytes.data(), bytes.size(), cudaMemcpyHostToDevice) != cudaSuccess)
    throw std::runtime_error("the bytes do not fit into the memory of the device");
  return memory;
}
#else
static void *to_device(const std::vector<char> &bytes) { return const_cast<char *>(bytes.data()); }
#endif

struct Close {
  void operator()(treewide_gpu *device) const { treewide_gpu_close(device); }
};

static void check(int code) {
  if (code != 0)
    throw std::runtime_error(treewide_gpu_error());
}

int main(int argc, char **argv) {
  try {
    if (argc != 2)
      throw std::runtime_error("usage: device FILE");
    std::ifstream file(argv[1], std::ios::binary);
    if (!file)
      throw std::runtime_error(std::string(argv[1]) + ": cannot be opened");
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};

    treewide_gpu *opened;
    check(treewide_gpu_open(0, nullptr, &opened));
    const std::unique_ptr<treewide_gpu, Close> device(opened);

    // Two buffers in one call: the file, and the file without its first byte; then with a key.
    const auto address = reinterpret_cast<std::uint64_t>(to_device(bytes));
    const std::uint64_t skipped = bytes.empty() ? 0 : 1;
    const std::uint64_t addresses[] = {address, address + skipped}, lengths[] = {bytes.size(), bytes.size() - skipped};
    std::array<std::uint8_t, 2 * TREEWIDE_OUT_LEN> digests;
    check(treewide_gpu_hash(device.get(), nullptr, addresses, lengths, 2, digests.data()));

    const std::uint8_t key[TREEWIDE_KEY_LEN] = {1, 2, 3};
    treewide_mode mode;
    treewide_mode_keyed(&mode, key);
    std::array<std::uint8_t, TREEWIDE_OUT_LEN> code;
    check(treewide_gpu_hash(device.get(), &mode, addresses, lengths, 1, code.data()));

    for (std::size_t i = 0; i < digests.size(); i++)
      std::printf("%02x%s", digests[i], i % 32 == 31 ? "\n" : "");
    for (std::uint8_t byte : code)
      std::printf("%02x", byte);
    std::printf("\n");
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "device: %s\n", error.what());
    return 1;
  }
}
