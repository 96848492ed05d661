// What the pairs of a transform of 4096 take by themselves on one thread, with AVX-512 IFMA: 12 stages of 256 pairs of
// vectors, four between a load and a store in the first-level cache, with the same factors for all, without shuffles,
// quotients of factors, residues at the end, or memory. Nothing that is made of these pairs takes less.
//
// Then the same of 8 rows of 65536: a pass over the row from the operand to spare memory, and 16 parts of 4096 that stay in
// the first-level cache until the last of their three passes writes the result, and reads a factor for each vector, as the
// stages between the elements of vectors do. That without any pair, and with the rest of what these stages take for each
// vector: four shuffles, three halves of a quotient and a residue.
//
// Last the same below 2^50 with factors where a transform has them, each with its quotient, which all rows share: 15 of the
// first pass, 15 of each part, 15 of each 32 vectors in the next pass, and as many as elements in the last one; and with the
// operand of the next row asked for while the parts of this one are computed.
//
//   clang -O2 -march=native tests/bench/peers/ntt_floor.c -o floor && ./floor
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

typedef __m512i V;
#define LO _mm512_madd52lo_epu64
#define HI _mm512_madd52hi_epu64
#define ADD _mm512_add_epi64
#define SUB _mm512_sub_epi64
#define MUL _mm512_mullo_epi64
#define ZERO _mm512_setzero_si512()

static V row[512], k[8]; // what a stage knows of its factor and of the modulus

// below 2^50: a product with a factor, a sum and a difference, and nothing reduced
#define LEAST(x, y) { V q = HI(ZERO, y, k[2]), t = LO(LO(ZERO, y, k[5]), q, k[1]), u = ADD(x, t); y = SUB(x, t); x = u; }
// below 2^50, as generated: seven instructions
#define SHORT(x, y) { x = LO(x, HI(ZERO, x, k[0]), k[1]); V q = HI(ZERO, y, k[2]), z = LO(k[3], x, k[4]); \
  x = LO(LO(x, y, k[5]), q, k[1]); y = SUB(z, x); }
// below 2^60, cut at bit 52, without what takes multiples of p off
#define WORDS(x, y) { V h = _mm512_srli_epi64(y, 52), q = HI(HI(MUL(h, k[0]), y, k[0]), h, k[1]); \
  V t = ADD(MUL(y, k[2]), MUL(q, k[3])), u = ADD(x, t); y = SUB(ADD(x, k[4]), t); x = u; }
// the same cut at bit 32, as generated
#define HALVES(x, y) { V h = _mm512_srli_epi64(y, 32), l = _mm512_slli_epi64(y, 20); \
  V q = HI(HI(_mm512_mul_epu32(h, k[0]), h, k[1]), l, k[0]); \
  V t = ADD(MUL(y, k[2]), MUL(q, k[3])), u = ADD(x, t); y = SUB(ADD(x, k[4]), t); x = u; }

#define TRANSFORM(NAME, PAIR) __attribute__((noinline)) static void NAME(void) { \
  for (int pass = 0; pass < 3; pass++) for (int i = 0; i < 32; i++) { \
    V x[16]; \
    _Pragma("GCC unroll 16") for (int m = 0; m < 16; m++) x[m] = row[i + 32 * m]; \
    _Pragma("GCC unroll 16") for (int m = 0; m < 8; m++) PAIR(x[m], x[m + 8]) \
    _Pragma("GCC unroll 16") for (int m = 0; m < 8; m++) PAIR(x[m + m / 4 * 4], x[m + m / 4 * 4 + 4]) \
    _Pragma("GCC unroll 16") for (int m = 0; m < 8; m++) PAIR(x[m + m / 2 * 2], x[m + m / 2 * 2 + 2]) \
    _Pragma("GCC unroll 16") for (int m = 0; m < 8; m++) PAIR(x[2 * m], x[2 * m + 1]) \
    _Pragma("GCC unroll 16") for (int m = 0; m < 16; m++) row[i + 32 * m] = x[m]; \
  } }
#define STAGES(PAIR) \
    _Pragma("GCC unroll 16") for (int m = 0; m < 8; m++) PAIR(x[m], x[m + 8]) \
    _Pragma("GCC unroll 16") for (int m = 0; m < 8; m++) PAIR(x[m + m / 4 * 4], x[m + m / 4 * 4 + 4]) \
    _Pragma("GCC unroll 16") for (int m = 0; m < 8; m++) PAIR(x[m + m / 2 * 2], x[m + m / 2 * 2 + 2]) \
    _Pragma("GCC unroll 16") for (int m = 0; m < 8; m++) PAIR(x[2 * m], x[2 * m + 1])
#define LONG(NAME, PAIR, REST) __attribute__((noinline)) static void NAME(void) { \
  for (int r = 0; r < 8; r++) { \
    for (int i = 0; i < 512; i++) { \
      V x[16]; \
      _Pragma("GCC unroll 16") for (int m = 0; m < 16; m++) x[m] = operand[r][i + 512 * m]; \
      STAGES(PAIR) \
      _Pragma("GCC unroll 16") for (int m = 0; m < 16; m++) spare[i + 512 * m] = x[m]; \
    } \
    for (int part = 0; part < 16; part++) for (int pass = 0; pass < 3; pass++) for (int i = 0; i < 32; i++) { \
      V x[16], *from = spare + 512 * part, *to = pass < 2 ? from : result[r] + 512 * part; \
      _Pragma("GCC unroll 16") for (int m = 0; m < 16; m++) x[m] = from[i + 32 * m]; \
      if (pass == 2) { \
        _Pragma("GCC unroll 16") for (int m = 0; m < 16; m++) x[m] = ADD(x[m], table[r][512 * part + i + 32 * m]); \
      } \
      STAGES(PAIR) \
      if (pass == 2) { REST } \
      _Pragma("GCC unroll 16") for (int m = 0; m < 16; m++) to[i + 32 * m] = x[m]; \
    } \
  } }
#define NOTHING(x, y)
#define SHUFFLE(a, b) { V u = _mm512_permutex2var_epi64(a, k[6], b); b = _mm512_permutex2var_epi64(a, k[7], b); a = u; }
#define REST _Pragma("GCC unroll 16") for (int m = 0; m < 16; m += 2) { \
    SHUFFLE(x[m], x[m + 1]) SHUFFLE(x[m], x[m + 1]) SHUFFLE(x[m], x[m + 1]) SHUFFLE(x[m], x[m + 1]) \
    x[m] = HI(HI(x[m], x[m + 1], k[0]), x[m + 1], k[2]), x[m + 1] = HI(x[m + 1], x[m], k[3]); \
    RESIDUE(x[m]) RESIDUE(x[m + 1]) }
#define RESIDUE(x) { V q = HI(ZERO, x, k[0]), y = LO(x, q, k[1]); x = _mm512_min_epu64(y, SUB(y, k[4])); }
static V operand[8][8192], table[8][8192], result[8][8192], spare[8192];
LONG(longFewest, SHORT, )
LONG(longHalves, HALVES, )
LONG(longNothing, NOTHING, )
LONG(wholeFewest, SHORT, REST)
LONG(wholeHalves, HALVES, REST)
TRANSFORM(least, LEAST)
TRANSFORM(fewest, SHORT)
TRANSFORM(words, WORDS)
TRANSFORM(halves, HALVES)

// below 2^50, as generated, with a factor w and its quotient q
#define PAIR(x, y, w, q) { x = LO(x, HI(ZERO, x, k[0]), k[1]); V h = HI(ZERO, y, q), z = LO(k[3], x, k[4]); \
  x = LO(LO(x, y, w), h, k[1]); y = SUB(z, x); }
#define EACH(n) _Pragma("GCC unroll 16") for (int m = 0; m < n; m++)
#define BROADCAST(a) _mm512_set1_epi64(a)
#define FACTORS(w, q) \
    EACH(8) PAIR(x[m], x[m + 8], BROADCAST(w[0]), BROADCAST(q[0])) \
    EACH(8) PAIR(x[m + m / 4 * 4], x[m + m / 4 * 4 + 4], BROADCAST(w[1 + m / 4]), BROADCAST(q[1 + m / 4])) \
    EACH(8) PAIR(x[m + m / 2 * 2], x[m + m / 2 * 2 + 2], BROADCAST(w[3 + m / 2]), BROADCAST(q[3 + m / 2])) \
    EACH(8) PAIR(x[2 * m], x[2 * m + 1], BROADCAST(w[7 + m]), BROADCAST(q[7 + m]))
#define VECTORS(w, q) \
    EACH(8) PAIR(x[m], x[m + 8], w[0], q[0]) \
    EACH(8) PAIR(x[m + m / 4 * 4], x[m + m / 4 * 4 + 4], w[1 + m / 4], q[1 + m / 4]) \
    EACH(8) PAIR(x[m + m / 2 * 2], x[m + m / 2 * 2 + 2], w[3 + m / 2], q[3 + m / 2]) \
    EACH(8) PAIR(x[2 * m], x[2 * m + 1], w[7 + m], q[7 + m])
static long long few[2][17][16], some[2][256][16];
static V many[2][512][16];
#define WHOLE(NAME, AHEAD) __attribute__((noinline)) static void NAME(void) { \
  for (int r = 0; r < 8; r++) { \
    for (int i = 0; i < 512; i++) { \
      V x[16]; \
      EACH(16) x[m] = operand[r][i + 512 * m]; \
      FACTORS(few[0][16], few[1][16]) \
      EACH(16) spare[i + 512 * m] = x[m]; \
    } \
    for (int part = 0; part < 16; part++) { \
      V *from = spare + 512 * part, *to = result[r] + 512 * part; \
      for (int i = 0; i < 32; i++) { \
        V x[16]; \
        EACH(16) x[m] = from[i + 32 * m]; \
        FACTORS(few[0][part], few[1][part]) \
        EACH(16) from[i + 32 * m] = x[m]; \
      } \
      for (int b = 0; b < 16; b++) for (int i = 0; i < 2; i++) { \
        V x[16]; \
        EACH(16) x[m] = from[32 * b + i + 2 * m]; \
        FACTORS(some[0][16 * part + b], some[1][16 * part + b]) \
        EACH(16) from[32 * b + i + 2 * m] = x[m]; \
      } \
      for (int b = 0; b < 32; b++) { \
        V x[16]; \
        if (AHEAD && r < 7) EACH(16) _mm_prefetch(&operand[r + 1][512 * part + 16 * b + m], _MM_HINT_T1); \
        EACH(16) x[m] = from[16 * b + m]; \
        VECTORS(many[0][32 * part + b], many[1][32 * part + b]) \
        REST \
        EACH(16) to[16 * b + m] = x[m]; \
      } \
    } \
  } }
WHOLE(factors, 0)
WHOLE(factorsAhead, 1)

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

int main(void) {
  struct { const char *name; void (*run)(void); double best; } ways[] = {
    {"below 2^50, nothing reduced", least, 1e9}, {"below 2^50, as generated", fewest, 1e9},
    {"below 2^60, cut at bit 52", words, 1e9}, {"below 2^60, cut at bit 32, as generated", halves, 1e9}};
  for (int i = 0; i < 8; i++) k[i] = _mm512_set1_epi64(0x123456789abcLL * (i + 3));
  for (int r = 0; r < 20000; r++)
    for (int i = 0; i < 4; i++) {
      double t = now();
      ways[i].run();
      t = now() - t;
      if (t < ways[i].best) ways[i].best = t;
    }
  struct { const char *name; void (*run)(void); double best; } rows[] = {
    {"8 rows of 65536, without pairs", longNothing, 1e9}, {"below 2^50, pairs", longFewest, 1e9},
    {"below 2^50, with the rest", wholeFewest, 1e9}, {"below 2^60, pairs", longHalves, 1e9},
    {"below 2^60, with the rest", wholeHalves, 1e9}, {"below 2^50, with the rest and factors", factors, 1e9},
    {"below 2^50, and the next row asked for", factorsAhead, 1e9}};
  for (int r = 0; r < 500; r++)
    for (int i = 0; i < 7; i++) {
      double t = now();
      rows[i].run();
      t = now() - t;
      if (t < rows[i].best) rows[i].best = t;
    }
  for (int i = 0; i < 7; i++) printf("%-42s %6.0f us\n", rows[i].name, rows[i].best);
  for (int i = 0; i < 4; i++)
    printf("%-42s %6.2f us, %.2f ns a pair\n", ways[i].name, ways[i].best, ways[i].best * 1e3 / 3072);
}
