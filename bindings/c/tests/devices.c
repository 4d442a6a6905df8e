/* Devices of every backend: the twin, which is always there, and what the drivers find. The argument is a folder. */
#include "treewide_gpu.h"

#include "common.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(treewide_gpu_info) == 536, "programs rely on it");

#define LEN 9000001u

static uint8_t *bytes;
static treewide_mode modes[2];

static void expect(const treewide_mode *mode, size_t from, size_t len, const uint8_t *digest, const char *what) {
  uint8_t expected[32];
  treewide_hash_mode(mode, bytes + from, len, expected, 32);
  CHECK(memcmp(expected, digest, 32) == 0, "%s: %lu bytes", what, (unsigned long)len);
}

static void of_the_host(const treewide_gpu *gpu, uint32_t backend) {
  static const size_t lengths[] = {0, 1, 1024, 300000, LEN};
  size_t i;
  uint8_t digest[32];
  for (i = 0; i < 2 * sizeof lengths / sizeof *lengths; i++) {
    size_t len = lengths[i / 2];
    const treewide_mode *mode = &modes[i % 2];
    CHECK(treewide_gpu_hash_bytes(gpu, mode, TREEWIDE_GPU_STAGED, bytes, len, digest) == 0, "%s", treewide_gpu_error());
    expect(mode, 0, len, digest, "staged");
    if (treewide_gpu_hash_bytes(gpu, mode, TREEWIDE_GPU_WRAPPED, bytes, len, digest) == 0)
      expect(mode, 0, len, digest, "wrapped");
    else
      CHECK(backend == TREEWIDE_GPU_WGPU && strstr(treewide_gpu_error(), "cannot be pinned"), "%s", treewide_gpu_error());
  }
  CHECK(treewide_gpu_hash_bytes(gpu, NULL, 2, bytes, 1, digest) == TREEWIDE_GPU_E, "no such place");
  CHECK(strstr(treewide_gpu_error(), "TREEWIDE_GPU_STAGED") != NULL, "%s", treewide_gpu_error());
  CHECK(treewide_gpu_is_unified(gpu) == 0 || treewide_gpu_is_unified(gpu) == 1, "one memory or two");
}

static void on_the_device(const treewide_gpu *gpu) {
  treewide_gpu_buffer *buffer;
  uint8_t digest[32];
  CHECK(treewide_gpu_buffer_new(gpu, 300000, &buffer) == 0, "%s", treewide_gpu_error());
  CHECK(treewide_gpu_buffer_write(gpu, buffer, 0, bytes + 7, 4) == 0, "%s", treewide_gpu_error());
  CHECK(treewide_gpu_buffer_write(gpu, buffer, 4, bytes + 11, 299996) == 0, "%s", treewide_gpu_error());
  CHECK(treewide_gpu_buffer_hash(gpu, &modes[1], buffer, 0, 300000, digest) == 0, "%s", treewide_gpu_error());
  expect(&modes[1], 7, 300000, digest, "a buffer");
  CHECK(treewide_gpu_buffer_hash(gpu, NULL, buffer, 3, 200001, digest) == 0, "%s", treewide_gpu_error());
  expect(NULL, 10, 200001, digest, "a part of it");
  CHECK(treewide_gpu_buffer_hash(gpu, NULL, buffer, 1, 300000, digest) == TREEWIDE_GPU_E, "behind its end");
  CHECK(treewide_gpu_buffer_hash(gpu, NULL, buffer, UINT64_MAX, 2, digest) == TREEWIDE_GPU_E, "behind its end");
  CHECK(treewide_gpu_buffer_write(gpu, buffer, 299996, bytes, 8) == TREEWIDE_GPU_E, "behind its end");
  CHECK(treewide_gpu_buffer_write(gpu, buffer, 3, bytes, 8) == TREEWIDE_GPU_E, "byte 3");
  CHECK(treewide_gpu_buffer_new(gpu, UINT64_MAX, &buffer) == TREEWIDE_GPU_E, "more than there is");
  treewide_gpu_buffer_free(buffer);
  treewide_gpu_buffer_free(NULL);
}

static void many(const treewide_gpu *gpu) {
  treewide_gpu_pipeline *pipeline;
  uint8_t digest[32];
  size_t pushed, popped = 0;
  CHECK(treewide_gpu_pipeline_new(gpu, NULL, 0, 1, &pipeline) == TREEWIDE_GPU_E, "no places");
  CHECK(treewide_gpu_pipeline_new(gpu, &modes[1], 3, 20000, &pipeline) == 0, "%s", treewide_gpu_error());
  CHECK(treewide_gpu_pipeline_pop(pipeline, digest) == 0, "no input");
  for (pushed = 0; pushed < 20; pushed++) {
    int code = treewide_gpu_pipeline_push(pipeline, bytes + pushed, pushed * 1000, digest);
    CHECK(code == (pushed >= 3), "%d: %s", code, treewide_gpu_error());
    if (code == 1) {
      expect(&modes[1], popped, popped * 1000, digest, "pipeline");
      popped++;
    }
  }
  CHECK(treewide_gpu_pipeline_push(pipeline, bytes, 20001, digest) == TREEWIDE_GPU_E, "too long");
  while (treewide_gpu_pipeline_pop(pipeline, digest) == 1) {
    expect(&modes[1], popped, popped * 1000, digest, "pipeline");
    popped++;
  }
  CHECK(popped == pushed, "%lu digests", (unsigned long)popped);
  /* Ends with an input on its way. */
  CHECK(treewide_gpu_pipeline_push(pipeline, bytes, 1000, digest) == 0, "%s", treewide_gpu_error());
  treewide_gpu_pipeline_free(pipeline);
  treewide_gpu_pipeline_free(NULL);
}

static int stop_after(void *context, uint64_t read) {
  uint64_t *left = (uint64_t *)context;
  *left -= read < *left ? read : *left;
  return *left == 0;
}

static const char *path;

static int cut(void *context, uint64_t read) {
  (void)context;
  (void)read;
  return truncate(path, 1000);
}

/* Writes to the pipe when nothing was read. */
static int feed(void *context, uint64_t read) {
  int *fed = (int *)context;
  if (read == 0 && !*fed) {
    int end = open(path, O_WRONLY);
    *fed = 1;
    CHECK(end >= 0 && write(end, bytes, 50000) == 50000 && close(end) == 0, "cannot write to %s", path);
  }
  return 0;
}

/* A named pipe, which has no writer when it is opened. */
static void a_pipe(const treewide_gpu *gpu) {
  uint8_t digest[32];
  uint64_t left = 0;
  int fed = 0, code;
  CHECK(mkfifo(path, 0600) == 0, "%s", path);
  code = treewide_gpu_hash_file(gpu, NULL, path, stop_after, &left, digest);
  CHECK(code == TREEWIDE_E_STOPPED, "%d", code);
  CHECK(treewide_gpu_hash_file(gpu, &modes[1], path, feed, &fed, digest) == 0, "%s", treewide_gpu_error());
  expect(&modes[1], 0, 50000, digest, "a pipe");
  CHECK(remove(path) == 0, "%s", path);
}

static void files(const treewide_gpu *gpu) {
  static const size_t lengths[] = {0, 5000, LEN};
  size_t i;
  uint8_t digest[32];
  uint64_t left;
  int code;
  for (i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(bytes, 1, lengths[i], file) == lengths[i] && fclose(file) == 0, "cannot write %s", path);
    left = UINT64_MAX;
    CHECK(treewide_gpu_hash_file(gpu, &modes[1], path, stop_after, &left, digest) == 0, "%s", treewide_gpu_error());
    CHECK(UINT64_MAX - left == lengths[i], "%lu bytes were seen", (unsigned long)(UINT64_MAX - left));
    expect(&modes[1], 0, lengths[i], digest, "a file");
    CHECK(treewide_gpu_hash_file(gpu, NULL, path, NULL, NULL, digest) == 0, "%s", treewide_gpu_error());
    expect(NULL, 0, lengths[i], digest, "a file");
  }
  left = 1;
  code = treewide_gpu_hash_file(gpu, NULL, path, stop_after, &left, digest);
  CHECK(code == TREEWIDE_E_STOPPED, "%d", code);
  code = treewide_gpu_hash_file(gpu, NULL, path, cut, NULL, digest);
  CHECK(code == TREEWIDE_E_SHRANK, "%d", code);
  CHECK(remove(path) == 0, "%s", path);
  CHECK(treewide_gpu_hash_file(gpu, NULL, path, NULL, NULL, digest) == TREEWIDE_GPU_E, "no file");
  CHECK(strncmp(treewide_gpu_error(), path, strlen(path)) == 0, "%s", treewide_gpu_error());
  /* Its length is not known. */
  CHECK(treewide_gpu_hash_file(gpu, NULL, "/proc/version", NULL, NULL, digest) == 0, "%s", treewide_gpu_error());
  CHECK(treewide_hash_file(NULL, "/proc/version", NULL, bytes, 32) == 0 && memcmp(bytes, digest, 32) == 0, "/proc/version");
  left = 1;
  code = treewide_gpu_hash_file(gpu, NULL, "/proc/version", stop_after, &left, digest);
  CHECK(code == TREEWIDE_E_STOPPED, "%d", code);
}

static void device(uint32_t backend, uint32_t index) {
  treewide_gpu *gpu;
  CHECK(treewide_gpu_open_backend(backend, index, &gpu) == 0, "%s", treewide_gpu_error());
  of_the_host(gpu, backend);
  on_the_device(gpu);
  many(gpu);
  files(gpu);
  a_pipe(gpu);
  treewide_gpu_close(gpu);
}

int main(int argc, char **argv) {
  static treewide_gpu_info infos[16];
  static char name[1000];
  size_t found = treewide_gpu_devices(infos, 16), i, tested = 0;
  treewide_gpu *gpu;
  CHECK(argc == 2, "which folder?");
  snprintf(name, sizeof name, "%s/device.bin", argv[1]);
  path = name;
  bytes = random_bytes(LEN);
  treewide_mode_keyed(&modes[1], bytes);
  CHECK(treewide_gpu_devices(NULL, 0) == found && found >= 1, "%lu devices", (unsigned long)found);
  device(TREEWIDE_GPU_TWIN, 0);
  for (i = 0; i < found && i < 16; i++) {
    printf("%u %u: %s: %s\n", (unsigned)infos[i].backend, (unsigned)infos[i].index, infos[i].name, infos[i].problem);
    CHECK(infos[i].name[0] != 0 && infos[i].reserved == 0, "no name");
    if (infos[i].problem[0] == 0) {
      device(infos[i].backend, infos[i].index);
      tested++;
    }
  }
  if (tested == 0)
    printf("SKIPPED: devices other than the twin: the drivers of this machine find none\n");
  CHECK(treewide_gpu_open_backend(7, 0, &gpu) == TREEWIDE_GPU_E && strstr(treewide_gpu_error(), "7 is not"), "no backend 7");
  CHECK(treewide_gpu_open_backend(TREEWIDE_GPU_WGPU, 999, &gpu) == TREEWIDE_GPU_E, "no device 999");
  free(bytes);
  printf("capi/devices: %lu cases\n", cases);
  return 0;
}
