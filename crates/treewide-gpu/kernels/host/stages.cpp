// All stages as one shared library for the host, with one way in that has the shape of the driver's.

#include "host.h"

#include "../blobs.cu"
#include "../pairs.cu"
#include "../parents.cu"
#include "../tiles.cu"
#include "../xof.cu"

// Calls a kernel with its arguments, each of which has an address.
template <class... A, size_t... I>
static void call(void (*kernel)(A...), void **arguments, std::index_sequence<I...>) {
    kernel(*(std::remove_const_t<A> *)arguments[I]...);
}

template <class... A> static std::function<void()> bind(void (*kernel)(A...), void **arguments) {
    return [=] { call(kernel, arguments, std::index_sequence_for<A...>()); };
}

// Runs a kernel; the threads of a block in their order, or in the opposite one. Returns 0, or 1 if
// there is none of that name.
extern "C" int treewide_launch(
    const char *name, u32 blocks, u32 threads, void **arguments, int backwards
) {
    const struct {
        const char *name;
        std::function<void()> kernel;
    } all[] = {
        {"blobs", bind(blobs, arguments)},
        {"pairs", bind(pairs, arguments)},
        {"parents", bind(parents, arguments)},
        {"tiles", bind(+[](Mode mode, Spans spans) { tiles(mode, spans); }, arguments)},
        {"tiles_by_four", bind(tiles_by_four, arguments)},
        {"xof", bind(xof, arguments)},
    };
    for (const auto &it : all) {
        if (strcmp(it.name, name) != 0) continue;
        block.kernel = it.kernel;
        blockDim.x = threads;
        gridDim.x = blocks;
        for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) block.run(threads, backwards != 0);
        return 0;
    }
    return 1;
}

// Memory that ends where a page ends that can be accessed, and before one that cannot: reads beyond
// it do not go unnoticed. `length` is a multiple of 16. Null if there is none.
extern "C" void *treewide_allocate(size_t length) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t pages = (length + page - 1) / page * page;
    char *start = (char *)mmap(
        nullptr, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0
    );
    if (start == MAP_FAILED || mprotect(start + pages, page, PROT_NONE) != 0) return nullptr;
    return start + (pages - length);
}

extern "C" void treewide_free(void *start, size_t length) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t pages = (length + page - 1) / page * page;
    munmap((char *)start - (pages - length), pages + page);
}
