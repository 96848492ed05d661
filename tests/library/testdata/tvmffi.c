// Calls functions of a library as tvm-ffi does. What is of libtvm_ffi stands here, as far as a library asks for it:
// with ALONE there is none of it. Prints what is wrong.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  void *data;
  int32_t device, number, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t offset;
} Tensor;

typedef struct {
  int64_t count;
  int32_t type, padding;
  void *deleter;
  Tensor tensor;
  int64_t shape[4];
} Object;

typedef struct {
  int32_t type, padding;
  union {
    int64_t i;
    double f;
    void *p;
  };
} Any;

static char kind[64], message[1024];
static int objects, refused, in_array;

#ifndef ALONE
void TVMFFIErrorSetRaisedFromCStr(const char *k, const char *text) {
  snprintf(kind, sizeof kind, "%s", k);
  snprintf(message, sizeof message, "%s", text);
}

int TVMFFIEnvTensorAlloc(Tensor *like, void **out) {
  if (refused) {
    TVMFFIErrorSetRaisedFromCStr("MemoryError", "refused");
    return -1;
  }
  Object *o = calloc(1, sizeof *o);
  o->count = 1;
  o->type = 70;
  o->tensor = *like;
  int64_t bytes = like->bits / 8;
  for (int k = 0; k < like->ndim; k++) bytes *= o->shape[k] = like->shape[k];
  o->tensor.shape = o->shape;
  o->tensor.data = calloc(1, bytes + 1);
  objects++;
  *out = o;
  return 0;
}

int TVMFFIObjectDecRef(Object *o) {
  if (o->type == 70 && --o->count == 0) {
    free(o->tensor.data);
    free(o);
    objects--;
  }
  return 0;
}

static Object function = {1, 68};

int TVMFFIFunctionGetGlobal(const void *name, void **out) {
  const struct {
    const char *data;
    size_t size;
  } *n = name;
  if (n->size != 9 || memcmp(n->data, "ffi.Array", 9)) printf("asked for %.*s\n", (int)n->size, n->data);
  *out = &function;
  return 0;
}

// An array is what it was made of.
static Any kept[8];

int TVMFFIFunctionCall(void *f, Any *args, int32_t n, Any *result) {
  if (f != &function) printf("another function is called\n");
  for (int i = 0; i < n; i++) {
    kept[i] = args[i];
    if (args[i].type == 70) ((Object *)args[i].p)->count++;
  }
  in_array = n;
  result->type = 71;
  result->p = kept;
  return 0;
}
#endif

#define DECLARE(name) extern int __tvm_ffi_##name(void *self, const Any *args, int32_t n, Any *result);
DECLARE(axpy) DECLARE(total) DECLARE(pair) DECLARE(ramp) DECLARE(bump) DECLARE(cut) DECLARE(at) DECLARE(not_all)

static Tensor vector(void *data, int64_t *n, int code, int bits) {
  Tensor t = {.data = data, .device = 1, .ndim = 1, .code = code, .bits = bits, .lanes = 1, .shape = n};
  return t;
}

static Any of(Tensor *t) { return (Any){.type = 7, .p = t}; }
static Any whole(int64_t i) { return (Any){.type = 1, .i = i}; }
static Any real(double f) { return (Any){.type = 3, .f = f}; }
static Any truth(int i) { return (Any){.type = 2, .i = i}; }

#define CALL(name, n, ...) (kind[0] = message[0] = 0, __tvm_ffi_##name(NULL, (Any[]){__VA_ARGS__}, n, &result))

// fails says that a call did not fail as it should.
static void fails(int code, const char *k, const char *text) {
  if (code != -1) printf("%d in place of %s\n", code, text);
#ifndef ALONE
  if (strcmp(kind, k) || !strstr(message, text)) printf("%s: %s\nin place of %s: %s\n", kind, message, k, text);
#endif
}

#define FINE(call) (call ? (void)printf("%s: %s: %s\n", #call, kind, message) : (void)0)
#define SAME(a, b) ((a) == (b) ? (void)0 : (void)printf("%s is not %s\n", #a, #b))

int main(void) {
  Any result;
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[4] = {10, 20, 30, 40}, z[8] = {0};
  int64_t four = 4, three = 3, two = 2, none = 0, back = -2, every = 2;
  Tensor tx = vector(x, &four, 2, 32), ty = vector(y, &four, 2, 32), tz = vector(z, &four, 2, 32);

  // Memory for the result behind the arguments; a number may be whole, or a tensor without axes.
  FINE(CALL(axpy, 4, real(2), of(&tx), of(&ty), of(&tz)));
  SAME(z[3], 48);
  SAME(result.type, 0);
  FINE(CALL(axpy, 4, whole(3), of(&tx), of(&ty), of(&tz)));
  SAME(z[3], 52);
  float half = 0.5;
  Tensor th = {.data = &half, .device = 3, .code = 2, .bits = 32, .lanes = 1};
  FINE(CALL(axpy, 4, of(&th), of(&tx), of(&ty), of(&tz)));
  SAME(z[3], 42);
  // Strides, before and behind the address, an offset, objects, no elements.
  Object object = {1, 70, 0, NULL, tx};
  object.tensor.strides = &back;
  object.tensor.offset = 6 * sizeof(float);
  Tensor tw = tz;
  int64_t wide = 4;
  tw.strides = &every;
  tw.shape = &wide;
  FINE(CALL(axpy, 4, real(1), ((Any){.type = 70, .p = &object}), of(&ty), of(&tw)));
  SAME(z[0], 17);
  SAME(z[6], 41);
  Tensor te = vector(NULL, &none, 2, 32);
  FINE(CALL(axpy, 4, real(1), of(&te), of(&te), of(&te)));
  // A parameter that is changed.
  uint16_t one = 0x3c00; // of f16
  Tensor tone = {.data = &one, .device = 1, .code = 2, .bits = 16, .lanes = 1};
  FINE(CALL(bump, 2, of(&tx), of(&tone)));
  SAME(x[0], 2);
  // Bytes as truth values.
  uint8_t on[2] = {1, 0}, all = 7;
  Tensor ton = vector(on, &two, 6, 8), tbytes = vector(on, &two, 1, 8);
  Tensor tall = {.data = &all, .device = 1, .code = 6, .bits = 8, .lanes = 1};
  FINE(CALL(not_all, 2, of(&ton), of(&tall)));
  SAME(all, 1);
  on[1] = 1;
  FINE(CALL(not_all, 2, of(&tbytes), of(&tall)));
  SAME(all, 0);
  on[1] = 0;
  int32_t steps[3];
  Tensor tsteps = vector(steps, &three, 0, 32);
  FINE(CALL(ramp, 1, of(&tsteps)));
  SAME(steps[2], 2);

#ifndef ALONE
  // What is returned: tensors of the caller's library, and numbers.
  FINE(CALL(axpy, 3, real(2), of(&tx), of(&ty)));
  SAME(result.type, 70);
  Object *o = result.p;
  SAME(o->count, 1);
  SAME(o->shape[0], 4);
  SAME(((float *)o->tensor.data)[3], 48);
  TVMFFIObjectDecRef(o);
  double d[2] = {0.5, 0.25};
  Tensor td = vector(d, &two, 2, 64);
  FINE(CALL(total, 2, of(&td), truth(1)));
  SAME(result.type, 3);
  SAME(result.f, 0.75);
  FINE(CALL(not_all, 1, of(&ton)));
  SAME(result.type, 2);
  SAME(result.i, 1);
  int64_t list[4] = {-1, -2, -3, -4};
  Tensor tlist = vector(list, &four, 0, 64);
  FINE(CALL(at, 2, of(&tlist), whole(3)));
  SAME(result.type, 1);
  SAME(result.i, -4);
  FINE(CALL(pair, 2, of(&tsteps), whole(255)));
  SAME(result.type, 71);
  SAME(in_array, 4);
  SAME(((int32_t *)((Object *)kept[0].p)->tensor.data)[2], 3);
  SAME(((Object *)kept[0].p)->count, 1);
  TVMFFIObjectDecRef(kept[0].p);
  SAME(kept[1].type, 1);
  SAME(kept[1].i, 510);
  SAME(kept[2].i, -255);
  SAME(kept[3].type, 2);
  SAME(kept[3].i, 0);
  FINE(CALL(cut, 1, of(&tx)));
  SAME(((Object *)result.p)->shape[0], 2);
  TVMFFIObjectDecRef(result.p);
  SAME(objects, 0);

  // Failures leave nothing.
  refused = 1;
  fails(CALL(axpy, 3, real(2), of(&tx), of(&ty)), "MemoryError", "refused");
  refused = 0;
  int64_t long_ = 1;
  Tensor tlong = vector(x, &long_, 2, 32);
  fails(CALL(cut, 1, of(&tlong)), "ValueError", "cut: axis 0 of result, N-2, would be -1");
  fails(CALL(at, 2, of(&tlist), whole(4)), "IndexError", "4");
  fails(CALL(ramp, 0, whole(0)), "TypeError", "ramp: the arguments do not say how long what it returns is");
  fails(CALL(pair, 2, of(&te), whole(1)), "TypeError", "pair: x has elements of DLPack's type float, 32 bits, 1 lanes");
  int64_t n0 = 0;
  Tensor tnone = vector(NULL, &n0, 0, 32);
  fails(CALL(pair, 2, of(&tnone), whole(1)), "IndexError", "0");
  SAME(objects, 0);
#else
  fails(CALL(axpy, 3, real(2), of(&tx), of(&ty)), "", "a result that nobody makes");
#endif

  fails(CALL(axpy, 2, real(2), of(&tx)), "TypeError",
        "axpy takes 3 arguments, or 4 with memory for what it returns; it was given 2");
  fails(CALL(bump, 1, of(&tx)), "TypeError", "bump takes 2 arguments; it was given 1");
  fails(CALL(axpy, 3, of(&tx), of(&tx), of(&ty)), "ValueError", "axpy: a has 1 axes, and its type has 0");
  fails(CALL(axpy, 3, truth(1), of(&tx), of(&ty)), "TypeError", "axpy: a: what was given is no value of the type f32");
  fails(CALL(axpy, 3, real(1), real(2), of(&ty)), "TypeError", "axpy: x: what was given is no value of the type f32");
  fails(CALL(axpy, 4, real(1), of(&tx), of(&ty), of(&tx)), "ValueError", "shares memory");
  Tensor tshort = vector(x, &three, 2, 32), taway = tx, tlanes = tx;
  fails(CALL(axpy, 4, real(1), of(&tshort), of(&ty), of(&tz)), "ValueError", "axis 0 of y has extent 4, but N is 3");
  taway.device = 2;
  fails(CALL(axpy, 4, real(1), of(&taway), of(&ty), of(&tz)), "TypeError", "axpy: x is on a device of DLPack's kind 2");
  tlanes.lanes = 4;
  fails(CALL(axpy, 4, real(1), of(&tlanes), of(&ty), of(&tz)), "TypeError", "4 lanes");
  tlanes.code = 200;
  fails(CALL(axpy, 4, real(1), of(&tlanes), of(&ty), of(&tz)), "TypeError", "unknown kind");
  fails(CALL(bump, 2, of(&tx), real(1)), "TypeError", "bump: by: what was given is no value of the type f16");
  uint8_t many[1];
  Tensor tmany = vector(many, &four, 0, 64), tout = vector(steps, &three, 0, 32);
  fails(CALL(pair, 2, of(&tout), whole(256)), "OverflowError", "pair: i is 256, which is not from 0 to 255");
  fails(CALL(pair, 2, of(&tout), whole(-1)), "OverflowError", "pair: i is -1, which is not from 0 to 255");
  fails(CALL(at, 2, of(&tmany), whole(1LL << 31)), "OverflowError", "at: i is 2147483648, which is not from -2147483648");
  fails(CALL(at, 2, of(&tmany), real(1)), "TypeError", "at: i: what was given is no value of the type i32");
  fails(CALL(not_all, 2, of(&tx), of(&tall)), "TypeError", "float, 32 bits");
  SAME(objects, 0);
  return 0;
}
