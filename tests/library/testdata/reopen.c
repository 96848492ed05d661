/* Two libraries, one.so and two.so of the folder that is given, opened and closed again and again, each time with calls by
   several threads of their own: prints what is wrong. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "threads.h"

enum { N = 1 << 18, ROUNDS = 10, CALLERS = 4, INDEX = 3 };
static float x[N];

typedef struct {
  const char *name;
  double factor;
  void *handle;
  int32_t (*wave)(int64_t, const float *, float *);
  int32_t (*at)(int64_t, const float *, int32_t, float *);
  const char *(*last_error)(void);
  void (*set_threads)(int32_t);
} library;

static library libraries[] = {{"one", 2}, {"two", -1}};

/* Whether any page of a file of this name is in the process. */
static int mapped(const char *file) {
  char line[4096];
  int found = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps))
    found |= strstr(line, file) != 0;
  if (maps)
    fclose(maps);
  return found;
}

static void *symbol(library *l, const char *what) {
  char name[100];
  snprintf(name, sizeof name, "%s_%s", l->name, what);
  void *found = dlsym(l->handle, name);
  if (!found)
    printf("%s\n", dlerror());
  return found;
}

static void *call(void *of) {
  library *l = of;
  float *y = calloc(N, sizeof *y), one;
  if (l->wave(N, x, y))
    printf("%s: %s\n", l->name, l->last_error());
  for (int i = 0; i < N; i += N / 64)
    if (fabs(y[i] - sin(x[i] * l->factor)) > 1e-6)
      printf("%s: %g of %g\n", l->name, y[i], x[i]);
  if (*l->last_error())
    printf("%s: an error that is not its own: %s\n", l->name, l->last_error());
  if (l == libraries && (l->at(N, x, N, &one) != INDEX || !strstr(l->last_error(), "index 262144 is out of range")))
    printf("%s: no error, but %s\n", l->name, l->last_error());
  free(y);
  return 0;
}

int main(int argc, char **argv) {
  enum { LIBRARIES = sizeof libraries / sizeof *libraries };
  for (int i = 0; i < N; i++)
    x[i] = (float)i / N;
  int before = threads();
  for (int round = 0; round < ROUNDS; round++) {
    pthread_t callers[LIBRARIES][CALLERS];
    for (library *l = libraries; l < libraries + LIBRARIES; l++) {
      char path[4096];
      snprintf(path, sizeof path, "%s/%s.so", argv[1], l->name);
      l->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
      if (!l->handle) {
        printf("%s\n", dlerror());
        return 1;
      }
      l->wave = symbol(l, "wave");
      l->at = symbol(l, "at");
      l->last_error = symbol(l, "last_error");
      l->set_threads = symbol(l, "set_threads");
      l->set_threads(3);
    }
    for (int i = 0; i < LIBRARIES * CALLERS; i++)
      pthread_create(&callers[i % LIBRARIES][i / LIBRARIES], 0, call, libraries + i % LIBRARIES);
    for (int i = 0; i < LIBRARIES * CALLERS; i++)
      pthread_join(callers[i % LIBRARIES][i / LIBRARIES], 0);
    if (threads() <= before)
      printf("round %d: no library has threads of its own\n", round);
    /* The one that was opened first is closed first in one round, and last in the next. */
    for (int i = 0; i < LIBRARIES; i++)
      dlclose(libraries[i ^ (round & 1)].handle);
    for (int wait = 0; wait < 1000 && threads() > before; wait++)
      usleep(1000); /* the kernel takes a thread off the list a moment after it was joined */
    if (threads() != before)
      printf("round %d: %d threads before, %d after\n", round, before, threads());
    for (int i = 0; i < LIBRARIES; i++) {
      char file[100];
      snprintf(file, sizeof file, "/%s.so", libraries[i].name);
      if (mapped(file))
        printf("round %d: %s is still there\n", round, file);
    }
  }
  return argc != 2;
}
