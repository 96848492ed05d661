/* Uses examples/layernorm.heal from C:

     healc compile examples/layernorm.heal
     cc -I. examples/library/main.c ./layernorm.so -o main && LD_LIBRARY_PATH=. ./main
*/
#include "layernorm.h"
#include <stdio.h>

static void show(const char *what, const float *y) { printf("%s: %.6f %.6f %.6f\n", what, y[0], y[1], y[2]); }

int main(void) {
  float x[3] = {1, 2, 3}, scale[3] = {1, 1, 1}, shift[3] = {0, 0.5f, 1}, y[3];

  /* The extents M and N, the arguments, the place of the result. */
  if (layernorm_layernorm(1, 3, x, scale, shift, y) != HEAL_OK) {
    fprintf(stderr, "%s\n", layernorm_last_error());
    return 1;
  }
  show("rows", y);

  /* The same with strides: x backwards. */
  int64_t row[2] = {1, 3}, backwards[2] = {3, -1}, three[1] = {3};
  heal_tensor arguments[3] = {{x + 2, row, backwards}, {scale, three, NULL}, {shift, three, NULL}};
  heal_tensor result = {y, row, NULL};
  if (layernorm_layernorm_tensors(arguments, &result) != HEAL_OK) {
    fprintf(stderr, "%s\n", layernorm_last_error());
    return 1;
  }
  show("backwards", y);

  /* What does not fit is an error with a message. */
  three[0] = 2;
  int32_t code = layernorm_layernorm_tensors(arguments, &result);
  printf("code %d: %s\n", code, layernorm_last_error());
  return code == HEAL_ARGUMENT ? 0 : 1;
}
