// A matrix by a vector in the order of `@`, one chain of fma for each row, beside a loop that adds in any order: what
// the order costs, and which lines of the rows to come are best asked for. docs/tuning/matrix-vector.md has the
// figures.
//
//   clang -O3 -march=native -pthread tests/bench/peers/gemv.c -o gemv && ./gemv 4096 1024 300
//
// Rows, columns (multiples of 32 and 16), rounds. Needs AVX-512.
#define _GNU_SOURCE
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

typedef __m512 V;
#define INLINE static inline __attribute__((always_inline))
#define LD _mm512_loadu_ps
#define FMA _mm512_fmadd_ps
#define LOW(a, b) (V)_mm512_unpacklo_pd((__m512d)(a), (__m512d)(b))
#define HIGH(a, b) (V)_mm512_unpackhi_pd((__m512d)(a), (__m512d)(b))
#define EVEN(a, b) _mm512_shuffle_f32x4(a, b, 0x88)
#define ODD(a, b) _mm512_shuffle_f32x4(a, b, 0xdd)
#define EACH(n) _Pragma("GCC unroll 16") for (int i = 0; i < n; i++)

INLINE void transpose(V *r) {
  V t[16];
  EACH(8) t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]),
    t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
  EACH(4) {
    r[4 * i] = LOW(t[4 * i], t[4 * i + 2]), r[4 * i + 1] = HIGH(t[4 * i], t[4 * i + 2]);
    r[4 * i + 2] = LOW(t[4 * i + 1], t[4 * i + 3]), r[4 * i + 3] = HIGH(t[4 * i + 1], t[4 * i + 3]);
  }
  EACH(4) t[i] = EVEN(r[i], r[i + 4]), t[i + 4] = ODD(r[i], r[i + 4]),
    t[i + 8] = EVEN(r[i + 8], r[i + 12]), t[i + 12] = ODD(r[i + 8], r[i + 12]);
  EACH(4) r[i] = EVEN(t[i], t[i + 8]), r[i + 8] = ODD(t[i], t[i + 8]),
    r[i + 4] = EVEN(t[i + 4], t[i + 12]), r[i + 12] = ODD(t[i + 4], t[i + 12]);
}

// The lines that are asked for while a square of 16 rows is multiplied: one of `every` of the panel of 16 rows that is
// `panels` further on, in its order, or of so many parts of it side by side; or, where panels is 0, of the same rows,
// `parts` lines ahead.
INLINE void ask(const float *a, long n, long square, int every, int parts, int panels) {
  const char *p = (const char *)a;
  long panel = 64 * n;
  if (every && panels)
    for (int u = 0; u < 16 / every; u++)
      _mm_prefetch(p + panels * panel + u % parts * (panel / parts) + (square * 16 / parts + u / parts * every) * 64,
                   _MM_HINT_T1);
  else if (every)
    for (int u = 0; u < 16; u++) _mm_prefetch(p + u * n * 4 + (square + parts) * 64, _MM_HINT_T0);
}

#define IN_ORDER(NAME, EVERY, PARTS, PANELS) \
  __attribute__((noinline)) static void NAME(const float *A, const float *x, float *y, long m, long n) { \
    for (long row = 0; row < m; row += 16) { \
      const float *a = A + row * n; \
      V sum = _mm512_setzero_ps(), r[16]; \
      for (long k = 0; k < n; k += 16) { \
        ask(a, n, k / 16, EVERY, PARTS, PANELS); \
        EACH(16) r[i] = LD(a + i * n + k); \
        transpose(r); \
        EACH(16) sum = FMA(_mm512_set1_ps(x[k + i]), r[i], sum); \
      } \
      _mm512_storeu_ps(y + row, sum); \
    } \
  }
IN_ORDER(none, 0, 1, 1)
IN_ORDER(every1, 1, 1, 1)
IN_ORDER(every2, 2, 1, 1)
IN_ORDER(every4, 4, 1, 1)
IN_ORDER(every8, 8, 1, 1)
IN_ORDER(every16, 16, 1, 1)
IN_ORDER(beside4, 1, 4, 1)
IN_ORDER(beside16, 1, 16, 1)
IN_ORDER(panels2, 4, 1, 2)
IN_ORDER(same8, 1, 8, 0)

// Four rows, sixteen chains each: the fastest of the peers.
__attribute__((noinline)) static void peer(const float *A, const float *x, float *y, long m, long n) {
  for (long i = 0; i < m; i += 4) {
    const float *p = A + i * n;
    V a = _mm512_setzero_ps(), b = a, c = a, d = a;
    for (long j = 0; j < n; j += 16) {
      V v = LD(x + j);
      a = FMA(v, LD(p + j), a), b = FMA(v, LD(p + n + j), b);
      c = FMA(v, LD(p + 2 * n + j), c), d = FMA(v, LD(p + 3 * n + j), d);
    }
    y[i] = _mm512_reduce_add_ps(a), y[i + 1] = _mm512_reduce_add_ps(b);
    y[i + 2] = _mm512_reduce_add_ps(c), y[i + 3] = _mm512_reduce_add_ps(d);
  }
}

__attribute__((noinline)) static void reading(const float *A, const float *x, float *y, long m, long n) {
  __m512i s[8] = {0};
  for (long k = 0; k < m * n; k += 128) EACH(8) s[i] = _mm512_or_si512(s[i], (__m512i)LD(A + k + 16 * i));
  for (int i = 1; i < 8; i++) s[0] = _mm512_or_si512(s[0], s[i]);
  y[0] = x[0] + _mm512_reduce_or_epi32(s[0]);
}

typedef void Product(const float *, const float *, float *, long, long);
enum { MOST = 1000 };
static struct {
  const char *name;
  Product *f;
  double times[2][MOST];
} ways[] = {{"any order", peer},        {"a plain read", reading},    {"every line asked for", every1},
            {"one of 2", every2},       {"one of 4", every4},         {"one of 8", every8},
            {"one of 16", every16},     {"none", none},               {"every, 4 rows beside", beside4},
            {"every, 16 beside", beside16}, {"one of 4, 2 panels on", panels2}, {"of the same rows", same8}};
enum { WAYS = sizeof ways / sizeof *ways };

static atomic_int turn, done;
static Product *job;
static long M, K;
static float *A, *X, *Y;

static void *worker(void *unused) {
  for (int seen = 0;;) {
    while (atomic_load(&turn) == seen) _mm_pause();
    job(A + M / 2 * K, X, Y + M / 2, M / 2, K);
    atomic_store(&done, ++seen);
  }
}

static double now(int clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static int ascending(const void *a, const void *b) {
  double d = *(double *)a - *(double *)b;
  return d < 0 ? -1 : d > 0;
}

int main(int argc, char **argv) {
  M = argc > 1 ? atol(argv[1]) : 4096, K = argc > 2 ? atol(argv[2]) : 1024;
  int rounds = argc > 3 ? atoi(argv[3]) : 100;
  if (M % 32 || K % 16 || rounds < 4 || rounds > MOST) return puts("rows of 32, columns of 16, 4 to 1000 rounds"), 1;
  size_t bytes = (M + 64) * K * 4, huge = 2 << 20;
  char *all = mmap(0, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  A = (float *)(((size_t)all + huge - 1) & -huge);
  madvise(A, bytes, MADV_HUGEPAGE);
  X = aligned_alloc(4096, (K * 4 + 4095) & -4096), Y = aligned_alloc(4096, (M * 4 + 4095) & -4096);
  for (long i = 0; i < (M + 64) * K; i++) A[i] = (rand() % 2001 - 1000) * 1e-3f;
  for (long i = 0; i < K; i++) X[i] = (rand() % 2001 - 1000) * 1e-3f;
  float *want = malloc(M * 4);
  none(A, X, want, M, K);
  for (int w = 2; w < WAYS; w++) {
    ways[w].f(A, X, Y, M, K);
    if (memcmp(want, Y, M * 4)) return printf("%s: other bits\n", ways[w].name), 1;
  }
  pthread_t other;
  for (int two = 0; two < 2; two++) {
    if (two) pthread_create(&other, 0, worker, 0);
    int clock = two ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
    for (int r = 0; r < rounds; r++)
      for (int w = 0; w < WAYS; w++)
        for (int again = 0; again < 2; again++) { // the second counts
          double begin = now(clock);
          job = ways[w].f;
          int id = two ? atomic_fetch_add(&turn, 1) + 1 : 0;
          job(A, X, Y, two ? M / 2 : M, K);
          while (two && atomic_load(&done) != id) _mm_pause();
          ways[w].times[two][r] = now(clock) - begin;
        }
  }
  printf("f32[%ld, %ld], microseconds: least and lower quartile, of those in any order; one thread, two\n", M, K);
  for (int w = 0; w < WAYS; w++) {
    printf("%-22s", ways[w].name);
    for (int two = 0; two < 2; two++) {
      double *t = ways[w].times[two], *of = ways[0].times[two];
      qsort(t, rounds, sizeof *t, ascending);
      printf("  %7.1f %7.1f (%.2f %.2f)", t[0], t[rounds / 4], t[0] / of[0], t[rounds / 4] / of[rounds / 4]);
    }
    puts("");
  }
  return 0;
}
