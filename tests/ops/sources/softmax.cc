// Softmax, with the gradient of the cross entropy with integer labels.

#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" int softmax(int nparam, void **params, int *ndims, int64_t **shapes,
                       const char **dtypes, void *stream, void *extra) {
  int64_t rows = shapes[0][0], columns = shapes[0][1];
  auto *x = static_cast<const float *>(params[0]);
  auto *y = static_cast<float *>(params[1]);
  for (int64_t i = 0; i < rows; ++i, x += columns, y += columns) {
    float highest = *std::max_element(x, x + columns), sum = 0;
    for (int64_t j = 0; j < columns; ++j) sum += y[j] = std::exp(x[j] - highest);
    for (int64_t j = 0; j < columns; ++j) y[j] /= sum;
  }
  return 0;
}

extern "C" int softmax_grad(int nparam, void **params, int *ndims, int64_t **shapes,
                            const char **dtypes, void *stream, void *extra) {
  int64_t rows = shapes[0][0], columns = shapes[0][1];
  auto *y = static_cast<const float *>(params[0]);
  auto *label = static_cast<const int32_t *>(params[1]);
  auto *dx = static_cast<float *>(params[2]);
  std::copy(y, y + rows * columns, dx);
  for (int64_t i = 0; i < rows; ++i) {
    if (label[i] < 0 || label[i] >= columns) return 2;
    dx[i * columns + label[i]] -= 1;
  }
  return 0;
}
