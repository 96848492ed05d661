/* The functions that the benchmark of peers calls (`k_*`, as in its csrc/plain.c), by those of rows.heal: the one of the
   row's extents where there is one, else the one for any. build.sh makes healc.so of this and of rows.so. */
#include "rows.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static void must(int32_t code) {
  if (code != HEAL_OK) {
    fprintf(stderr, "healc: %s\n", heal_last_error());
    abort();
  }
}

#define N24 (1u << 24)
#define N14 (1u << 14)

void set_threads(int threads) { heal_set_threads(threads); }

void k_E1(const float *x, float *y, size_t n, float a, float b, float c, float d) {
  must(n == N24 ? rows_e1(x, a, b, c, d, y) : n == N14 ? rows_e1_16k(x, a, b, c, d, y) : rows_chain(n, x, a, b, c, d, y));
}
void k_E1_rep(long r, const float *x, float *y, size_t n, float a, float b, float c, float d) {
  while (r-- > 0) k_E1(x, y, n, a, b, c, d);
}
void k_E2(const float *x, float *y, const float *a, const float *b, const float *c, const float *d, size_t m, size_t n) {
  must(m == 4096 && n == 4096 ? rows_e2(x, a, b, c, d, y) : HEAL_ARGUMENT);
}

#define UNARY(NAME, LARGE, SMALL, ANY)                                                                                  \
  void k_##NAME(const float *x, float *y, size_t n) {                                                                  \
    must(n == N24 ? LARGE(x, y) : n == N14 ? SMALL(x, y) : ANY(n, x, y));                                               \
  }                                                                                                                    \
  void k_##NAME##_rep(long r, const float *x, float *y, size_t n) {                                                    \
    while (r-- > 0) k_##NAME(x, y, n);                                                                                 \
  }
#define SIGMOID_16K(x, y) rows_vsigmoid(N14, x, y)
UNARY(E3, rows_e3, rows_e3_16k, rows_gelu_tanh)
UNARY(exp, rows_e4_exp, rows_e4_exp_16k, rows_vexp)
UNARY(log, rows_e4_log, rows_e4_log_16k, rows_vlog)
UNARY(tanh, rows_e4_tanh, rows_e4_tanh_16k, rows_vtanh)
UNARY(sigmoid, rows_e4_sigmoid, SIGMOID_16K, rows_vsigmoid)

/* These rows have one size each. */
void k_R1(const float *x, float *o, size_t n) { must(n == N24 ? rows_r1(x, o) : HEAL_ARGUMENT); }
void k_R2(const float *x, const float *y, float *o, size_t n) { must(n == N24 ? rows_r2(x, y, o) : HEAL_ARGUMENT); }
void k_R6(const float *x, const float *y, float *o, size_t n) { must(n == N24 ? rows_r6(x, y, o) : HEAL_ARGUMENT); }
void k_R3row(const float *x, float *o, size_t m, size_t n) { must(m * n == N24 ? rows_r3_rows(x, o) : HEAL_ARGUMENT); }
void k_R3col(const float *x, float *o, size_t m, size_t n) { must(m * n == N24 ? rows_r3_columns(x, o) : HEAL_ARGUMENT); }
void k_R1turned(const float *x, float *o, size_t n) { must(n == N24 ? rows_r1_turned(x, o) : HEAL_ARGUMENT); }
void k_R3turned(const float *x, float *o, size_t n) { must(n == N24 ? rows_r3_turned(x, o) : HEAL_ARGUMENT); }
void k_S1turned(const float *x, float *o, size_t m, size_t n) {
  must(m == 1024 && n == 4096 ? rows_s1_turned(x, o) : HEAL_ARGUMENT);
}
void k_R4(const float *x, float *o, size_t n) { must(n == N24 ? rows_r4(x, o, o + 1) : HEAL_ARGUMENT); }
void k_R5(const float *x, int64_t *o, size_t n) {
  int32_t at = -1;
  must(n == N24 ? rows_r5(x, &at) : HEAL_ARGUMENT);
  *o = at;
}
void k_S1(const float *x, float *y, size_t m, size_t n) { must(m == 4096 && n == 1024 ? rows_s1(x, y) : HEAL_ARGUMENT); }
void k_S2(const float *x, const float *g, const float *b, float *y, size_t m, size_t n) {
  must(m == 4096 && n == 1024 ? rows_s2(x, g, b, y) : HEAL_ARGUMENT);
}
void k_S3(const float *x, const int64_t *labels, float *dx, float *loss, size_t m, size_t n) {
  must(m == 4096 && n == 1024 ? rows_s3(x, labels, dx, loss) : HEAL_ARGUMENT);
}
void k_T1(const float *x, float *y, size_t n) { must(n == 4096 ? rows_t1(x, y) : HEAL_ARGUMENT); }
void k_T2(const float *x, float *y, size_t n) { must(n == 4096 ? rows_t2(x, y) : HEAL_ARGUMENT); }
void k_G1(const float *t, const int64_t *rows, float *o, size_t k, size_t n) {
  must(k == 32768 && n == 256 ? rows_g1(t, rows, o) : HEAL_ARGUMENT);
}

void k_sgemm_rep(long r, size_t m, size_t n, size_t k, const float *a, const float *b, float *c) {
  int32_t (*square)(const float *, const float *, float *) = NULL;
  if (m == n && n == k) {
    switch (n) {
    case 16: square = rows_m1_16; break;
    case 32: square = rows_m1_32; break;
    case 64: square = rows_m1_64; break;
    case 128: square = rows_m1_128; break;
    case 256: square = rows_m1_256; break;
    case 512: square = rows_m1_512; break;
    case 1024: square = rows_m1_1024; break;
    case 2048: square = rows_m1_2048; break;
    }
  } else if (m == 1024 && n == 1024 && k == 64) {
    square = rows_m1_1024x64x1024;
  }
  while (r-- > 0) must(square ? square(a, b, c) : rows_matmul_f32(m, k, n, a, b, c));
}
void k_dgemm_rep(long r, size_t m, size_t n, size_t k, const double *a, const double *b, double *c) {
  int same = m == n && n == k;
  while (r-- > 0) must(same && n == 512 ? rows_m1_f64_512(a, b, c) : same && n == 1024 ? rows_m1_f64_1024(a, b, c) : rows_matmul_f64(m, k, n, a, b, c));
}
void k_igemm(const int32_t *a, const int32_t *b, int32_t *c, size_t m, size_t n, size_t k) {
  must(m == 256 && n == 256 && k == 256 ? rows_m1_i32_256(a, b, c) : rows_matmul_i32(m, k, n, a, b, c));
}
void k_igemm8(const int8_t *a, const int8_t *b, int32_t *c, size_t m, size_t n, size_t k) {
  int same = m == n && n == k;
  must(same && n == 256 ? rows_m1_i8_256(a, b, c) : same && n == 1024 ? rows_m1_i8_1024(a, b, c) : HEAL_ARGUMENT);
}
void k_bgemm(const int8_t *a, const int8_t *b, float *c, size_t m, size_t n, size_t k) {  // as bf16
  int same = m == n && n == k;
  must(same && n == 256 ? rows_m1_bf16_256(a, b, c) : same && n == 1024 ? rows_m1_bf16_1024(a, b, c) : HEAL_ARGUMENT);
}
void k_halfgemm(const uint16_t *a, const uint16_t *b, uint16_t *c, size_t m, size_t n, size_t k) {
  int same = m == n && n == k;
  must(same && n == 256 ? rows_half_256(a, b, c) : same && n == 1024 ? rows_half_1024(a, b, c) : HEAL_ARGUMENT);
}
void k_sgemv_split(const float *a, const float *x, float *y, size_t m, size_t n) {
  must(m == 4096 && n == 1024 ? rows_m2_split(a, x, y) : HEAL_ARGUMENT);
}
void k_sgemv(const float *a, const float *x, float *y, size_t m, size_t n) {
  must(m == 4096 && n == 1024 ? rows_m2(a, x, y) : HEAL_ARGUMENT);
}
void k_A1(const float *x, const int64_t *labels, const float *w0, const float *b0, const float *w1, const float *b1, const float *w2,
          const float *b2, float *dw0, float *db0, float *dw1, float *db1, float *dw2, float *db2, float *loss) {
  must(rows_a1(x, labels, w0, b0, w1, b1, w2, b2, dw0, db0, dw1, db1, dw2, db2, loss));
}

/* One transform, lines of them, and one along both axes. */
void k_F1(const double *re, const double *im, double *x, double *y, size_t n) {
  must(n == 65536   ? rows_f1_65536(re, im, x, y)
       : n == 61440 ? rows_f1_61440(re, im, x, y)
                    : HEAL_ARGUMENT);
}
void k_F1_f32(const float *re, const float *im, float *x, float *y, size_t n) {
  must(n == 65536 ? rows_f1_f32_65536(re, im, x, y) : HEAL_ARGUMENT);
}
void k_F1_lines(const double *re, const double *im, double *x, double *y, size_t m, size_t n) {
  must(m == 256 && n == 1024 ? rows_f1_256x1024(re, im, x, y) : HEAL_ARGUMENT);
}
void k_F2(const double *re, const double *im, double *x, double *y, size_t m, size_t n) {
  must(m == 512 && n == 512 ? rows_f2_512x512(re, im, x, y) : HEAL_ARGUMENT);
}

/* Sorts of 2^20 elements, and factorisations of 500 rows. */
#define N20 (1u << 20)
void k_O1_f32(const float *x, float *o, size_t n) { must(n == N20 ? rows_o1_f32(x, o) : HEAL_ARGUMENT); }
void k_O1_f64(const double *x, double *o, size_t n) { must(n == N20 ? rows_o1_f64(x, o) : HEAL_ARGUMENT); }
void k_O1_i32(const int32_t *x, int32_t *o, size_t n) { must(n == N20 ? rows_o1_i32(x, o) : HEAL_ARGUMENT); }
void k_O2_f32(const float *x, int32_t *o, size_t n) { must(n == N20 ? rows_o2_f32(x, o) : HEAL_ARGUMENT); }
void k_O2_f64(const double *x, int32_t *o, size_t n) { must(n == N20 ? rows_o2_f64(x, o) : HEAL_ARGUMENT); }
void k_O3_f32(const float *x, float *o, size_t n) { must(n == N20 ? rows_o3_f32(x, o) : HEAL_ARGUMENT); }
void k_D1(const double *a, double *o, size_t n) { must(n == 500 ? rows_d1(a, o) : HEAL_ARGUMENT); }
void k_D2(const double *a, double *o, size_t n) { must(n == 500 ? rows_d2(a, o) : HEAL_ARGUMENT); }
void k_D3(const double *a, const double *b, double *o, size_t n) { must(n == 500 ? rows_d3(a, b, o) : HEAL_ARGUMENT); }
void k_D4(const double *a, double *o, size_t n) { must(n == 500 ? rows_d4(a, o) : HEAL_ARGUMENT); }
void k_D5(const double *a, double *q, double *r, size_t n) { must(n == 500 ? rows_d5(a, q, r) : HEAL_ARGUMENT); }

#define N22 (1u << 22)
#define N13 (1u << 13)

void k_H1(const int64_t *a, const int64_t *b, int64_t *o, size_t n, long long p) {
  must(n == N22 ? rows_h1(a, b, p, o) : n == N13 ? rows_h1_8k(a, b, p, o) : HEAL_ARGUMENT);
}
void k_H1_rep(long r, const int64_t *a, const int64_t *b, int64_t *o, size_t n, long long p) {
  while (r-- > 0) k_H1(a, b, o, n, p);
}
void k_H1s(const int64_t *a, const int64_t *b, int64_t *o, size_t n, long long p) {
  must(n == N22 ? rows_h1_sum(a, b, p, o) : HEAL_ARGUMENT);
}
void k_H2(const int32_t *a, const int32_t *b, int32_t *o, size_t n, int p) {
  must(n == N22 ? rows_h2(a, b, p, o) : HEAL_ARGUMENT);
}
void k_H3(const int64_t *a, const int64_t *p, int64_t *o, size_t s, size_t m, size_t k) {
  must(s == 64 && m == 4096 && k == 4 ? rows_h3(a, p, o) : HEAL_ARGUMENT);
}
void k_H5(const int64_t *a, int64_t *o, size_t n, int bits, int power) {
  must(n == 1u << 20 && bits == 15 && power == 4 ? rows_h5(a, o) : HEAL_ARGUMENT);
}

/* The tables of the last length and modulus. */
static struct {
  int64_t n, p, inverse;
  int64_t *forward_table, *inverse_table;
} plan;

static void prepare(int64_t n, int64_t p) {
  if (plan.n == n && plan.p == p) return;
  plan.forward_table = realloc(plan.forward_table, n * sizeof(int64_t));
  plan.inverse_table = realloc(plan.inverse_table, n * sizeof(int64_t));
  if (!plan.forward_table || !plan.inverse_table) abort();
  must(rows_h4_plan(n, p, plan.forward_table, plan.inverse_table, &plan.inverse));
  plan.n = n, plan.p = p;
}
void k_H4fwd(const int64_t *a, int64_t *o, long long n, long long p, long long batch) {
  prepare(n, p);
  const int64_t *t = plan.forward_table;
  must(batch != 8      ? HEAL_ARGUMENT
       : n == 4096  ? rows_h4_forward_4096(a, p, t, o)
       : n == 8192  ? rows_h4_forward_8192(a, p, t, o)
       : n == 32768 ? rows_h4_forward_32768(a, p, t, o)
       : n == 65536 ? rows_h4_forward_65536(a, p, t, o)
                    : HEAL_ARGUMENT);
}
void k_H4inv(const int64_t *a, int64_t *o, long long n, long long p, long long batch) {
  prepare(n, p);
  const int64_t *t = plan.inverse_table;
  must(batch != 8      ? HEAL_ARGUMENT
       : n == 4096  ? rows_h4_inverse_4096(a, p, t, plan.inverse, o)
       : n == 8192  ? rows_h4_inverse_8192(a, p, t, plan.inverse, o)
       : n == 32768 ? rows_h4_inverse_32768(a, p, t, plan.inverse, o)
       : n == 65536 ? rows_h4_inverse_65536(a, p, t, plan.inverse, o)
                    : HEAL_ARGUMENT);
}
