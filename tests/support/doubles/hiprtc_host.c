/* A test double of hiprtc that compiles for the host: it belongs to hip_host.c. The compiler is the system's `cc`. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
enum { COMPILATION = 6 };

struct program { char *source, *code, log[4096]; size_t code_bytes; };

static char *contents(const char *path, size_t *bytes) {
  struct stat about;
  int file = open(path, O_RDONLY);
  if (file < 0 || fstat(file, &about)) return 0;
  char *data = malloc((size_t)about.st_size + 1);
  *bytes = (size_t)read(file, data, (size_t)about.st_size);
  data[*bytes] = 0;
  close(file);
  return data;
}

int hiprtcVersion(int *major, int *minor) {
  *major = 6, *minor = 0;
  return 0;
}

int hiprtcCreateProgram(void **made, const char *source, const char *name, int headers, const char **texts, const char **names) {
  (void)name, (void)headers, (void)texts, (void)names;
  struct program *program = calloc(1, sizeof *program);
  program->source = strdup(source);
  *made = program;
  return 0;
}

int hiprtcCompileProgram(void *made, int count, const char **options) {
  struct program *program = made;
  if (getenv("RELMGR_DOUBLE_ABORT")) abort();
  for (int i = 0; i < count; ++i)
    if (!strncmp(options[i], "--offload-arch=", 15) && strcmp(options[i] + 15, "gfx90a")) {
      snprintf(program->log, sizeof program->log, "unknown target %.64s", options[i] + 15);
      return COMPILATION;
    }
  char folder[] = "/tmp/hiprtc-double-XXXXXX", text[64], library[64], log[64];
  if (!mkdtemp(folder)) return COMPILATION;
  snprintf(text, sizeof text, "%s/k.c", folder), snprintf(library, sizeof library, "%s/k.so", folder), snprintf(log, sizeof log, "%s/log", folder);
  FILE *file = fopen(text, "w");
  fputs(program->source, file), fclose(file);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT, 0600);
  char *command[] = {"cc", "-shared", "-fPIC", "-O1", "-w", "-x", "c", text, "-o", library, 0};
  pid_t child;
  int status = 1;
  if (posix_spawnp(&child, "cc", &actions, 0, command, environ) == 0) waitpid(child, &status, 0);
  if (status == 0) program->code = contents(library, &program->code_bytes);
  size_t bytes = 0;
  char *said = contents(log, &bytes);
  snprintf(program->log, sizeof program->log, "%s", said ? said : "");
  unlink(text), unlink(library), unlink(log), rmdir(folder);
  return program->code ? 0 : COMPILATION;
}

int hiprtcGetProgramLogSize(void *made, size_t *bytes) {
  *bytes = strlen(((struct program *)made)->log) + 1;
  return 0;
}

int hiprtcGetProgramLog(void *made, char *log) {
  strcpy(log, ((struct program *)made)->log);
  return 0;
}

int hiprtcGetCodeSize(void *made, size_t *bytes) {
  *bytes = ((struct program *)made)->code_bytes;
  return 0;
}

int hiprtcGetCode(void *made, char *code) {
  struct program *program = made;
  memcpy(code, program->code, program->code_bytes);
  return 0;
}
