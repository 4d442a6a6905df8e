// Hashes blobs of at most one chunk, one thread each, and counts the others.

#include "../shared/chunk.cuh"

struct Blobs {
    u64 input;   // address of the byte with the offset `base`
    u64 length;  // of it, bytes
    u64 offsets; // address of `count + 1` integers of 64 bits, at a multiple of 4
    u64 out;     // address of digests
    u64 left;    // address of the number of others
    u64 base;
    u64 last; // blobs that start after it are not for this launch
    u32 count;
    u32 zero;
};

extern "C" __global__ void __launch_bounds__(128, RESIDENT)
blobs(const Mode mode, const Blobs all) {
    const u32 number = blockIdx.x * 128 + threadIdx.x;
    Chunk chunk = {};
    bool exists = false;
    if (number < all.count) {
        const u32 *words = (const u32 *)all.offsets + 2 * (u64)number;
        const u64 from = __ldg(words) | (u64)__ldg(words + 1) << 32;
        const u64 to = __ldg(words + 2) | (u64)__ldg(words + 3) << 32;
        if (from >= all.base && from <= all.last) {
            exists = to >= from && to - from <= CHUNK_BYTES && to - all.base <= all.length;
            if (!exists) atomicAdd((u32 *)all.left, 1u);
        }
        chunk.address = all.input + (from - all.base);
        chunk.length = (u32)(to - from);
        chunk.last = ROOT;
    }
    const Node node = hash_chunk(chunk, exists, mode);
    if (exists) store<8>(all.out + (u64)number * 32, node.cv);
}
