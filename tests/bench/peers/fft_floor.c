// A Fourier transform of 2^18 complex numbers with the stages that the language has (docs/numerics.md), by hand with AVX-512 on
// one thread: 1024 by 256 in panels of eight columns, 16 numbers at a time in registers, a panel in the second-level cache,
// factors in one stream for each panel. The first part writes a matrix of its own that the second part reads by rows, or it
// writes rows of the result whose columns the second part transforms where they lie; then the same loads, stores and factors
// without the arithmetic: a difference for each number, so that nothing is left out. FFTW and, where its library is given,
// healc take turns with them.
//
//   gcc -O2 -march=native tests/bench/peers/fft_floor.c -o floor -ldl -lm && ./floor [SECONDS [LIBRARY SYMBOL]]
#include <dlfcn.h>
#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")
typedef __m512d V;
typedef struct {
  V re, im;
} C;
enum { N = 1 << 18, LONG = 1024, SHORT = 256, PANEL = 8, ROWS = LONG - 1 };

static double *in[2], *mid[2], *out[2];
static V *near[2];          // a panel
static V *wide[2];          // for each panel of the first part, the factors of its rows
static double narrow[2][SHORT]; // those of the second part
static int from[2][6];      // where the factors of a stage begin

INLINE C times(C x, C w) {
  return (C){_mm512_fmsub_pd(x.re, w.re, _mm512_mul_pd(x.im, w.im)), _mm512_fmadd_pd(x.re, w.im, _mm512_mul_pd(x.im, w.re))};
}

INLINE void four(C *a, C *b, C *c, C *d) {
  C even = {a->re + c->re, a->im + c->im}, odd = {b->re + d->re, b->im + d->im};
  C low = {a->re - c->re, a->im - c->im}, high = {b->re - d->re, b->im - d->im};
  *a = (C){even.re + odd.re, even.im + odd.im}, *b = (C){low.re + high.im, low.im - high.re};
  *c = (C){even.re - odd.re, even.im - odd.im}, *d = (C){low.re - high.im, low.im + high.re};
}

INLINE C factor(int part, int panel, int stage, int rest, int k, int p) {
  int row = from[part][stage] + (k - 1) * rest + p;
  if (part) return (C){_mm512_set1_pd(narrow[0][row]), _mm512_set1_pd(narrow[1][row])};
  return (C){wide[0][panel * ROWS + row], wide[1][panel * ROWS + row]};
}

// turn is a number and its factor, or their difference.
INLINE C turn(int work, C x, C w) { return work ? times(x, w) : (C){x.re - w.re, x.im - w.im}; }

// sixteen takes 16 numbers, number p of what two stages leave, through these; x[4*k1 + k2] is the result. The second stage
// leaves `rest`, and has factors unless it is the last of all.
INLINE void sixteen(int work, C *x, int part, int panel, int stage, int rest, int p, int last) {
  UNROLL for (int j = 0; j < 4; j++) {
    if (work) four(&x[j], &x[j + 4], &x[j + 8], &x[j + 12]);
    UNROLL for (int k = 1; k < 4; k++) x[4 * k + j] = turn(work, x[4 * k + j], factor(part, panel, stage, 4 * rest, k, p + rest * j));
  }
  UNROLL for (int k = 0; k < 4; k++) {
    if (work) four(&x[4 * k], &x[4 * k + 1], &x[4 * k + 2], &x[4 * k + 3]);
    if (last) continue;
    UNROLL for (int i = 1; i < 4; i++) x[4 * k + i] = turn(work, x[4 * k + i], factor(part, panel, stage + 1, rest, i, p));
  }
}

INLINE C get(double **m, int i) { return (C){_mm512_loadu_pd(m[0] + i), _mm512_loadu_pd(m[1] + i)}; }
INLINE void put(double **m, int i, C x) { _mm512_storeu_pd(m[0] + i, x.re), _mm512_storeu_pd(m[1] + i, x.im); }
INLINE C at(int i) { return (C){near[0][i], near[1][i]}; }
INLINE void set(int i, C x) { near[0][i] = x.re, near[1][i] = x.im; }

// square transposes eight vectors.
INLINE void square(V *x) {
  V y[8];
  UNROLL for (int i = 0; i < 8; i += 2) y[i] = _mm512_unpacklo_pd(x[i], x[i + 1]), y[i + 1] = _mm512_unpackhi_pd(x[i], x[i + 1]);
  UNROLL for (int i = 0; i < 2; i++) {
    V a = _mm512_shuffle_f64x2(y[i], y[i + 2], 0x88), b = _mm512_shuffle_f64x2(y[i], y[i + 2], 0xdd);
    V c = _mm512_shuffle_f64x2(y[i + 4], y[i + 6], 0x88), d = _mm512_shuffle_f64x2(y[i + 4], y[i + 6], 0xdd);
    x[i] = _mm512_shuffle_f64x2(a, c, 0x88), x[i + 4] = _mm512_shuffle_f64x2(a, c, 0xdd);
    x[i + 2] = _mm512_shuffle_f64x2(b, d, 0x88), x[i + 6] = _mm512_shuffle_f64x2(b, d, 0xdd);
  }
}

// first is the part along columns of 1024. In place, column c is row c of the result.
INLINE void first(int work, int in_place) {
  for (int c = 0; c < SHORT / PANEL; c++) {
    for (int p = 0; p < 64; p++) {
      C x[16];
      UNROLL for (int j = 0; j < 16; j++) x[j] = get(in, (p + 64 * j) * SHORT + PANEL * c);
      sixteen(work, x, 0, c, 0, 64, p, 0);
      UNROLL for (int j = 0; j < 16; j++) set(p + 64 * j, x[j]);
    }
    for (int b = 0; b < 16; b++) {
      for (int p = 0; p < 4; p++) {
        C x[16];
        UNROLL for (int j = 0; j < 16; j++) x[j] = at(64 * b + p + 4 * j);
        sixteen(work, x, 0, c, 2, 4, p, 0);
        UNROLL for (int j = 0; j < 16; j++) set(64 * b + p + 4 * j, x[j]);
      }
      for (int d = 0; d < 16; d++) {
        C x[4];
        UNROLL for (int j = 0; j < 4; j++) x[j] = at(64 * b + 4 * d + j);
        if (work) four(&x[0], &x[1], &x[2], &x[3]);
        int q = b / 4 + 4 * (b % 4) + 16 * (d / 4 + 4 * (d % 4));
        UNROLL for (int k = 0; k < 4; k++) {
          C y = k ? turn(work, x[k], factor(0, c, 4, 1, k, 0)) : x[0];
          if (in_place) set(64 * b + 4 * d + k, y);
          else put(mid, (q + 256 * k) * SHORT + PANEL * c, y);
        }
      }
    }
    if (!in_place) continue;
    for (int q = 0; q < LONG; q += 8)
      for (int part = 0; part < 2; part++) {
        V x[8];
        UNROLL for (int j = 0; j < 8; j++) { // from the row whose digits are in the reverse order
          int r = q + j;
          x[j] = near[part][(r & 3) << 8 | (r >> 2 & 3) << 6 | (r >> 4 & 3) << 4 | (r >> 6 & 3) << 2 | r >> 8];
        }
        square(x);
        UNROLL for (int j = 0; j < 8; j++) _mm512_storeu_pd(out[part] + (PANEL * c + j) * LONG + q, x[j]);
      }
  }
}

INLINE void second(int work, int in_place) {
  for (int c = 0; c < LONG / PANEL; c++) {
    for (int i = 0; i < SHORT && !in_place; i += 8)
      for (int part = 0; part < 2; part++) {
        V x[8];
        UNROLL for (int j = 0; j < 8; j++) x[j] = _mm512_loadu_pd(mid[part] + (PANEL * c + j) * SHORT + i);
        square(x);
        UNROLL for (int j = 0; j < 8; j++) near[part][i + j] = x[j];
      }
    for (int p = 0; p < 16; p++) {
      C x[16];
      UNROLL for (int j = 0; j < 16; j++) x[j] = in_place ? get(out, (p + 16 * j) * LONG + PANEL * c) : at(p + 16 * j);
      sixteen(work, x, 1, c, 0, 16, p, 0);
      UNROLL for (int j = 0; j < 16; j++) set(p + 16 * j, x[j]);
    }
    for (int b = 0; b < 16; b++) {
      C x[16];
      UNROLL for (int j = 0; j < 16; j++) x[j] = at(16 * b + j);
      sixteen(work, x, 1, c, 2, 1, 0, 1);
      int q = b / 4 + 4 * (b % 4);
      UNROLL for (int j = 0; j < 16; j++) put(out, (q + 16 * (j / 4 + 4 * (j % 4))) * LONG + PANEL * c, x[j]);
    }
  }
}

static __attribute__((noinline)) void two_matrices(void) { first(1, 0), second(1, 0); }
static __attribute__((noinline)) void in_place(void) { first(1, 1), second(1, 1); }
static __attribute__((noinline)) void moved(void) { first(0, 1), second(0, 1); }

static void *room(size_t n) {
  void *p;
  if (posix_memalign(&p, 4096, n)) exit(1);
  memset(p, 0, n);
  return p;
}

static void factors(int part, int n, int left, void (*set)(int row, int column, double re, double im)) {
  int row = 0, s = 0;
  for (int before = 1; before < n; before *= 4, s++) {
    int rest = n / before / 4;
    from[part][s] = row;
    if (rest * left == 1) continue;
    for (int k = 1; k < 4; k++)
      for (int p = 0; p < rest; p++, row++)
        for (int c = 0; c < left; c++) {
          long double a = -8 * atanl(1) * (((long)p * left + c) * k * before % ((long)n * left)) / ((long)n * left);
          set(row, c, cosl(a), sinl(a));
        }
  }
}
static void set_wide(int row, int column, double re, double im) {
  size_t i = ((size_t)(column / PANEL) * ROWS + row) * PANEL + column % PANEL;
  ((double *)wide[0])[i] = re, ((double *)wide[1])[i] = im;
}
static void set_narrow(int row, int column, double re, double im) { narrow[0][row] = re, narrow[1][row] = im; }

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int argc, char **argv) {
  for (int i = 0; i < 2; i++) {
    in[i] = room(8 * N), mid[i] = room(8 * N), out[i] = room(8 * N), near[i] = room(64 * LONG);
    wide[i] = room((size_t)64 * ROWS * SHORT / PANEL);
  }
  factors(0, LONG, SHORT, set_wide), factors(1, SHORT, 1, set_narrow);
  double *z = room(16 * N), *y = room(16 * N);
  for (int i = 0; i < N; i++)
    for (int k = 0; k < 2; k++) z[2 * i + k] = in[k][i] = rand() / (double)RAND_MAX - 0.5;
  void *fftw = dlopen("libfftw3.so.3", RTLD_NOW), *lib = argc > 3 ? dlopen(argv[2], RTLD_NOW) : NULL;
  if (!fftw || (argc > 3 && !lib)) return fprintf(stderr, "%s\n", dlerror()), 1;
  void *(*make)(int, double *, double *, int, unsigned) = dlsym(fftw, "fftw_plan_dft_1d");
  void (*execute)(void *) = dlsym(fftw, "fftw_execute");
  void *plan = make(N, z, y, -1, 0);
  int32_t (*healc)(double *, double *, double *, double *) = lib ? dlsym(lib, argv[3]) : NULL;
  for (int i = 0; i < N; i++)
    for (int k = 0; k < 2; k++) z[2 * i + k] = in[k][i];
  const char *names[] = {"FFTW", "two matrices", "in place", "moved", "healc"};
  double best[5] = {1, 1, 1, 1, 1}, off = 0, end = now() + (argc > 1 ? atof(argv[1]) : 1);
  do
    for (int who = 0; who < (healc ? 5 : 4); who++) {
      double t = now();
      if (who == 0) execute(plan);
      else if (who == 1) two_matrices();
      else if (who == 2) in_place();
      else if (who == 3) moved();
      else if (healc(in[0], in[1], out[0], out[1])) return 1;
      t = now() - t;
      if (t < best[who]) best[who] = t;
      if (who == 1 || who == 2)
        for (int i = 0; i < N; i++) off = fmax(off, hypot(out[0][i] - y[2 * i], out[1][i] - y[2 * i + 1]));
    }
  while (now() < end);
  for (int who = 0; who < (healc ? 5 : 4); who++)
    printf("%-12s %7.0f us, %.2f of FFTW\n", names[who], best[who] * 1e6, best[who] / best[0]);
  printf("off by %.1e\n", off);
}
