// All stages for the host, to be called by their names, as the driver does.

#include "host.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <tuple>

// So that what a block shares is not shared between libraries with different parameters.
namespace {
#include "../blobs.cu"
#include "../parents.cu"
#include "../tiles.cu"
#include "../whole.cu"
#include "../xof.cu"
} // namespace

// A kernel with its arguments, which are copied: `arguments` has the address of each.
template <class... A, size_t... I>
static std::function<void()> copy(
    void (*kernel)(A...), void **arguments, std::index_sequence<I...>
) {
    const auto copies = std::make_tuple(*(std::remove_const_t<A> *)arguments[I]...);
    return [=] { std::apply(kernel, copies); };
}

template <class... A> static std::function<void()> bind(void (*kernel)(A...), void **arguments) {
    return copy(kernel, arguments, std::index_sequence_for<A...>());
}

// A kernel that is ready to run, or null if there is none of that name.
extern "C" std::function<void()> *treewide_bind(const char *name, void **arguments) {
    const std::string it = name;
    std::function<void()> kernel;
    if (it == "blobs") kernel = bind(blobs, arguments);
    if (it == "parents") kernel = bind(parents, arguments);
    if (it == "tiles") kernel = bind((void (*)(Mode, Spans))tiles, arguments);
    if (it == "tiles_by_four") kernel = bind(tiles_by_four, arguments);
    if (it == "whole") kernel = bind(whole, arguments);
    if (it == "xof") kernel = bind(xof, arguments);
    return kernel ? new std::function<void()>(kernel) : nullptr;
}

// Runs it: blocks and the threads of each in their order, or blocks in an order that is another one in
// each launch, and threads in the opposite one.
extern "C" void treewide_run(
    std::function<void()> *kernel, u32 blocks, u32 threads, bool backwards
) {
    static std::mt19937 random;
    std::vector<u32> order(blocks);
    std::iota(order.begin(), order.end(), 0);
    if (backwards) std::shuffle(order.begin(), order.end(), random);
    block.kernel = *kernel;
    delete kernel;
    blockDim.x = threads;
    gridDim.x = blocks;
    for (u32 it : order) {
        blockIdx.x = it;
        block.run(threads, backwards);
    }
}
