/* A test double of a provider's compiler library: it answers with files that the test laid out, one for each symbol.
 *
 * RELMGR_MIIR_DOUBLE names their folder; `--kernel_name NAME` in the options chooses NAME.bin. Built with -DOLD it lacks
 * the functions that came with newer headers; with -DABORTS it ends its process, as a compiler with a fault does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS, INVALID_PARAM, INVALID_MODULE, BUILD_FAILURE };
struct handle { char name[256]; char *binary; long bytes; };

void *miirCreateHandle(const char *options) {
  const char *name = strstr(options, "--kernel_name ");
  if (!name) return 0;
  struct handle *handle = calloc(1, sizeof *handle);
  sscanf(name, "--kernel_name %200s", handle->name);
  puts("a library that prints");
  fflush(stdout);
  return handle;
}

int miirGetKernelCount(void *handle) { return handle ? 1 : 0; }

int miirLowerBin(void *made) {
  struct handle *handle = made;
  char path[1024];
#ifdef ABORTS
  fputs("LLVM ERROR: out of ideas\n", stderr);
  abort();
#endif
  snprintf(path, sizeof path, "%s/%s.bin", getenv("RELMGR_MIIR_DOUBLE"), handle->name);
  FILE *file = fopen(path, "rb");
  if (!file) return BUILD_FAILURE;
  fseek(file, 0, SEEK_END);
  handle->bytes = ftell(file);
  rewind(file);
  handle->binary = malloc((size_t)handle->bytes);
  if (fread(handle->binary, 1, (size_t)handle->bytes, file) != (size_t)handle->bytes) return BUILD_FAILURE;
  fclose(file);
  return SUCCESS;
}

int miirBufferGet(void *made, char *buffer, size_t *size) {
  struct handle *handle = made;
  if (!handle->binary) return INVALID_MODULE;
  if (buffer) memcpy(buffer, handle->binary, *size);
  else *size = (size_t)handle->bytes;
  return SUCCESS;
}

int miirGetExecutionDims(void *handle, size_t *global_size, size_t *local_size) {
  *global_size = 1344, *local_size = 64;
  return handle ? SUCCESS : INVALID_PARAM;
}

int miirDestroyHandle(void *handle) {
  free(handle);
  return SUCCESS;
}

#ifndef OLD
int miirLowerTuningParams(void *handle) { return handle ? SUCCESS : INVALID_PARAM; }
int miirGetWorkspaceSize(void *handle) { return handle ? 0 : -1; }
#endif
