// Functions that prepare, infer, keep data of their own and throw.

#include "custom_aot_extra.h"

#include <unistd.h>

#include <atomic>
#include <numeric>

#include "prepared.h"

#define FUNCTION(name)                                                                    \
  extern "C" int name(int nparam, void **params, int *ndims, int64_t **shapes,            \
                      const char **dtypes, void *stream, void *extra)
#define INIT(name) \
  extern "C" int name##Init(int *ndims, int64_t **shapes, const char **dtypes, AotExtra *extra)
#define INFER_SHAPE(name)                                                                   \
  extern "C" std::vector<int64_t> name##InferShape(int *ndims, int64_t **shapes, \
                                                   AotExtra *extra)

static AotExtra *of(void *extra) { return static_cast<AotExtra *>(extra); }

// Writes the handle of the stream that it is given.
FUNCTION(stream_given) {
  *static_cast<int64_t *>(params[0]) = reinterpret_cast<int64_t>(stream);
  return 0;
}

// Writes the value of the attribute "value", read as the type that "read" names, as numbers.
FUNCTION(attribute) {
  auto *y = static_cast<double *>(params[0]);
  std::string type = of(extra)->Attr<std::string>("read");
  if (type == "bool") {
    *y = of(extra)->Attr<bool>("value");
  } else if (type == "int") {
    *y = static_cast<double>(of(extra)->Attr<int64_t>("value"));
  } else if (type == "float") {
    *y = of(extra)->Attr<float>("value");
  } else if (type == "double") {
    *y = of(extra)->Attr<double>("value");
  } else if (type == "string") {
    for (unsigned char c : of(extra)->Attr<std::string>("value")) *y++ = c;
  } else if (type == "ints") {
    for (int64_t v : of(extra)->Attr<std::vector<int64_t>>("value")) *y++ = static_cast<double>(v);
  } else if (type == "floats") {
    for (float v : of(extra)->Attr<std::vector<float>>("value")) *y++ = v;
  } else if (type == "int rows") {
    for (auto &row : of(extra)->Attr<std::vector<std::vector<int64_t>>>("value")) {
      for (int64_t v : row) *y++ = static_cast<double>(v);
      *y++ = -1;
    }
  } else if (type == "float rows") {
    for (auto &row : of(extra)->Attr<std::vector<std::vector<float>>>("value")) {
      for (float v : row) *y++ = v;
      *y++ = -1;
    }
  } else {
    *y = of(extra)->HasAttr("value");
  }
  return 0;
}

struct Scale : AotKernelData {
  static std::atomic<int> made, alive;
  float factor;
  explicit Scale(float by) : factor(by) { ++made, ++alive; }
  ~Scale() override { --alive; }
};
std::atomic<int> Scale::made, Scale::alive;

FUNCTION(scale) {
  auto *data = static_cast<Scale *>(of(extra)->KernelData());
  for (int64_t i = 0; i < shapes[0][0]; ++i)
    static_cast<float *>(params[1])[i] = data->factor * static_cast<float *>(params[0])[i];
  return 0;
}
INIT(scale) {
  extra->SetKernelData(new Scale(extra->HasAttr("factor") ? extra->Attr<float>("factor") : 1));
  if (extra->HasAttr("slow")) usleep(50000);
  return extra->HasAttr("refuse") ? -3 : 0;
}
FUNCTION(scales) {
  static_cast<int32_t *>(params[0])[0] = Scale::made;
  static_cast<int32_t *>(params[0])[1] = Scale::alive;
  return 0;
}

// The sum of a vector, by way of two workspaces.
FUNCTION(total) {
  if (nparam != 4 || ndims[2] != 1 || shapes[2][0] != 8 * shapes[0][0]) return 1;
  if (std::string(dtypes[3]) != "uint8" || shapes[3][0] != 8) return 1;
  auto *x = static_cast<float *>(params[0]);
  auto *copy = static_cast<double *>(params[2]), *sum = static_cast<double *>(params[3]);
  std::copy(x, x + shapes[0][0], copy);
  *sum = std::accumulate(copy, copy + shapes[0][0], 0.0);
  *static_cast<float *>(params[1]) = static_cast<float>(*sum);
  return 0;
}
INIT(total) {
  extra->SetWorkSpace({1});
  extra->SetWorkSpace({sizeof(double) * static_cast<size_t>(shapes[0][0]), sizeof(double)});
  return extra->WorkSpace().size() == 2 ? 0 : 1;
}

// Repeats of each element; how many is an attribute.
FUNCTION(repeat) {
  int64_t times = of(extra)->Attr<int64_t>("times");
  for (int64_t i = 0; i < times * shapes[0][0]; ++i)
    static_cast<float *>(params[1])[i] = static_cast<float *>(params[0])[i / times];
  return 0;
}
INFER_SHAPE(repeat) {
  if (ndims[0] != 1) throw std::invalid_argument("repeat is for vectors");
  return {REPEAT * shapes[0][0] * extra->Attr<int64_t>("times")};
}

FUNCTION(wrong_shape) { return 0; }
INFER_SHAPE(wrong_shape) {
  return std::vector<int64_t>(static_cast<size_t>(shapes[0][0]), shapes[0][1]);
}

FUNCTION(thrower) { throw std::runtime_error("not today"); }
FUNCTION(number_thrower) { throw 7; }
FUNCTION(init_thrower) { return 0; }
INIT(init_thrower) { throw std::runtime_error("not prepared"); }
