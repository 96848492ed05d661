// Times functions of rows.heal beside FFTW (plans by FFTW_MEASURE, complex numbers interleaved, as it likes them best), in
// turns in one process: the least processor time of one call and the least wall time, each of many. The results are compared.
#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void *plan;
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

// A row is named after its function: a letter for what is transformed, d or s for f64 and f32, and the shape. Complex numbers
// go along the last axis (l), the first (c), the second (m) or all (p), real ones along the last (r) or the first (v), all (q),
// or back along the last (b) or all (k).
struct row {
  char kind;
  int single, rank, shape[3];
};
typedef struct {
  ptrdiff_t n, in, out;
} axis;
typedef plan complex_of(int, const axis *, int, const axis *, void *, void *, int, unsigned);
typedef plan real_of(int, const axis *, int, const axis *, void *, void *, unsigned);

static struct row parsed(const char *name) {
  struct row r = {name[0], name[1] == 's', 0, {0}};
  for (const char *p = name + 2; *p && r.rank < 3; r.rank++) {
    char *end;
    r.shape[r.rank] = strtol(p + 1, &end, 10);
    p = end;
  }
  return r;
}

static char *aligned(size_t n) {
  void *p;
  if (posix_memalign(&p, 4096, n + 8192)) exit(1);
  memset(p, 0, n + 8192);
  return p;
}

static double get(const char *p, size_t i, int single) { return single ? ((float *)p)[i] : ((double *)p)[i]; }
static void set(char *p, size_t i, int single, double x) {
  if (single) ((float *)p)[i] = x;
  else ((double *)p)[i] = x;
}

int main(int argc, char **argv) {
  if (argc < 4) return fprintf(stderr, "usage: fftw LIBRARY SECONDS THREADS ROW...\n"), 2;
  double seconds = atof(argv[2]);
  int threads = atoi(argv[3]);
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
  printf("%-16s %12s %12s %7s %7s %9s\n", "row", "healc us", "FFTW us", "ratio", "wall", "off by");
  for (int k = 4; k < argc; k++) {
    const char *name = argv[k];
    struct row r = parsed(name);
    char symbol[80];
    snprintf(symbol, sizeof symbol, "rows_%s", name);
    void *f = must(dlsym(lib, symbol), symbol);
    int real = strchr("rvq", r.kind) != NULL, back = strchr("bk", r.kind) != NULL, all = strchr("pqk", r.kind) != NULL;
    int single = r.single, size = single ? 4 : 8, along = strchr("cv", r.kind) ? 0 : r.kind == 'm' ? 1 : r.rank - 1;
    // The extents of real numbers, and those of complex ones, of which an axis has half.
    int wide[3], half[3];
    size_t n = 1, m = 1;
    double transformed = 1;
    for (int i = 0; i < r.rank; i++) {
      wide[i] = half[i] = r.shape[i];
      if ((real || back) && i == along) half[i] = wide[i] / 2 + 1;
      n *= wide[i], m *= half[i];
      if (all || i == along) transformed *= wide[i];
    }
    axis dims[3], loops[3];
    int nd = 0, nl = 0;
    ptrdiff_t w = 1, h = 1;
    for (int i = r.rank - 1; i >= 0; i--) {
      axis a = {wide[i], real ? w : h, back ? w : h};
      if (all || i == along) dims[nd++] = a;
      else loops[nl++] = a;
      w *= wide[i], h *= half[i];
    }
    for (int i = 0; i < nd / 2; i++) {
      axis a = dims[i];
      dims[i] = dims[nd - 1 - i], dims[nd - 1 - i] = a;
    }
    char *in[2], *out[2], *z = aligned(2 * n * size + 4096), *o = aligned(2 * n * size + 4096);
    for (int i = 0; i < 2; i++) in[i] = aligned(n * size), out[i] = aligned(n * size);
    void *fl = fftw[single];
    const char *pre = single ? "fftwf" : "fftw";
    snprintf(symbol, sizeof symbol, "%s_execute", pre);
    void (*execute)(plan) = must(dlsym(fl, symbol), symbol);
    snprintf(symbol, sizeof symbol, "%s_plan_guru64_dft%s", pre, real ? "_r2c" : back ? "_c2r" : "");
    void *make = must(dlsym(fl, symbol), symbol);
    plan p = real || back ? ((real_of *)make)(nd, dims, nl, loops, z, o, 0)
                          : ((complex_of *)make)(nd, dims, nl, loops, z, o, -1, 0);
    must(p, "plan");
    srand(1);
    for (size_t i = 0; i < (back ? m : n); i++)
      for (int c = 0; c < 2; c++) {
        double x = rand() / (double)RAND_MAX - 0.5;
        set(in[c], i, single, x);
        if (!real) set(z, 2 * i + c, single, x);
        else if (c == 0) set(z, i, single, x);
      }
    if (back) { // the transform of something, so that what both take for real is
      snprintf(symbol, sizeof symbol, "%s_plan_guru64_dft_r2c", pre);
      axis to[3], of[3];
      for (int i = 0; i < nd; i++) to[i] = (axis){dims[i].n, dims[i].out, dims[i].in};
      for (int i = 0; i < nl; i++) of[i] = (axis){loops[i].n, loops[i].out, loops[i].in};
      plan there = must(((real_of *)must(dlsym(fl, symbol), symbol))(nd, to, nl, of, o, z, 64), "plan");
      for (size_t i = 0; i < n; i++) set(o, i, single, rand() / (double)RAND_MAX - 0.5);
      execute(there);
      for (size_t i = 0; i < m; i++)
        for (int c = 0; c < 2; c++) set(in[c], i, single, get(z, 2 * i + c, single));
    }
    char *kept = aligned(2 * n * size + 4096); // FFTW's inverse of real numbers overwrites its input
    memcpy(kept, z, 2 * n * size + 4096);
    double best[2] = {1e9, 1e9}, wall[2] = {1e9, 1e9};
    int times = n < 1 << 15 ? (1 << 16) / n : 1;
    if (back && times > 16) times = 16;
    double end = now(CLOCK_MONOTONIC) + seconds;
    for (int turn = 0; turn < 3 || now(CLOCK_MONOTONIC) < end; turn++)
      for (int who = 0; who < 2; who++) {
        if (back) memcpy(z, kept, 2 * n * size + 4096);
        double t = now(CLOCK_PROCESS_CPUTIME_ID), w = now(CLOCK_MONOTONIC);
        for (int i = 0; i < times; i++) {
          int32_t e = 0;
          if (who) execute(p);
          else if (real) e = ((heal3 *)f)(in[0], out[0], out[1]);
          else if (back) e = ((heal3 *)f)(in[0], in[1], out[0]);
          else e = ((heal4 *)f)(in[0], in[1], out[0], out[1]);
          if (e) return fprintf(stderr, "%s returned %d\n", name, e), 1;
        }
        t = (now(CLOCK_PROCESS_CPUTIME_ID) - t) / times, w = (now(CLOCK_MONOTONIC) - w) / times;
        if (t < best[who]) best[who] = t;
        if (w < wall[who]) wall[who] = w;
      }
    double off = 0, most = 0;
    memcpy(z, kept, 2 * n * size + 4096);
    execute(p);
    for (size_t i = 0; i < (back ? n : m); i++) {
      double x, y = 0, a, b = 0;
      if (back) x = get(o, i, single) / transformed, a = get(out[0], i, single);
      else {
        x = get(o, 2 * i, single), y = get(o, 2 * i + 1, single);
        a = get(out[0], i, single), b = get(out[1], i, single);
      }
      off = fmax(off, hypot(x - a, y - b)), most = fmax(most, hypot(x, y));
    }
    printf("%-16s %12.2f %12.2f %7.2f %7.2f %9.1e\n", name, best[0] * 1e6, best[1] * 1e6, best[0] / best[1],
           wall[0] / wall[1], off / most);
    fflush(stdout);
    char *all_of[] = {in[0], in[1], out[0], out[1], z, o, kept};
    for (int i = 0; i < 7; i++) free(all_of[i]);
  }
  return 0;
}
