// Reads a torch tensor's metadata without linking torch. Entry point: TensorReader.
//
// From torch 2.10 on the tensor type publishes DLPack's exchange table (github.com/dmlc/dlpack,
// dlpack.h, DLPackExchangeAPI), whose functions fill a struct without making Python objects. Older
// versions are asked by method calls, which takes about half a microsecond a tensor.

#pragma once

#include <cstdint>

#include "mindiesd/mindiesd_c.h"
#include "stable_abi.h"

namespace mindiesd::python {

// What DLPack's structs look like; names as there.
struct DLDevice {
  std::int32_t device_type;
  std::int32_t device_id;
};
struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

struct TensorMeta {
  char* data = nullptr;
  std::int32_t device_type = 0;
  std::int32_t device_id = 0;
  std::int32_t ndim = 0;
  std::uint32_t dtype = 0;  // code and bits, only compared
  bool is_complex = false;
  std::int64_t sizes[MINDIESD_MAX_NDIM];
  std::int64_t strides[MINDIESD_MAX_NDIM];
};

// An owned reference.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* object) : object_(object) {}
  Ref(Ref&& other) noexcept : object_(other.object_) { other.object_ = nullptr; }
  Ref& operator=(Ref&& other) noexcept {
    PyObject* old = object_;
    object_ = other.object_;
    other.object_ = nullptr;
    Py_DecRef(old);
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  ~Ref() { Py_DecRef(object_); }  // takes null

  static Ref to(PyObject* borrowed) {
    Py_IncRef(borrowed);
    return Ref(borrowed);
  }
  PyObject* get() const { return object_; }
  PyObject* release() {
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

class TensorReader {
 public:
  // `capsule`: torch.Tensor.__dlpack_c_exchange_api__, or None. `base`: torch._C.TensorBase.
  bool connect(PyObject* capsule, PyObject* base);

  // From now on whether a tensor is a lazy negation is read where torch keeps it, and not asked.
  // `pairs`: ((a tensor, one that is a lazy negation), ...), from which the place is found. False:
  // not found, or they do not agree.
  bool read_negations(PyObject* pairs);

  // False, with no Python error set: not a plain tensor of strided memory on the CPU or a CUDA
  // device, or one whose values are not what its memory holds (a lazy conjugate or negation).
  bool read(PyObject* tensor, TensorMeta* meta) const;

  // The same for a tensor that was just allocated, which is no lazy negation.
  bool read_new(PyObject* tensor, TensorMeta* meta) const;

  // The stream that torch works on; null on the CPU. False, with no Python error set: unknown.
  bool stream(const TensorMeta& meta, void** stream) const;

  void set_stream_function(PyObject* function) { raw_stream_ = Ref::to(function); }

 private:
  bool read_by_methods(PyObject* tensor, TensorMeta* meta) const;
  bool is_negation(PyObject* tensor) const;

  int (*fill_)(void* py_object, DLTensor* out) = nullptr;
  int (*current_stream_)(std::int32_t device_type, std::int32_t device_id, void** stream) = nullptr;
  Ref data_ptr_, stride_, get_device_, is_neg_, is_conj_;  // methods of the base type
  Ref shape_name_, dtype_name_, is_cpu_name_, is_cuda_name_, is_complex_name_;
  // Bytes from an object to the pointer to its TensorImpl, words from there to its dispatch keys,
  // and the key of lazy negations; 0: not known.
  std::ptrdiff_t impl_place_ = 0, keys_place_ = 0;
  std::uint64_t negation_key_ = 0;
  Ref raw_stream_;  // torch._C._cuda_getCurrentRawStream
};

}  // namespace mindiesd::python
