// The frames of calls that are interrupted anywhere in kernels: each has the function that called the library.
#include "s.h"
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { N = 4096, WANTED = 12, FRAMES = 64 };

static char *low, *high; // code of kernels
static volatile int in_kernel, broken;
static float x[N], y[N];
static int32_t flag;

static int caller(void) __attribute__((noinline, noclone));
static int caller(void) {
  int code = s_softmax(N, x, y);
  __asm__ volatile("" ::: "memory"); // the call is no jump
  return code;
}

static void tick(int signal) {
  void *frames[FRAMES];
  int n = backtrace(frames, FRAMES), kernel = 0, found = 0;
  (void)signal;
  for (int i = 0; i < n; i++) {
    char *at = frames[i];
    kernel |= at >= low && at < high;
    found |= at > (char *)caller && at < (char *)caller + 128;
  }
  in_kernel += kernel;
  broken += kernel && !found;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  // The kernels lie where the test has found them, as far from a function of the header.
  char *base = (char *)s_softmax;
  low = base + strtoll(argv[1], NULL, 10);
  high = base + strtoll(argv[2], NULL, 10);
  void *first[1];
  backtrace(first, 1); // loads what it needs
  for (int i = 0; i < N; i++) x[i] = (float)(i % 7);
  s_set_threads(1);
  signal(SIGPROF, tick);
  struct itimerval often = {{0, 500}, {0, 500}};
  setitimer(ITIMER_PROF, &often, NULL);
  for (int stoppable = 0; stoppable < 2; stoppable++) {
    in_kernel = 0;
    if (stoppable) s_stoppable(&flag);
    for (int i = 0; i < 400000 && in_kernel < WANTED; i++)
      if (caller() != 0) puts(s_last_error());
    if (in_kernel < WANTED) printf("interrupted %d times in kernels\n", in_kernel);
  }
  if (broken) printf("%d stacks end in a kernel\n", broken);
  return 0;
}
