/* A test double of AMD's HIP runtime that has no device: memory is the host's, kernels are functions of a host library.
 *
 * It answers the calls that relmgr makes through hip-python, so that the hip back end runs everywhere. A launch copies
 * the packed arguments in front of a page that may not be read; a bad address in a kernel becomes the sticky error 700
 * that a device would give. It says nothing about how AMD's runtime treats a wrong buffer, and it says its name.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_IMAGE = 200, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700 };
#define PAGE 4096
#define LARGEST (1ull << 30)
/* hipDeviceProp_tR0600: the name stands first, the arch at this place. */
#define ARCH_OFFSET 1160
#define NAME_BYTES 256

typedef void (*kernel_t)(const void *arguments, long long threads);

static int sticky;
static sigjmp_buf landing;
static volatile sig_atomic_t launching;

const char *relmgr_test_double(void) { return "host:host-memory"; }

static void fault(int number) {
  if (launching) siglongjmp(landing, 1);
  signal(number, SIG_DFL);
  raise(number);
}

static void *mapped(size_t bytes) {
  void *area = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return area == MAP_FAILED ? 0 : area;
}

int hipGetDeviceCount(int *count) {
  *count = getenv("RELMGR_DOUBLE_NO_DEVICE") ? 0 : 1;
  return *count ? 0 : NO_DEVICE;
}

int hipSetDevice(int device) { return device ? INVALID_VALUE : sticky; }

int hipGetDevicePropertiesR0600(void *properties, int device) {
  (void)device;
  snprintf((char *)properties, NAME_BYTES, "test double in host memory");
  snprintf((char *)properties + ARCH_OFFSET, NAME_BYTES, "gfx90a:sramecc+:xnack-");
  return sticky;
}

int hipRuntimeGetVersion(int *version) {
  *version = 60000000;
  return 0;
}

int hipMalloc(void **pointer, size_t bytes) {
  if (sticky) return sticky;
  *pointer = bytes > LARGEST ? 0 : mapped(bytes);
  return *pointer ? 0 : OUT_OF_MEMORY;
}

int hipMemcpy(void *to, const void *from, size_t bytes, int kind) {
  (void)kind;
  if (!sticky) memcpy(to, from, bytes);
  return sticky;
}

int hipModuleLoadData(void **module, const void *image) {
  const Elf64_Ehdr *head = image;
  if (sticky) return sticky;
  if (memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_machine != EM_X86_64) return INVALID_IMAGE;
  size_t bytes = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
  int file = memfd_create("module", 0);
  char path[64];
  if (write(file, image, bytes) != (ssize_t)bytes) return INVALID_IMAGE;
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  close(file);
  return *module ? 0 : INVALID_IMAGE;
}

int hipModuleGetFunction(void **function, void *module, const char *name) {
  if (sticky) return sticky;
  *function = dlsym(module, name);
  return *function ? 0 : NOT_FOUND;
}

int hipModuleLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *stream, void **parameters, void **extra) {
  (void)shared, (void)stream;
  if (sticky) return sticky;
  if (parameters || !extra || (intptr_t)extra[0] != 1 || (intptr_t)extra[2] != 2 || (intptr_t)extra[4] != 3) return INVALID_VALUE;
  size_t bytes = *(size_t *)extra[3];
  if (bytes > PAGE) return INVALID_VALUE;
  char *area = mapped(2 * PAGE);
  if (!area || mprotect(area + PAGE, PAGE, PROT_NONE)) return OUT_OF_MEMORY;
  char *arguments = area + PAGE - bytes;
  memcpy(arguments, extra[1], bytes);
  struct sigaction ours, was[2];
  memset(&ours, 0, sizeof ours);
  ours.sa_handler = fault;
  ours.sa_flags = SA_NODEFER;
  sigaction(SIGSEGV, &ours, &was[0]);
  sigaction(SIGBUS, &ours, &was[1]);
  if (sigsetjmp(landing, 1)) {
    sticky = ILLEGAL_ADDRESS;
  } else {
    launching = 1;
    ((kernel_t)function)(arguments, (long long)gx * gy * gz * bx * by * bz);
  }
  launching = 0;
  sigaction(SIGSEGV, &was[0], 0);
  sigaction(SIGBUS, &was[1], 0);
  munmap(area, 2 * PAGE);
  return 0;
}

int hipStreamCreate(void **stream) {
  static int only;
  *stream = &only;
  return sticky;
}

int hipStreamQuery(void *stream) {
  (void)stream;
  return sticky;
}
