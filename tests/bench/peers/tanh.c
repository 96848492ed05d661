// What bounds tanh of f32 in the caches: the instructions of its expansion (ir/scalar/elementary/hyper.go) in several
// orders, without its division, and with other divisions. docs/tuning/elementwise.md has the figures.
//
//   clang -O3 -march=native -ffp-contract=off tanh.c -o /tmp/tanh && /tmp/tanh

#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef __m512 V;
#define S(x) _mm512_set1_ps(x)
#define FMA _mm512_fmadd_ps
#define NFMA _mm512_fnmadd_ps
#define LOAD(i) _mm512_loadu_ps(x + i)
#define STORE(i, v) _mm512_storeu_ps(y + i, v)
#define INLINE static inline __attribute__((always_inline))
#define LOOP(name, step) \
	__attribute__((noinline)) static void name(const float *x, float *y, long n) \
	{ \
		for (long i = 0; i < n; i += step)

typedef struct { V a, z, d; } Parts; // tanh is a - a z/d

INLINE Parts parts(V x, int range)
{
	V a = _mm512_max_ps(S(-1.f), _mm512_min_ps(S(1.f), x)), z = FMA(a, a, S(-0x1p-60f));
	V d = FMA(S(0x1.e22534p-13f), z, S(-0x1.75773cp-8f));
	d = FMA(FMA(d, z, S(0x1.3332fep+0f)), z, S(3.f));
	V y = range ? _mm512_range_ps(x, S(9.1f), 10) : _mm512_min_ps(S(9.1f), _mm512_abs_ps(x));
	V magic = S(0x1.8p23f + 127), k = FMA(y, S(2 * 0x1.71547652b82fep+0f), magic);
	V r = FMA(_mm512_sub_ps(k, magic), S(-0x1.62e430p-2f), y);
	V p = FMA(S(0x1.6ba240p-4f), r, S(0x1.123172p-2f));
	p = FMA(FMA(p, r, S(0x1.55565ap-1f)), r, S(0x1.5554a0p-0f));
	p = FMA(FMA(FMA(p, r, S(2.f)), r, S(1.f)), r, S(.5f));
	V scale = _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(k), 23));
	return (Parts){a, z, _mm512_max_ps(FMA(p, scale, S(.5f)), d)};
}

INLINE V end(Parts p, V q) { return NFMA(p.a, q, p.a); }
INLINE V divided(Parts p) { return end(p, _mm512_div_ps(p.z, p.d)); }
INLINE V multiplied(Parts p) { return end(p, _mm512_mul_ps(p.z, p.d)); }

INLINE V newton(Parts p) // two steps, and the quotient corrected
{
	V r = _mm512_rcp14_ps(p.d);
	r = FMA(r, NFMA(p.d, r, S(1.f)), r);
	r = FMA(r, NFMA(p.d, r, S(1.f)), r);
	V q = _mm512_mul_ps(p.z, r);
	return end(p, FMA(NFMA(p.d, q, p.z), r, q));
}

LOOP(one, 16) STORE(i, divided(parts(LOAD(i), 0))); }
LOOP(two, 32) { V a = divided(parts(LOAD(i), 0)), b = divided(parts(LOAD(i + 16), 0)); STORE(i, a); STORE(i + 16, b); } }
LOOP(ranged, 16) STORE(i, divided(parts(LOAD(i), 1))); }
LOOP(reciprocal, 16) STORE(i, newton(parts(LOAD(i), 0))); }
LOOP(without, 16) STORE(i, multiplied(parts(LOAD(i), 0))); }
LOOP(quotient, 16) STORE(i, _mm512_div_ps(LOAD(i), S(1.3f))); }

__attribute__((noinline)) static void pipelined(const float *x, float *y, long n)
{
	Parts p = parts(LOAD(0), 0), q = parts(LOAD(16), 0);
	for (long i = 32; i < n; i += 32) {
		V a = divided(p), b = divided(q);
		p = parts(LOAD(i), 0), q = parts(LOAD(i + 16), 0);
		STORE(i - 32, a), STORE(i - 16, b);
	}
	STORE(n - 32, divided(p)), STORE(n - 16, divided(q));
}

LOOP(products, 64) {
	V c = S(1.1f), a = LOAD(i), b = LOAD(i + 16), d = LOAD(i + 32), e = LOAD(i + 48);
	for (int j = 0; j < 20; j++)
		a = FMA(a, c, c), b = FMA(b, c, c), d = FMA(d, c, c), e = FMA(e, c, c);
	STORE(i, a), STORE(i + 16, b), STORE(i + 32, d), STORE(i + 48, e);
} }

int main(void)
{
	struct { const char *name; void (*f)(const float *, float *, long); double least; } all[] = {
		{"one vector", one, 1}, {"two vectors", two, 1}, {"pipelined, two vectors", pipelined, 1},
		{"magnitude and limit in one instruction", ranged, 1}, {"reciprocal and Newton steps", reciprocal, 1},
		{"a product in place of the division", without, 1}, {"the division alone", quotient, 1},
		{"20 multiply-adds a vector", products, 1}};
	const long n = 16384;
	float *x = aligned_alloc(4096, 4 * n), *y = aligned_alloc(4096, 4 * n);
	for (long i = 0; i < n; i++)
		x[i] = ((i * 7919) % n - n / 2) / 2048.f;
	for (int turn = 0; turn < 2000; turn++)
		for (int i = 0; i < 8; i++) {
			struct timespec a, b;
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
			all[i].f(x, y, n);
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
			double t = b.tv_sec - a.tv_sec + 1e-9 * (b.tv_nsec - a.tv_nsec);
			if (t < all[i].least)
				all[i].least = t;
		}
	for (int i = 0; i < 8; i++)
		printf("%-40s %.2f us\n", all[i].name, 1e6 * all[i].least);
}
