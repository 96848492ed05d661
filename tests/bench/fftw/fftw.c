// Times functions of rows.heal beside FFTW (plans by FFTW_MEASURE, complex numbers interleaved, as it likes them best), in
// turns in one process: the least processor time of one call and the least wall time, each of many. The results are compared.
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void *plan;
typedef plan many(int, const int *, int, void *, const int *, int, int, void *, const int *, int, int, int, unsigned);
typedef plan real(int, const int *, int, void *, const int *, int, int, void *, const int *, int, int, unsigned);
typedef int32_t heal4(const void *, const void *, void *, void *);
typedef int32_t heal3(const void *, void *, void *);

static void *must(void *p, const char *what) {
  if (!p) fprintf(stderr, "no %s: %s\n", what, dlerror()), exit(1);
  return p;
}

static double now(clockid_t c) {
  struct timespec t;
  clock_gettime(c, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

// A row: its function is KIND_SHAPE. Kinds: d and s transform f64 and f32 along the last axis, c columns, p all axes, r and
// b real numbers forth and back.
struct row {
  char kind;
  int rank, shape[3];
};
static const struct row rows[] = {
    {'d', 1, {1024}}, {'s', 1, {1024}}, {'d', 1, {8192}}, {'d', 1, {65536}}, {'s', 1, {65536}}, {'d', 1, {1048576}},
    {'d', 1, {729}}, {'d', 1, {625}}, {'d', 1, {1000}}, {'d', 1, {61440}}, {'d', 1, {46656}}, {'d', 1, {1009}},
    {'d', 1, {65537}}, {'d', 2, {8192, 16}}, {'d', 2, {2048, 60}}, {'d', 2, {16, 1024}}, {'d', 2, {1000, 1024}},
    {'s', 2, {2000, 1024}}, {'c', 2, {256, 1000}}, {'c', 2, {1024, 1024}}, {'p', 2, {512, 512}}, {'p', 3, {64, 64, 64}},
    {'r', 1, {1024}}, {'r', 1, {65536}}, {'b', 1, {1024}}, {'b', 1, {65536}},
};

static char *aligned(size_t n) {
  void *p;
  if (posix_memalign(&p, 4096, n + 4096)) exit(1);
  memset(p, 0, n + 4096);
  return p;
}

static double get(const char *p, size_t i, int single) { return single ? ((float *)p)[i] : ((double *)p)[i]; }
static void set(char *p, size_t i, int single, double x) {
  if (single) ((float *)p)[i] = x;
  else ((double *)p)[i] = x;
}

int main(int argc, char **argv) {
  if (argc < 2) return fprintf(stderr, "usage: fftw LIBRARY [SECONDS [THREADS [ROW]]]\n"), 2;
  double seconds = argc > 2 ? atof(argv[2]) : 1;
  int threads = argc > 3 ? atoi(argv[3]) : 1;
  void *lib = must(dlopen(argv[1], RTLD_NOW), argv[1]);
  ((void (*)(int32_t))must(dlsym(lib, "rows_set_threads"), "rows_set_threads"))(threads);
  void *fftw[2] = {must(dlopen("libfftw3.so.3", RTLD_NOW | RTLD_GLOBAL), "libfftw3"),
                   must(dlopen("libfftw3f.so.3", RTLD_NOW | RTLD_GLOBAL), "libfftw3f")};
  if (threads > 1) {
    const char *so[2] = {"libfftw3_threads.so.3", "libfftw3f_threads.so.3"}, *pre[2] = {"fftw", "fftwf"};
    for (int s = 0; s < 2; s++) {
      char name[64];
      void *t = must(dlopen(so[s], RTLD_NOW | RTLD_GLOBAL), so[s]);
      snprintf(name, sizeof name, "%s_init_threads", pre[s]);
      ((int (*)(void))must(dlsym(t, name), name))();
      snprintf(name, sizeof name, "%s_plan_with_nthreads", pre[s]);
      ((void (*)(int))must(dlsym(t, name), name))(threads);
    }
  }
  printf("%-14s %12s %12s %7s %7s %9s\n", "row", "healc us", "FFTW us", "ratio", "wall", "off by");
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    struct row r = rows[k];
    char name[64];
    int at = snprintf(name, sizeof name, "%c_%d", r.kind, r.shape[0]);
    for (int i = 1; i < r.rank; i++) at += snprintf(name + at, sizeof name - at, "x%d", r.shape[i]);
    if (argc > 4 && strcmp(argv[4], name)) continue;
    char symbol[80];
    snprintf(symbol, sizeof symbol, "rows_%s", name);
    void *f = must(dlsym(lib, symbol), symbol);
    int single = r.kind == 's', size = single ? 4 : 8;
    const char *pre = single ? "fftwf" : "fftw";
    size_t n = 1;
    for (int i = 0; i < r.rank; i++) n *= r.shape[i];
    size_t half = n / 2 + 1;
    char *in[2], *out[2], *z = aligned(2 * n * size + 64), *o = aligned(2 * n * size + 64);
    for (int i = 0; i < 2; i++) in[i] = aligned(n * size), out[i] = aligned(n * size);
    void *fl = fftw[single];
    snprintf(symbol, sizeof symbol, "%s_execute", pre);
    void (*execute)(plan) = must(dlsym(fl, symbol), symbol);
    plan p;
    int last = r.shape[r.rank - 1];
    snprintf(symbol, sizeof symbol, "%s_plan_many_dft%s", pre, r.kind == 'r' ? "_r2c" : r.kind == 'b' ? "_c2r" : "");
    void *make = must(dlsym(fl, symbol), symbol);
    if (r.kind == 'r' || r.kind == 'b')
      p = ((real *)make)(1, r.shape, 1, z, NULL, 1, n, o, NULL, 1, n, 0);
    else if (r.kind == 'p')
      p = ((many *)make)(r.rank, r.shape, 1, z, NULL, 1, n, o, NULL, 1, n, -1, 0);
    else if (r.kind == 'c')
      p = ((many *)make)(1, r.shape, last, z, NULL, last, 1, o, NULL, last, 1, -1, 0);
    else
      p = ((many *)make)(1, &last, n / last, z, NULL, 1, last, o, NULL, 1, last, -1, 0);
    must(p, "plan");
    srand(1);
    for (size_t i = 0; i < n; i++)
      for (int c = 0; c < 2; c++) {
        double x = rand() / (double)RAND_MAX - 0.5;
        set(in[c], i, single, x);
        if (r.kind == 'r') {
          if (c == 0) set(z, i, single, x);
        } else if (r.kind != 'b' || i < half)
          set(z, 2 * i + c, single, x);
      }
    char *kept = aligned(2 * n * size + 64); // FFTW's inverse of real numbers overwrites its input
    memcpy(kept, z, 2 * n * size);
    double best[2] = {1e9, 1e9}, wall[2] = {1e9, 1e9};
    int times = n < 1 << 15 ? (1 << 16) / n : 1;
    if (r.kind == 'b' && times > 1) times = 16;
    double end = now(CLOCK_MONOTONIC) + seconds;
    for (int turn = 0; turn < 3 || now(CLOCK_MONOTONIC) < end; turn++)
      for (int who = 0; who < 2; who++) {
        if (r.kind == 'b') memcpy(z, kept, 2 * n * size);
        double t = now(CLOCK_PROCESS_CPUTIME_ID), w = now(CLOCK_MONOTONIC);
        for (int i = 0; i < times; i++) {
          int32_t e = 0;
          if (who) execute(p);
          else if (r.kind == 'r') e = ((heal3 *)f)(in[0], out[0], out[1]);
          else if (r.kind == 'b') e = ((heal3 *)f)(in[0], in[1], out[0]);
          else e = ((heal4 *)f)(in[0], in[1], out[0], out[1]);
          if (e) return fprintf(stderr, "%s returned %d\n", name, e), 1;
        }
        t = (now(CLOCK_PROCESS_CPUTIME_ID) - t) / times, w = (now(CLOCK_MONOTONIC) - w) / times;
        if (t < best[who]) best[who] = t;
        if (w < wall[who]) wall[who] = w;
      }
    double off = 0, all = 0;
    memcpy(z, kept, 2 * n * size);
    execute(p);
    for (size_t i = 0; i < (r.kind == 'r' ? half : n); i++) {
      double a, b = 0;
      if (r.kind == 'b') a = get(o, i, 0) / n - get(out[0], i, 0);
      else a = get(o, 2 * i, single) - get(out[0], i, single), b = get(o, 2 * i + 1, single) - get(out[1], i, single);
      off = fmax(off, hypot(a, b)), all = fmax(all, r.kind == 'b' ? fabs(get(out[0], i, 0)) : hypot(get(o, 2 * i, single), get(o, 2 * i + 1, single)));
    }
    printf("%-14s %12.2f %12.2f %7.2f %7.2f %9.1e\n", name, best[0] * 1e6, best[1] * 1e6, best[0] / best[1],
           wall[0] / wall[1], off / all);
    fflush(stdout);
    char *all_of[] = {in[0], in[1], out[0], out[1], z, o, kept};
    for (int i = 0; i < 7; i++) free(all_of[i]);
  }
  return 0;
}
