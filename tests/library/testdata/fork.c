/* Kernels on two threads in a process, its child and its grandchild: prints what is wrong. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "s.h"
#include "threads.h"

enum { N = 1 << 20 };
static float x[N], want[N];

static void *call(void *who) {
  float *y = malloc(sizeof want);
  for (int i = 0; i < 20; i++) {
    memset(y, 0, sizeof want);
    if (s_wave(N, x, y))
      printf("%s: %s\n", (char *)who, s_last_error());
    if (memcmp(y, want, sizeof want))
      printf("%s: another result\n", (char *)who);
  }
  free(y);
  return 0;
}

/* Two threads call at once, one of which makes the workers. */
static void calls(char *who) {
  pthread_t other;
  int before = threads();
  pthread_create(&other, 0, call, who);
  call(who);
  pthread_join(other, 0);
  if (threads() < 2)
    printf("%s: %d threads before, %d after\n", who, before, threads());
  fflush(stdout);
}

static void child(char *who, char *whose) {
  pid_t p = fork();
  int status;
  if (p) {
    if (waitpid(p, &status, 0) != p || status)
      printf("%s: status %d\n", who, status);
    return;
  }
  alarm(60);
  if (threads() != 1)
    printf("%s: %d threads at first\n", who, threads());
  calls(who);
  if (whose)
    child(whose, 0);
  exit(0);
}

int main(void) {
  alarm(120);
  for (int i = 0; i < N; i++)
    x[i] = i * 1e-3f;
  s_set_threads(1);
  s_wave(N, x, want);
  s_set_threads(2);
  child("a child before the workers", 0);
  calls("the process");
  child("a child", "a grandchild");
  calls("the process again");
  return 0;
}
