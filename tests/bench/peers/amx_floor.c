// What products of bytes and of bf16 take by hand in tile registers (AMX) on one thread, beside the products of registers
// alone: tiles of two by two registers, rows of the left operand read where they lie, the right one put together in
// panels of 32 columns, sums of a tile stored among the first products of the next one, and sums of bf16 rounded between
// them. The ways differ in what they leave out.
//
//   gcc -O2 -march=sapphirerapids tests/bench/peers/amx_floor.c -o floor && ./floor
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define INLINE static inline __attribute__((always_inline))
enum { HALVES = 1, PACKED = 2, UNSTORED = 4, LEASTS = 8, OUTSIDE = 16 };

static uint8_t *A, *B, *C, *P; // operands, result, panels
static uint8_t sums[4096] __attribute__((aligned(64)));
static uint16_t least[32], pairs[32]; // the order of what is put together
static uint8_t order[64];

static void configure(void) {
  struct { uint8_t palette, row, zero[14]; uint16_t bytes[16]; uint8_t rows[16]; } __attribute__((aligned(64))) c = {1};
  for (int i = 0; i < 8; i++) c.bytes[i] = 64, c.rows[i] = 16;
  __asm__ volatile("" ::"r"(&c) : "memory");
  _tile_loadconfig(&c);
}

#define STEP(TDP, BEFORE) \
  BEFORE(0, 0) _tile_loadd(4, a, row); _tile_loadd(6, b, 128); TDP(0, 4, 6); \
  BEFORE(1, 64) _tile_loadd(7, b + 64, 128); TDP(1, 4, 7); \
  BEFORE(2, 16 * sp) _tile_loadd(5, a + 16 * row, row); TDP(2, 5, 6); \
  BEFORE(3, 16 * sp + 64) TDP(3, 5, 7);
#define NOTHING(N, AT)
#define END(N, AT) if (store) _tile_stored(N, p + AT, sp); _tile_zero(N);

INLINE void note(__m512i x) { // the least magnitude of bf16 but 0, as Note [Tiny bf16] of the compiler wants it
  __m512i ones = _mm512_set1_epi16(-1), l = _mm512_loadu_si512(least);
  _mm512_storeu_si512(least, _mm512_min_epu16(l, _mm512_add_epi16(_mm512_add_epi16(x, x), ones)));
}
INLINE void pack(long n, long s, long j, uint8_t *to, int how) { // a step of 32 columns: 128 bytes
  for (int v = 0; v < 2; v++) {
    __m512i x;
    if (how & HALVES) {
      const uint8_t *r = B + 4 * s * n + 2 * j + 32 * v;
      x = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((void *)r)), _mm256_loadu_si256((void *)(r + 2 * n)), 1);
      x = _mm512_permutexvar_epi16(_mm512_loadu_si512(pairs), x);
      if (how & LEASTS) note(x);
    } else {
      const uint8_t *r = B + 4 * s * n + j + 16 * v;
      x = _mm512_castsi128_si512(_mm_loadu_si128((void *)r));
      x = _mm512_inserti32x4(x, _mm_loadu_si128((void *)(r + n)), 1);
      x = _mm512_inserti32x4(x, _mm_loadu_si128((void *)(r + 2 * n)), 2);
      x = _mm512_inserti32x4(x, _mm_loadu_si128((void *)(r + 3 * n)), 3);
      x = _mm512_permutexvar_epi8(_mm512_loadu_si512(order), x);
    }
    _mm512_store_si512(to + 64 * v, x);
  }
}
INLINE void rounded(uint8_t *c, long n, long r) { // four rows
  for (long u = r; u < r + 4; u++)
    _mm512_storeu_si512(c + u * n * 2, (__m512i)_mm512_cvtne2ps_pbh(_mm512_load_ps(sums + 128 * u + 64), _mm512_load_ps(sums + 128 * u)));
}
// A tile of rows from a on and the panel at b; the sums of the one before go to p, and rounded to c.
INLINE void tile(long n, long row, const uint8_t *a, const uint8_t *b, uint8_t *p, long sp, uint8_t *c, int how) {
  int store = !(how & UNSTORED);
  long r = 0;
  if (how & HALVES) { STEP(_tile_dpbf16ps, END) } else { STEP(_tile_dpbssd, END) }
  for (long k = 64; k < row; k += 64) {
    a += 64, b += 2048;
    if (how & HALVES) { STEP(_tile_dpbf16ps, NOTHING) } else { STEP(_tile_dpbssd, NOTHING) }
    if (how & HALVES && store && r < 32) rounded(c, n, r), r += 4;
  }
  while (how & HALVES && store && r < 32) rounded(c, n, r), r += 4;
}
INLINE void product(long n, int how) {
  long row = how & HALVES ? 2 * n : n, steps = row / 4, sp = 128;
  uint8_t *p = sums, *c = C;
  configure();
  if (!(how & (PACKED | OUTSIDE)))
    for (long s = 0; s < steps; s++) for (long j = 0; j < n; j += 32) pack(n, s, j, P + j * row + s * 128, how);
  long block = n * row > 1 << 20 ? (1 << 20) / row : n;
  for (long j0 = 0; j0 < n; j0 += how & OUTSIDE ? 32 : block) {
    if (how & OUTSIDE) for (long s = 0; s < steps; s++) pack(n, s, j0, P + j0 * row + s * 128, how);
    for (long i = 0; i < n; i += 32) {
      if (how & LEASTS && (j0 == 0 || !(how & OUTSIDE)))
        for (long k = 0; k < 32 * row; k += 64) note(_mm512_loadu_si512(A + i * row + k));
      for (long j = j0; j < j0 + (how & OUTSIDE ? 32 : block); j += 32) {
        tile(n, row, A + i * row, P + j * row, p, sp, c, how);
        if (how & HALVES) c = C + (i * n + j) * 2; else p = C + (i * n + j) * 4, sp = 4 * n;
      }
    }
  }
  if (!(how & UNSTORED)) {
    _tile_stored(0, p, sp); _tile_stored(1, p + 64, sp); _tile_stored(2, p + 16 * sp, sp); _tile_stored(3, p + 16 * sp + 64, sp);
    for (long r = 0; how & HALVES && r < 32; r += 4) rounded(c, n, r);
  }
  _tile_release();
}
#define WAY(NAME, HOW) static __attribute__((noinline)) void NAME(long n) { product(n, HOW); }
WAY(i8_unstored, PACKED | UNSTORED) WAY(i8_packed, PACKED) WAY(i8_whole, 0) WAY(i8_outside, OUTSIDE)
WAY(bf_unstored, HALVES | PACKED | UNSTORED) WAY(bf_packed, HALVES | PACKED) WAY(bf_whole, HALVES) WAY(bf_outside, HALVES | OUTSIDE)
WAY(bf_leasts, HALVES | LEASTS)

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}
static void alone(long n) {
  for (long i = 0; i < n; i++) { _tile_dpbssd(0, 4, 6); _tile_dpbssd(1, 4, 7); _tile_dpbssd(2, 5, 6); _tile_dpbssd(3, 5, 7); }
}

int main(void) {
  struct { const char *name; void (*run)(long); int halves; double best; } ways[] = {
    {"i8, panels there, nothing stored", i8_unstored, 0, 0}, {"i8, panels there", i8_packed, 0, 0}, {"i8", i8_whole, 0, 0},
    {"i8, a panel at a time", i8_outside, 0, 0}, {"bf16, panels there, nothing stored", bf_unstored, 1, 0},
    {"bf16, panels there", bf_packed, 1, 0}, {"bf16", bf_whole, 1, 0}, {"bf16, a panel at a time", bf_outside, 1, 0},
    {"bf16, leasts searched", bf_leasts, 1, 0}};
  const int count = sizeof ways / sizeof *ways, size = 4 << 20;
  if (syscall(SYS_arch_prctl, 0x1023, 18)) return 1;
  A = aligned_alloc(4096, size), B = aligned_alloc(4096, size), C = aligned_alloc(4096, size), P = aligned_alloc(4096, size);
  for (int i = 0; i < size; i += 2) A[i] = B[i] = rand(), A[i + 1] = B[i + 1] = 0x3f;
  memset(C, 0, size), memset(P, 1, size);
  for (int i = 0; i < 64; i++) order[i] = i % 4 * 16 + i / 4;
  for (int i = 0; i < 32; i++) pairs[i] = i % 2 * 16 + i / 2;
  double register_product = 1e9;
  configure();
  for (int r = 0; r < 1000; r++) {
    double t = now();
    alone(250);
    t = now() - t;
    if (t / 1000 < register_product) register_product = t / 1000;
  }
  printf("a product of registers: %.2f ns\n", register_product * 1e3);
  for (long n = 128; n <= 1024; n *= 2) {
    for (int i = 0; i < count; i++) ways[i].best = 1e9;
    for (int r = 0; r < 40000000 / (n * n); r++)
      for (int i = 0; i < count; i++) {
        double t = now();
        ways[i].run(n);
        t = now() - t;
        if (t < ways[i].best) ways[i].best = t;
      }
    for (int i = 0; i < count; i++)
      printf("%5ld %-36s %8.1f us, %.2f of the products\n", n, ways[i].name, ways[i].best,
             ways[i].best / (n / 16 * (n / 16) * (n * (1 + ways[i].halves) / 64) * register_product));
  }
}
