// Between Python and a library in C++: exceptions become messages, std::vector an array.

#include <algorithm>
#include <exception>

#include "custom_aot_extra.h"

namespace {

using Function = int (*)(int, void **, int *, int64_t **, const char **, void *, void *);
using Init = int (*)(int *, int64_t **, const char **, AotExtra *);
using InferShape = std::vector<int64_t> (*)(int *, int64_t **, AotExtra *);

thread_local std::string message;  // of the last call's exception

template <typename Call>
int Guarded(Call call) {
  message.clear();
  try {
    return call();
  } catch (const std::exception &error) {
    message = *error.what() ? error.what() : "an exception without a message";
  } catch (...) {
    message = "an exception that is no std::exception";
  }
  return 1;
}

}  // namespace

extern "C" const char *layers_aot_message() { return message.c_str(); }

extern "C" int layers_aot_call(void *f, int nparam, void **params, int *ndims, int64_t **shapes,
                               const char **dtypes, void *stream, void *extra) {
  return Guarded([=] {
    return reinterpret_cast<Function>(f)(nparam, params, ndims, shapes, dtypes, stream, extra);
  });
}

extern "C" int layers_aot_init(void *f, int *ndims, int64_t **shapes, const char **dtypes,
                               void *extra) {
  return Guarded([=] {
    return reinterpret_cast<Init>(f)(ndims, shapes, dtypes, static_cast<AotExtra *>(extra));
  });
}

// Writes as much of the shape as there is room for; *count tells its length.
extern "C" int layers_aot_infer_shape(void *f, int *ndims, int64_t **shapes, void *extra,
                                      int64_t *shape, int64_t room, int64_t *count) {
  return Guarded([=] {
    std::vector<int64_t> found =
        reinterpret_cast<InferShape>(f)(ndims, shapes, static_cast<AotExtra *>(extra));
    *count = static_cast<int64_t>(found.size());
    std::copy_n(found.begin(), std::min(*count, room), shape);
    return 0;
  });
}
