// What is used of NVIDIA's driver, for a device that is the CPU: so that all that talks to the driver
// is tested where there is none. The kernels are the ones linked with it, whatever image is
// loaded, except for an image that is the path of a library with others. As of a driver, an image must be
// one for the device's architecture.
//
// It is as late and as strict as a driver may be. Work of a stream is done when someone waits for it
// or asks twice whether it is done. Memory ends where a page ends, and is gone when it is freed, so
// that what is used too long or too far is a fault. Calls without the context are errors.
//
// Device 0 has many multiprocessors, device 1 has one, and runs blocks in any order and their threads in
// the opposite one.

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

typedef std::function<void()> Kernel;
extern "C" Kernel *treewide_bind(const char *name, void **arguments);
extern "C" void treewide_run(Kernel *kernel, uint32_t blocks, uint32_t threads, bool backwards);

enum Result {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NO_BINARY_FOR_GPU = 209,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ALREADY_REGISTERED = 712,
    NOT_REGISTERED = 713,
};

static std::recursive_mutex turn;
#define IN_TURN std::lock_guard<std::recursive_mutex> guard(turn)

// The objects of each kind.
static struct {
    int contexts, streams, events, memory, modules;
} live;

struct Context {
    int device;
    int retained;
};
static Context contexts[2] = {{0, 0}, {1, 0}};
static thread_local std::vector<Context *> current;

#define IN_CONTEXT                                                                                 \
    IN_TURN;                                                                                       \
    if (current.empty() || current.back()->retained == 0) return INVALID_CONTEXT

struct Stream {
    std::deque<std::function<void()>> work;
    void finish() {
        while (!work.empty()) {
            auto next = work.front();
            work.pop_front();
            next();
        }
    }
};
static Stream default_stream;
static Stream *stream_of(void *stream) {
    return (uintptr_t)stream <= 2 ? &default_stream : (Stream *)stream;
}

struct Event {
    Stream *stream;
    bool done, asked, destroyed;
};

struct Module {
    decltype(&treewide_bind) bind;
    decltype(&treewide_run) run;
};
struct Function {
    Module *module;
    std::string name;
};

// ---- Devices ---------------------------------------------------------------------------------------

// Compute capability of each, times ten.
static int capability[2] = {90, 90};

extern "C" Result cuInit(unsigned) { return SUCCESS; }

extern "C" Result cuDriverGetVersion(int *version) {
    *version = 12000;
    return SUCCESS;
}

extern "C" Result cuDeviceGetCount(int *count) {
    *count = 2;
    return SUCCESS;
}

extern "C" Result cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal < 2 ? SUCCESS : INVALID_DEVICE;
}

extern "C" Result cuDeviceGetName(char *name, int length, int device) {
    snprintf(name, (size_t)length, "kernels on the CPU%s", device == 1 ? ", backwards" : "");
    return SUCCESS;
}

extern "C" Result cuDeviceTotalMem_v2(size_t *bytes, int) {
    *bytes = (size_t)1 << 31;
    return SUCCESS;
}

extern "C" Result cuDeviceGetAttribute(int *value, int attribute, int device) {
    const std::map<int, int> values = {
        {13, 1000000},                 // CLOCK_RATE
        {16, device == 0 ? 1000 : 1},  // MULTIPROCESSOR_COUNT
        {18, 0},                       // INTEGRATED
        {75, capability[device] / 10}, // COMPUTE_CAPABILITY_MAJOR
        {76, capability[device] % 10}, // COMPUTE_CAPABILITY_MINOR
    };
    const auto it = values.find(attribute);
    if (it == values.end()) return INVALID_VALUE;
    *value = it->second;
    return SUCCESS;
}

extern "C" Result cuGetErrorName(Result error, const char **text) {
    static const std::map<Result, const char *> names = {
        {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
        {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
        {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
        {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
        {NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
        {NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
    };
    const auto it = names.find(error);
    *text = it == names.end() ? "some error" : it->second;
    return SUCCESS;
}

extern "C" Result cuGetErrorString(Result error, const char **text) {
    return cuGetErrorName(error, text);
}

// ---- Contexts, streams, events ---------------------------------------------------------------------

extern "C" Result cuDevicePrimaryCtxRetain(Context **context, int device) {
    IN_TURN;
    *context = &contexts[device];
    live.contexts++;
    contexts[device].retained++;
    return SUCCESS;
}

extern "C" Result cuDevicePrimaryCtxRelease_v2(int device) {
    IN_TURN;
    live.contexts--;
    return --contexts[device].retained < 0 ? INVALID_CONTEXT : SUCCESS;
}

extern "C" Result cuCtxPushCurrent_v2(Context *context) {
    IN_TURN;
    if (context->retained == 0) return INVALID_CONTEXT;
    current.push_back(context);
    return SUCCESS;
}

extern "C" Result cuCtxPopCurrent_v2(Context **context) {
    IN_TURN;
    if (current.empty()) return INVALID_CONTEXT;
    *context = current.back();
    current.pop_back();
    return SUCCESS;
}

extern "C" Result cuStreamCreate(Stream **stream, unsigned) {
    IN_CONTEXT;
    live.streams++;
    *stream = new Stream();
    return SUCCESS;
}

extern "C" Result cuStreamDestroy_v2(Stream *stream) {
    IN_CONTEXT;
    live.streams--;
    stream->finish();
    delete stream;
    return SUCCESS;
}

extern "C" Result cuStreamSynchronize(void *stream) {
    IN_CONTEXT;
    stream_of(stream)->finish();
    return SUCCESS;
}

extern "C" Result cuEventCreate(Event **event, unsigned) {
    IN_CONTEXT;
    live.events++;
    *event = new Event{nullptr, true, false, false};
    return SUCCESS;
}

extern "C" Result cuEventRecord(Event *event, void *stream) {
    IN_CONTEXT;
    event->stream = stream_of(stream);
    event->done = event->asked = false;
    event->stream->work.push_back([=] {
        event->done = true;
        if (event->destroyed) delete event;
    });
    return SUCCESS;
}

// Does the work of its stream as far as the event.
static void finish(Event *event) {
    while (!event->done) {
        auto next = event->stream->work.front();
        event->stream->work.pop_front();
        next();
    }
}

extern "C" Result cuEventQuery(Event *event) {
    IN_CONTEXT;
    if (event->asked) finish(event);
    event->asked = true;
    return event->done ? SUCCESS : NOT_READY;
}

extern "C" Result cuEventSynchronize(Event *event) {
    IN_CONTEXT;
    finish(event);
    return SUCCESS;
}

extern "C" Result cuEventElapsedTime(float *milliseconds, Event *start, Event *end) {
    IN_CONTEXT;
    if (!start->done || !end->done) return NOT_READY;
    *milliseconds = 1;
    return SUCCESS;
}

extern "C" Result cuEventDestroy_v2(Event *event) {
    IN_CONTEXT;
    live.events--;
    if (event->done) delete event;
    else event->destroyed = true; // which does not make work be done
    return SUCCESS;
}

// ---- Memory ----------------------------------------------------------------------------------------

struct Pages {
    char *start;
    size_t length;
};
static std::map<void *, Pages> allocated;
static std::map<void *, size_t> registered;

// Up to the end of a page that is followed by none.
static Result allocate(void **address, size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t length = (bytes + 15) / 16 * 16;
    const size_t pages = (length + page - 1) / page * page;
    const int access = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    if (bytes > (size_t)1 << 31) return OUT_OF_MEMORY;
    char *start = (char *)mmap(nullptr, pages + page, access, flags, -1, 0);
    if (start == MAP_FAILED) return OUT_OF_MEMORY;
    if (mprotect(start + pages, page, PROT_NONE) != 0) return OUT_OF_MEMORY;
    // No zeros, as those of a GPU may not be.
    memset(start, 0xa5, pages);
    *address = start + (pages - length);
    allocated[*address] = {start, pages + page};
    live.memory++;
    return SUCCESS;
}

static Result release(void *address) {
    const auto it = allocated.find(address);
    if (it == allocated.end()) return INVALID_VALUE;
    munmap(it->second.start, it->second.length);
    allocated.erase(it);
    live.memory--;
    return SUCCESS;
}

extern "C" Result cuMemAlloc_v2(void **address, size_t bytes) {
    IN_CONTEXT;
    return bytes == 0 ? INVALID_VALUE : allocate(address, bytes);
}

extern "C" Result cuMemFree_v2(void *address) {
    IN_CONTEXT;
    return release(address);
}

extern "C" Result cuMemHostAlloc(void **address, size_t bytes, unsigned) {
    IN_CONTEXT;
    return bytes == 0 ? INVALID_VALUE : allocate(address, bytes);
}

extern "C" Result cuMemFreeHost(void *address) {
    IN_CONTEXT;
    return release(address);
}

extern "C" Result cuMemHostRegister_v2(void *address, size_t bytes, unsigned) {
    IN_CONTEXT;
    if (address == nullptr || bytes == 0) return INVALID_VALUE;
    if (registered.count(address) != 0) return ALREADY_REGISTERED;
    registered[address] = bytes;
    live.memory++;
    return SUCCESS;
}

extern "C" Result cuMemHostUnregister(void *address) {
    IN_CONTEXT;
    if (registered.erase(address) == 0) return NOT_REGISTERED;
    live.memory--;
    return SUCCESS;
}

static Result copy(void *to, const void *from, size_t bytes, void *stream) {
    stream_of(stream)->work.push_back([=] { memcpy(to, from, bytes); });
    return SUCCESS;
}

extern "C" Result cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t bytes, void *stream) {
    IN_CONTEXT;
    return copy(to, from, bytes, stream);
}

// Bytes that have come to the host.
static size_t copied_back = 0;

extern "C" Result cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t bytes, void *stream) {
    IN_CONTEXT;
    copied_back += bytes;
    return copy(to, from, bytes, stream);
}

extern "C" Result cuMemsetD8Async(void *to, unsigned char value, size_t bytes, void *stream) {
    IN_CONTEXT;
    stream_of(stream)->work.push_back([=] { memset(to, value, bytes); });
    return SUCCESS;
}

// ---- Kernels ---------------------------------------------------------------------------------------

// The architecture that machine code is for, or 0 if it is not of a GPU.
static int machine_code(const unsigned char *image) {
    if (memcmp(image, "\x7f" "ELF", 4) != 0 || image[18] != 190) return 0;
    // Of the flags, where newer compilers have it and where older ones have.
    return image[8] >= 8 ? image[49] : image[48];
}

// The last image that was loaded: its architecture if it was machine code, minus that if it was PTX.
static int loaded = 0;

extern "C" Result cuModuleLoadData(Module **module, const void *image) {
    IN_CONTEXT;
    Module it = {treewide_bind, treewide_run};
    const int has = capability[current.back()->device];
    const char *target = strstr((const char *)image, "\n.target sm_"); // of PTX
    if (const int wanted = machine_code((const unsigned char *)image)) {
        if (wanted / 10 != has / 10 || wanted > has) return NO_BINARY_FOR_GPU;
        loaded = wanted;
    } else if (target != nullptr) {
        const int wanted = atoi(target + strlen("\n.target sm_"));
        if (wanted > has) return NO_BINARY_FOR_GPU;
        loaded = -wanted;
    } else {
        void *library = dlopen((const char *)image, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return *(const char *)image == '/' ? NOT_FOUND : INVALID_IMAGE;
        it.bind = (decltype(it.bind))dlsym(library, "treewide_bind");
        it.run = (decltype(it.run))dlsym(library, "treewide_run");
    }
    live.modules++;
    *module = new Module(it);
    return SUCCESS;
}

extern "C" Result cuModuleGetFunction(Function **function, Module *module, const char *name) {
    IN_CONTEXT;
    // For good: functions have no end of their own.
    *function = new Function{module, name};
    return SUCCESS;
}

extern "C" Result cuModuleUnload(Module *module) {
    IN_CONTEXT;
    live.modules--;
    delete module;
    return SUCCESS;
}

extern "C" Result cuLaunchKernel(
    Function *function, unsigned blocks, unsigned blocks_y, unsigned blocks_z, unsigned threads,
    unsigned threads_y, unsigned threads_z, unsigned shared, void *stream, void **arguments, void **
) {
    IN_CONTEXT;
    if (blocks == 0 || blocks_y * blocks_z * threads_y * threads_z != 1 || shared != 0) {
        return INVALID_VALUE;
    }
    const Module module = *function->module;
    Kernel *kernel = module.bind(function->name.c_str(), arguments);
    if (kernel == nullptr) return INVALID_HANDLE;
    const bool backwards = current.back()->device == 1;
    stream_of(stream)->work.push_back([=] { module.run(kernel, blocks, threads, backwards); });
    return SUCCESS;
}

// ---- For tests -------------------------------------------------------------------------------------

// Lets a device be of another architecture.
extern "C" void treewide_pretend(int device, int architecture) {
    IN_TURN;
    capability[device] = architecture;
}

extern "C" int treewide_loaded() {
    IN_TURN;
    return loaded;
}

extern "C" size_t treewide_copied_back() {
    IN_TURN;
    return copied_back;
}

// What is left of all that was made, and of contexts that this thread made current.
extern "C" int treewide_left_over() {
    IN_TURN;
    return live.contexts + live.streams + live.events + live.memory + live.modules +
           (int)current.size() + (int)default_stream.work.size();
}
