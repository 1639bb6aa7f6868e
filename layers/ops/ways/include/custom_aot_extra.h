// What an operator in a compiled library is given beside its arrays: attributes, workspaces, and
// data of its own.
//
//   extern "C" int f(int nparam, void **params, int *ndims, int64_t **shapes, const char **dtypes,
//                    void *stream, void *extra);
//       computes. params are the inputs, the outputs and the workspaces; extra is an AotExtra *.
//   extern "C" int fInit(int *ndims, int64_t **shapes, const char **dtypes, AotExtra *extra);
//       if there is one, prepares: called once for the shapes and dtypes of inputs and outputs and
//       for the attributes.
//   extern "C" std::vector<int64_t> fInferShape(int *ndims, int64_t **shapes, AotExtra *extra);
//       if there is one, gives the output's shape by those of the inputs.
//
// What is not 0 of f and fInit is an error, and so is an exception.
//
// All that passes between a library and its caller lies in memory as in C: they may be built by
// different compilers.

#ifndef LAYERS_CUSTOM_AOT_EXTRA_H_
#define LAYERS_CUSTOM_AOT_EXTRA_H_

#ifndef __cplusplus
#error "custom_aot_extra.h is C++: a source in C has no attributes"
#endif

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

// What a library keeps from fInit to its calls is derived from this. It is deleted by its owner,
// the AotExtra.
class AotKernelData {
 public:
  virtual ~AotKernelData() = default;
};

// An attribute: rows of numbers, or text. One number is a row of one.
struct AotAttribute {
  const char *name;
  int32_t kind;   // 'b' bool, 'i' int64_t, 'f' double, 's' text, ' ' no values
  int32_t depth;  // 0 a value, 1 a vector, 2 a vector of vectors
  int64_t rows;
  const int64_t *lengths;  // of each row, or of the text
  const void *values;      // int64_t for bool and int64_t
};

class AotExtra {
 public:
  AotExtra() = default;
  AotExtra(const AotExtra &) = delete;
  AotExtra &operator=(const AotExtra &) = delete;

  bool HasAttr(const std::string &name) const { return Find(name) != nullptr; }

  // The value of an attribute. T is bool, int64_t, float, double, std::string, or of the three
  // kinds of numbers a std::vector, or a std::vector of such; an integer is a float as well.
  // Throws std::invalid_argument where there is none, or one of another type.
  template <typename T>
  T Attr(const std::string &name) const {
    const AotAttribute *found = Find(name);
    if (found == nullptr) throw std::invalid_argument("there is no attribute '" + name + "'");
    T value{};
    Read(*found, &value);
    return value;
  }

  // The sizes in bytes of memory that each call is given after its outputs; set in fInit.
  void SetWorkSpace(const std::vector<size_t> &sizes) {
    size_t *copy = new size_t[sizes.size()];
    for (size_t i = 0; i < sizes.size(); ++i) copy[i] = sizes[i];
    delete[] workspaces_;
    workspaces_ = copy;
    workspace_count_ = sizes.size();
    release_ = &Release;
  }
  std::vector<size_t> WorkSpace() const {
    return std::vector<size_t>(workspaces_, workspaces_ + workspace_count_);
  }

  // What fInit prepares for the calls; it is deleted with the kernel.
  void SetKernelData(AotKernelData *data) {
    if (data != data_) delete data_;
    data_ = data;
    release_ = &Release;
  }
  AotKernelData *KernelData() const { return data_; }

 private:
  const AotAttribute *Find(const std::string &name) const {
    for (size_t i = 0; i < count_; ++i)
      if (name == attributes_[i].name) return &attributes_[i];
    return nullptr;
  }

  static void Expect(bool right, const AotAttribute &a, const char *type) {
    if (right) return;
    const char *kind = a.kind == 'b'   ? "bool"
                       : a.kind == 'i' ? "int64_t"
                       : a.kind == 'f' ? "float"
                       : a.kind == 's' ? "std::string"
                                       : "nothing";
    const char *of[] = {"", "a vector of ", "vectors of "};
    throw std::invalid_argument("the attribute '" + std::string(a.name) + "' is " + of[a.depth] +
                                kind + ", and was read as " + type);
  }

  // Numbers of a row, from a place in the values on.
  static void Copy(const AotAttribute &a, int64_t from, int64_t n, std::vector<int64_t> *row) {
    Expect(a.kind == 'i' || a.kind == ' ', a, "int64_t");
    const int64_t *values = static_cast<const int64_t *>(a.values) + from;
    row->assign(values, values + n);
  }
  template <typename Float>
  static void Copy(const AotAttribute &a, int64_t from, int64_t n, std::vector<Float> *row) {
    Expect(a.kind == 'i' || a.kind == 'f' || a.kind == ' ', a, "float");
    for (int64_t i = from; i < from + n; ++i)
      row->push_back(a.kind == 'i' ? static_cast<Float>(static_cast<const int64_t *>(a.values)[i])
                                   : static_cast<Float>(static_cast<const double *>(a.values)[i]));
  }

  static void Read(const AotAttribute &a, bool *value) {
    Expect(a.kind == 'b' && a.depth == 0, a, "bool");
    *value = *static_cast<const int64_t *>(a.values) != 0;
  }
  static void Read(const AotAttribute &a, std::string *value) {
    Expect(a.kind == 's', a, "std::string");
    value->assign(static_cast<const char *>(a.values), static_cast<size_t>(a.lengths[0]));
  }
  static void Read(const AotAttribute &a, int64_t *value) { ReadOne(a, value); }
  static void Read(const AotAttribute &a, float *value) { ReadOne(a, value); }
  static void Read(const AotAttribute &a, double *value) { ReadOne(a, value); }
  template <typename Number>
  static void ReadOne(const AotAttribute &a, Number *value) {
    Expect(a.depth == 0, a, "one number");
    std::vector<Number> row;
    Copy(a, 0, 1, &row);
    *value = row[0];
  }
  template <typename Number>
  static void Read(const AotAttribute &a, std::vector<Number> *value) {
    Expect(a.depth == 1, a, "a vector");
    Copy(a, 0, a.lengths[0], value);
  }
  template <typename Number>
  static void Read(const AotAttribute &a, std::vector<std::vector<Number>> *value) {
    Expect(a.depth == 2 || a.kind == ' ', a, "vectors");
    value->resize(static_cast<size_t>(a.rows));
    for (int64_t i = 0, from = 0; i < a.rows; from += a.lengths[i++])
      Copy(a, from, a.lengths[i], &(*value)[static_cast<size_t>(i)]);
  }

  static void Release(AotExtra *extra) {
    delete extra->data_;
    delete[] extra->workspaces_;
    extra->data_ = nullptr;
    extra->workspaces_ = nullptr;
    extra->workspace_count_ = 0;
  }

  const AotAttribute *attributes_ = nullptr;
  size_t count_ = 0;
  size_t *workspaces_ = nullptr;
  size_t workspace_count_ = 0;
  AotKernelData *data_ = nullptr;
  void (*release_)(AotExtra *) = nullptr;  // frees what the library has made, by its own means
};

#endif  // LAYERS_CUSTOM_AOT_EXTRA_H_
