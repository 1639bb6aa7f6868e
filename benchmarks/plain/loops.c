#include <math.h>
#include <stdint.h>

#define SIGNATURE(name)                                                                         \
  int name(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes,         \
           void *stream, void *extra)

static int64_t size(const int *ndims, int64_t **shapes) {
  int64_t n = 1;
  for (int i = 0; i < ndims[0]; ++i) n *= shapes[0][i];
  return n;
}

SIGNATURE(double_forward) {
  const float *x = params[0];
  float *y = params[1];
  for (int64_t i = 0, n = size(ndims, shapes); i < n; ++i) y[i] = 2 * x[i];
  return 0;
}

SIGNATURE(double_backward) {
  const float *dy = params[2];
  float *dx = params[3];
  for (int64_t i = 0, n = size(ndims, shapes); i < n; ++i) dx[i] = 2 * dy[i];
  return 0;
}

SIGNATURE(sigmoid_forward) {
  const float *x = params[0];
  float *y = params[1];
  for (int64_t i = 0, n = size(ndims, shapes); i < n; ++i) y[i] = 1 / (1 + expf(-x[i]));
  return 0;
}

SIGNATURE(sigmoid_backward) {
  const float *y = params[1], *dy = params[2];
  float *dx = params[3];
  for (int64_t i = 0, n = size(ndims, shapes); i < n; ++i) dx[i] = dy[i] * y[i] * (1 - y[i]);
  return 0;
}
