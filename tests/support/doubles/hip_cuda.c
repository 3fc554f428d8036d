/* A test double of AMD's HIP runtime that forwards to the CUDA driver: relmgr's calls through hip-python then run on an
 * NVIDIA device. It says nothing about AMD's runtime, and it says its name. The driver is opened at run time, so that
 * this file needs neither CUDA's headers nor its libraries to be built.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUT_OF_RANGE_VALUE = 1, NO_DEVICE = 100, INVALID_IMAGE = 200, ILLEGAL_ADDRESS = 700 };
#define ARCH_OFFSET 1160
#define NAME_BYTES 256
#define MAJOR 75
#define MINOR 76

const char *relmgr_test_double(void) { return "cuda:cuda-forwarding"; }

static void *driver;
static int opened = -1;

/* CUDA and HIP number most errors alike; of CUDA's several kinds of bad address HIP knows one. */
static int as_hip(int code) {
  if (code == 209) return INVALID_IMAGE;
  return code == 714 || (716 <= code && code <= 718) ? ILLEGAL_ADDRESS : code;
}

static void *entry(const char *name) {
  void *found = driver ? dlsym(driver, name) : 0;
  if (!found) fprintf(stderr, "test double: no %s in libcuda\n", name), exit(70);
  return found;
}
#define CALL(name, types, ...) as_hip(((int(*) types)entry(name))(__VA_ARGS__))

static int up(void) {
  if (opened >= 0) return opened;
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) return opened = NO_DEVICE;
  int device;
  void *context;
  if ((opened = CALL("cuInit", (unsigned), 0))) return opened;
  if ((opened = CALL("cuDeviceGet", (int *, int), &device, 0))) return opened;
  if ((opened = CALL("cuDevicePrimaryCtxRetain", (void **, int), &context, device))) return opened;
  return opened = CALL("cuCtxSetCurrent", (void *), context);
}

int hipGetDeviceCount(int *count) {
  int code = up();
  return code ? code : CALL("cuDeviceGetCount", (int *), count);
}

int hipSetDevice(int device) { return device ? OUT_OF_RANGE_VALUE : up(); }

int hipGetDevicePropertiesR0600(void *properties, int device) {
  int major = 0, minor = 0, code = CALL("cuDeviceGetName", (char *, int, int), properties, NAME_BYTES, device);
  if (!code) code = CALL("cuDeviceGetAttribute", (int *, int, int), &major, MAJOR, device);
  if (!code) code = CALL("cuDeviceGetAttribute", (int *, int, int), &minor, MINOR, device);
  snprintf((char *)properties + ARCH_OFFSET, NAME_BYTES, "sm_%d%d", major, minor);
  return code;
}

int hipRuntimeGetVersion(int *version) {
  *version = 60000000;
  return 0;
}

int hipMalloc(void **pointer, size_t bytes) { return CALL("cuMemAlloc_v2", (uint64_t *, size_t), (uint64_t *)pointer, bytes); }

int hipMemcpy(void *to, const void *from, size_t bytes, int kind) {
  if (kind == 1) return CALL("cuMemcpyHtoD_v2", (uint64_t, const void *, size_t), (uint64_t)(uintptr_t)to, from, bytes);
  return CALL("cuMemcpyDtoH_v2", (void *, uint64_t, size_t), to, (uint64_t)(uintptr_t)from, bytes);
}

int hipModuleLoadData(void **module, const void *image) { return CALL("cuModuleLoadData", (void **, const void *), module, image); }

int hipModuleGetFunction(void **function, void *module, const char *name) {
  return CALL("cuModuleGetFunction", (void **, void *, const char *), function, module, name);
}

int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **parameters, void **extra) {
  void *ours[5];
  if (extra) {
    memcpy(ours, extra, sizeof ours);
    /* HIP's end marker is 3, CUDA's is 0: anything else is a caller's mistake. */
    if ((intptr_t)ours[4] != 3) return OUT_OF_RANGE_VALUE;
    ours[4] = 0;
  }
  return CALL("cuLaunchKernel",
              (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **),
              function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra ? ours : 0);
}

int hipStreamCreate(void **stream) { return CALL("cuStreamCreate", (void **, unsigned), stream, 1); }

int hipStreamQuery(void *stream) { return CALL("cuStreamQuery", (void *), stream); }
