
// Behind the program of docs/gpu.md: calls it, also in the ways that the documentation only mentions.
#include "common.h"

int main() {
    static uint8_t bytes[200001], digests[64], expected[32];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = static_cast<uint8_t>(i % 251);
    treewide_hash(bytes + 1, sizeof bytes - 1, expected);
    CHECK(treewide_equal(digest(bytes + 1, sizeof bytes - 1, 0, nullptr).data(), expected), "a digest");
    try {
        digest(bytes, 1, -1, nullptr);
        CHECK(false, "device -1");
    } catch (const std::runtime_error &error) {
        CHECK(std::string(error.what()).find("there is no CUDA device -1") == 0, "%s", error.what());
    }
    // Left on the device, which has the memory of the host here; with a key.
    treewide_gpu *gpu;
    CHECK(treewide_gpu_open(0, nullptr, &gpu) == 0, "%s", treewide_gpu_error());
    treewide_mode mode;
    treewide_mode_keyed(&mode, bytes);
    const uint64_t addresses[] = {reinterpret_cast<uint64_t>(bytes), reinterpret_cast<uint64_t>(bytes + 7)}, lengths[] = {0, 5000};
    CHECK(treewide_gpu_hash_to(gpu, &mode, addresses, lengths, 2, reinterpret_cast<uint64_t>(digests)) == 0, "%s", treewide_gpu_error());
    for (size_t i = 0; i < 2; i++) {
        treewide_hash_mode(&mode, bytes + 7 * i, lengths[i], expected, 32);
        CHECK(treewide_equal(expected, digests + 32 * i), "digest %lu", static_cast<unsigned long>(i));
    }
    CHECK(treewide_gpu_hash(gpu, nullptr, nullptr, nullptr, 0, nullptr) == 0, "nothing");
    CHECK(treewide_gpu_hash_to(gpu, nullptr, addresses, lengths, 2, reinterpret_cast<uint64_t>(digests) + 1) == TREEWIDE_GPU_E, "odd place");
    CHECK(std::string(treewide_gpu_error()).size() > 10, "%s", treewide_gpu_error());
    treewide_gpu_close(gpu);
    treewide_gpu_close(nullptr);
    std::printf("capi/gpu: %lu cases\n", cases);
}
