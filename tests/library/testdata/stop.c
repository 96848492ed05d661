/* Stops calls in every kind of kernel, by a thread and by a handler of a signal; prints what did not end as it should. */
#define _GNU_SOURCE
#include "s.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { N = 3000, M = 20000000 };
static volatile int32_t flag;
static volatile double at;
static float *a, *r, *x, *y;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}
static void set(int signal) { at = now(); flag = 1; }
static void *later(void *unused) { usleep(30000); set(0); return 0; }
static void plain(void *user, int64_t n, int64_t grain, heal_task task, void *context) { task(context, 0, n); }

static int32_t call(int what, int times) {
  double d;
  switch (what) {
  case 0: return s_turns(times, 1.0, &d);
  case 1: return s_prod(N, N, N, a, a, r);
  case 2: return s_sorted(M, x, y);
  }
  return s_steps(100000, times, x, y);
}

int main(void) {
  a = calloc((size_t)N * N, 4); r = calloc((size_t)N * N, 4); x = malloc(M * 4L); y = malloc(M * 4L);
  for (long i = 0; i < M; i++) x[i] = (float)rand();
  signal(SIGALRM, set);
  /* Threads of the library have the stack that their kernels need, whatever the host gives to its own. */
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 << 10);
  pthread_setattr_default_np(&small);
  for (int round = 0; round < 16; round++) {
    int what = round % 4, thread = round / 4 % 2;
    pthread_t t;
    s_set_threads(round % 3 + 1);
    s_set_parallel_for(round % 5 == 4 ? plain : NULL, NULL);
    s_stoppable(&flag);
    flag = 0;
    if (thread) pthread_create(&t, 0, later, 0); else ualarm(30000, 0);
    int32_t code = call(what, 2000000000);
    double ms = (now() - at) * 1e3;
    if (code != HEAL_STOPPED || strcmp(s_last_error(), "the call was stopped") || ms > 2000)
      printf("%d: code %d, %s, %.1f ms\n", round, code, s_last_error(), ms);
    if (thread) pthread_join(t, 0);
    if (call(what, 2) != HEAL_STOPPED) printf("%d: a call with a flag that is set goes on\n", round);
    s_stoppable(NULL);
    if (call(0, 2) != HEAL_OK) printf("%d: a call without a flag was stopped\n", round);
  }
  flag = 0;
  s_stoppable(&flag);
  if (call(1, 0) != HEAL_OK) printf("a call that nobody stops: %s\n", s_last_error());
  return 0;
}
