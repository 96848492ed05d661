/* Calls kernels that keep much on the stack on threads of the smallest stack that C libraries give, with each processor
 * that the library has code for; prints what fails, and what differs from a thread with a large one. */
#define _GNU_SOURCE
#include "s.h"
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { N = 700, ROUNDS = 4, DEEP = 9000 };
static float *a, *b, *r[2];
static int32_t nest[2], broad[2], asked[2];
static const char *processor;
static int stoppable;
static volatile int32_t flag;

static void check(const char *what, int32_t code) {
  if (code != HEAL_OK) printf("%s, %s: code %d, %s\n", processor, what, code, s_last_error());
}

static void too_deep(const char *what, int32_t code) {
  if (code != HEAL_RECURSION) printf("%s, %s: code %d where calls are too deep\n", processor, what, code);
}

static void *work(void *result) {
  int i = result != 0;
  s_stoppable(stoppable ? (int32_t *)&flag : 0);
  memset(r[i], 0, sizeof(float) * N * N);
  heal_tensor in[2], out = {r[i], (int64_t[]){N, N}, 0};
  in[0] = (heal_tensor){a, (int64_t[]){N, N}, (int64_t[]){1, N}};
  in[1] = (heal_tensor){b, (int64_t[]){N, N}, (int64_t[]){N, 1}};
  check("prod", s_prod(N, N, N, a, b, r[i]));
  check("prod with strides", s_prod_tensors(in, &out));
  check("sums", s_sums(N, N, a, r[i]));
  int32_t unused;
  check("nested", s_nested(DEEP, &nest[i]));
  check("broad", s_broad(DEEP, &broad[i]));
  check("asking", s_asking(DEEP, &asked[i]));
  too_deep("nested", s_nested(20000, &unused));
  too_deep("broad", s_broad(20000, &unused));
  too_deep("asking", s_asking(20000, &unused));
  s_stoppable(0);
  return 0;
}

static void on(size_t stack, void *(*f)(void *), void *argument) {
  pthread_attr_t attr;
  pthread_t t;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, stack);
  if (pthread_create(&t, &attr, f, argument)) printf("no thread\n");
  else pthread_join(t, 0);
}

/* The host's own parallel loop has small threads, too. */
struct part { heal_task task; void *context; int64_t begin, end; };
static void *part(void *argument) {
  struct part *p = argument;
  p->task(p->context, p->begin, p->end);
  return 0;
}
static void several(void *user, int64_t n, int64_t grain, heal_task task, void *context) {
  struct part p[2] = {{task, context, 0, n / 2}, {task, context, n / 2, n}};
  on(128 << 10, part, &p[0]);
  on(128 << 10, part, &p[1]);
}

/* A kernel is left where it runs, and the next call finds everything as it was. */
static void *later(void *unused) {
  usleep(20000);
  flag = 1;
  return 0;
}
static void *stopped(void *unused) {
  pthread_t t;
  s_stoppable((int32_t *)&flag);
  pthread_create(&t, 0, later, 0);
  int32_t code = HEAL_OK;
  while (code == HEAL_OK) code = s_prod(N, N, N, a, b, r[1]);
  if (code != HEAL_STOPPED) printf("stopped: code %d, %s\n", code, s_last_error());
  pthread_join(t, 0);
  flag = 0;
  check("prod behind one that was stopped", s_prod(N, N, N, a, b, r[1]));
  s_stoppable(0);
  return 0;
}

/* Where there is no memory for a stack, the call fails. */
static void *without(void *unused) {
  struct rlimit old, none;
  getrlimit(RLIMIT_AS, &old);
  none = old;
  none.rlim_cur = 1;
  setrlimit(RLIMIT_AS, &none);
  int32_t code = s_prod(N, N, N, a, b, r[0]);
  setrlimit(RLIMIT_AS, &old);
  if (code != HEAL_MEMORY || strncmp(s_last_error(), "out of memory: ", 15))
    printf("without memory: code %d, %s\n", code, s_last_error());
  return 0;
}

int main(int argc, char **argv) {
#ifdef M_ARENA_MAX
  /* What is large is given back to the system at once, for the last check. */
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
#endif
  a = calloc((size_t)N * N, 4); b = calloc((size_t)N * N, 4);
  r[0] = calloc((size_t)N * N, 4); r[1] = calloc((size_t)N * N, 4);
  for (int i = 0; i < N * N; i++) a[i] = (float)(i % 17) - 8, b[i] = (float)(i % 23) - 11;
  for (int k = 1; k < argc; k++) {
    processor = argv[k];
    if (s_use_cpu(processor) != HEAL_OK) continue;
    for (int round = 0; round < ROUNDS; round++) {
      s_set_threads(round % 2 + 1);
      s_set_parallel_for(round == 2 ? several : 0, 0);
      stoppable = round == 3;
      on(64 << 20, work, 0);
      on(128 << 10, work, &on);
      if (memcmp(r[0], r[1], sizeof(float) * N * N) || nest[0] != nest[1] ||
          broad[0] != broad[1] || asked[0] != asked[1])
        printf("%s: results differ\n", processor);
    }
  }
  s_set_threads(1);
  s_set_parallel_for(0, 0);
  for (int i = 0; i < 3; i++) on(128 << 10, stopped, 0);
  s_release_memory();
  on(128 << 10, without, 0);
  return 0;
}
