/* A test double of hiprtc that forwards to NVRTC: it belongs to hip_cuda.c. RELMGR_DOUBLE_NVRTC names NVRTC's library. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;

static void *entry(const char *name) {
  const char *chosen = getenv("RELMGR_DOUBLE_NVRTC");
  if (!library) library = dlopen(chosen ? chosen : "libnvrtc.so", RTLD_NOW);
  void *found = library ? dlsym(library, name) : 0;
  if (!found) fprintf(stderr, "test double: no %s in NVRTC (%s)\n", name, chosen ? chosen : "libnvrtc.so"), exit(70);
  return found;
}
#define CALL(name, types, ...) (((int(*) types)entry(name))(__VA_ARGS__))

int hiprtcVersion(int *major, int *minor) { return CALL("nvrtcVersion", (int *, int *), major, minor); }

int hiprtcCreateProgram(void **made, const char *source, const char *name, int headers, const char **texts, const char **names) {
  return CALL("nvrtcCreateProgram", (void **, const char *, const char *, int, const char **, const char **), made, source, name, headers, texts, names);
}

int hiprtcCompileProgram(void *made, int count, const char **options) {
  const char *ours[16];
  char arch[64];
  int n = 0;
  for (int i = 0; i < count && n < 16; ++i) {
    if (strncmp(options[i], "--offload-arch=", 15)) {
      ours[n++] = options[i];
      continue;
    }
    snprintf(arch, sizeof arch, "--gpu-architecture=%s", options[i] + 15);
    ours[n++] = arch;
  }
  return CALL("nvrtcCompileProgram", (void *, int, const char **), made, n, ours);
}

int hiprtcGetProgramLogSize(void *made, size_t *bytes) { return CALL("nvrtcGetProgramLogSize", (void *, size_t *), made, bytes); }
int hiprtcGetProgramLog(void *made, char *log) { return CALL("nvrtcGetProgramLog", (void *, char *), made, log); }
int hiprtcGetCodeSize(void *made, size_t *bytes) { return CALL("nvrtcGetCUBINSize", (void *, size_t *), made, bytes); }
int hiprtcGetCode(void *made, char *code) { return CALL("nvrtcGetCUBIN", (void *, char *), made, code); }
