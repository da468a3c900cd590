// Tensor metadata by DLPack's exchange table or by method calls; see torch_tensor.h.

#include "torch_tensor.h"

#include <cstring>
#include <initializer_list>

namespace mindiesd::python {
namespace {

// DLPackExchangeAPI, up to what is used of it.
struct ExchangeApi {
  std::uint32_t major_version, minor_version;
  const ExchangeApi* previous;
  void* managed_tensor_allocator;
  void* managed_tensor_from_py_object_no_sync;
  void* managed_tensor_to_py_object_no_sync;
  int (*dltensor_from_py_object_no_sync)(void* py_object, DLTensor* out);
  int (*current_work_stream)(std::int32_t device_type, std::int32_t device_id, void** stream);
};

constexpr std::uint8_t kDlComplex = 5;

// True where the method says True; errors count as true, so that odd tensors are left alone.
bool says_true(PyObject* method, PyObject* tensor) {
  const Ref answer(PyObject_CallFunctionObjArgs(method, tensor, nullptr));
  if (!answer) {
    PyErr_Clear();
    return true;
  }
  return answer.get() != &_Py_FalseStruct;
}

const std::uint64_t* impl_of(PyObject* tensor, std::ptrdiff_t place) {
  const std::uint64_t* impl = nullptr;
  std::memcpy(&impl, reinterpret_cast<const char*>(tensor) + place, sizeof(impl));
  return impl;
}

// Where an object keeps the pointer that torch gives as `_cdata`; 0: nowhere.
std::ptrdiff_t impl_place_of(PyObject* tensor) {
  const Ref number(PyObject_GetAttrString(tensor, "_cdata"));
  const void* impl = number ? PyLong_AsVoidPtr(number.get()) : nullptr;
  if (PyErr_Occurred() != nullptr || impl == nullptr) return 0;
  for (const std::ptrdiff_t place : {16, 24}) {
    if (impl_of(tensor, place) == impl) return place;
  }
  return 0;
}

bool read_integers(PyObject* tuple, std::int64_t* values, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; ++i) {
    values[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, i));
  }
  return PyErr_Occurred() == nullptr;
}

}  // namespace

bool TensorReader::connect(PyObject* capsule, PyObject* base) {
  if (capsule != &_Py_NoneStruct) {
    const auto* api =
        static_cast<const ExchangeApi*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
    if (api == nullptr) return false;
    while (api != nullptr && api->major_version != 1) api = api->previous;
    if (api != nullptr && api->dltensor_from_py_object_no_sync != nullptr) {
      fill_ = api->dltensor_from_py_object_no_sync;
      current_stream_ = api->current_work_stream;
    }
  }
  data_ptr_ = Ref(PyObject_GetAttrString(base, "data_ptr"));
  stride_ = Ref(PyObject_GetAttrString(base, "stride"));
  get_device_ = Ref(PyObject_GetAttrString(base, "get_device"));
  is_neg_ = Ref(PyObject_GetAttrString(base, "is_neg"));
  is_conj_ = Ref(PyObject_GetAttrString(base, "is_conj"));
  shape_name_ = Ref(PyUnicode_InternFromString("shape"));
  dtype_name_ = Ref(PyUnicode_InternFromString("dtype"));
  is_cpu_name_ = Ref(PyUnicode_InternFromString("is_cpu"));
  is_cuda_name_ = Ref(PyUnicode_InternFromString("is_cuda"));
  is_complex_name_ = Ref(PyUnicode_InternFromString("is_complex"));
  return PyErr_Occurred() == nullptr;
}

bool TensorReader::read_negations(PyObject* pairs) {
  // The keys are at the end of the object: word 21 or 22 in torch 2.4 to 2.13.
  constexpr std::ptrdiff_t kFirst = 18, kLast = 22;
  const Py_ssize_t count = PyTuple_Size(pairs);
  const auto tensor = [pairs](Py_ssize_t i, Py_ssize_t which) {
    return PyTuple_GetItem(PyTuple_GetItem(pairs, i), which);
  };
  const std::ptrdiff_t place = count > 0 ? impl_place_of(tensor(0, 0)) : 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    for (Py_ssize_t which = 0; which < 2; ++which) {
      if (place == 0 || impl_place_of(tensor(i, which)) != place) return PyErr_Clear(), false;
    }
  }
  for (std::ptrdiff_t word = kFirst; word <= kLast; ++word) {
    std::uint64_t key = 0;
    bool agree = true;
    for (Py_ssize_t i = 0; i < count && agree; ++i) {
      const std::uint64_t plain = impl_of(tensor(i, 0), place)[word];
      const std::uint64_t added = plain ^ impl_of(tensor(i, 1), place)[word];
      agree = added != 0 && (added & (added - 1)) == 0 && (plain & added) == 0 &&
              (i == 0 || added == key);
      key = added;
    }
    if (!agree) continue;
    impl_place_ = place;
    keys_place_ = word;
    negation_key_ = key;
    return true;
  }
  return false;
}

bool TensorReader::is_negation(PyObject* tensor) const {
  if (negation_key_ == 0) return says_true(is_neg_.get(), tensor);
  return (impl_of(tensor, impl_place_)[keys_place_] & negation_key_) != 0;
}

bool TensorReader::read(PyObject* tensor, TensorMeta* meta) const {
  return !is_negation(tensor) && read_new(tensor, meta);
}

bool TensorReader::read_new(PyObject* tensor, TensorMeta* meta) const {
  if (fill_ == nullptr) {
    if (!read_by_methods(tensor, meta)) {
      PyErr_Clear();
      return false;
    }
  } else {
    DLTensor view;
    if (fill_(tensor, &view) != 0) {
      PyErr_Clear();
      return false;
    }
    if (view.ndim > MINDIESD_MAX_NDIM || view.strides == nullptr) {
      if (view.ndim != 0) return false;
    }
    meta->data = static_cast<char*>(view.data) + view.byte_offset;
    meta->device_type = view.device.device_type;
    meta->device_id = view.device.device_id;
    meta->ndim = view.ndim;
    meta->dtype = std::uint32_t{view.dtype.code} << 8 | view.dtype.bits;
    meta->is_complex = view.dtype.code == kDlComplex;
    for (std::int32_t d = 0; d < view.ndim; ++d) {
      meta->sizes[d] = view.shape[d];
      meta->strides[d] = view.strides[d];
    }
  }
  if (meta->device_type != MINDIESD_CPU && meta->device_type != MINDIESD_CUDA) return false;
  return !meta->is_complex || !says_true(is_conj_.get(), tensor);
}

bool TensorReader::read_by_methods(PyObject* tensor, TensorMeta* meta) const {
  const Ref is_cpu(PyObject_GetAttr(tensor, is_cpu_name_.get()));
  if (!is_cpu) return false;
  meta->device_type = MINDIESD_CPU;
  meta->device_id = 0;
  if (is_cpu.get() != &_Py_TrueStruct) {
    const Ref is_cuda(PyObject_GetAttr(tensor, is_cuda_name_.get()));
    if (!is_cuda || is_cuda.get() != &_Py_TrueStruct) return false;
    const Ref index(PyObject_CallFunctionObjArgs(get_device_.get(), tensor, nullptr));
    if (!index) return false;
    meta->device_type = MINDIESD_CUDA;
    meta->device_id = static_cast<std::int32_t>(PyLong_AsLong(index.get()));
  }
  const Ref shape(PyObject_GetAttr(tensor, shape_name_.get()));
  const Ref stride(PyObject_CallFunctionObjArgs(stride_.get(), tensor, nullptr));
  const Ref dtype(PyObject_GetAttr(tensor, dtype_name_.get()));
  const Ref pointer(PyObject_CallFunctionObjArgs(data_ptr_.get(), tensor, nullptr));
  if (!shape || !stride || !dtype || !pointer) return false;
  const Ref is_complex(PyObject_GetAttr(dtype.get(), is_complex_name_.get()));
  const Py_ssize_t rank = PyTuple_Size(shape.get());
  if (!is_complex || rank > MINDIESD_MAX_NDIM || PyTuple_Size(stride.get()) != rank) return false;
  meta->ndim = static_cast<std::int32_t>(rank);
  meta->data = static_cast<char*>(PyLong_AsVoidPtr(pointer.get()));
  // The types are objects that live as long as torch: their addresses tell them apart.
  meta->dtype = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(dtype.get()) >> 4);
  meta->is_complex = is_complex.get() == &_Py_TrueStruct;
  return read_integers(shape.get(), meta->sizes, rank) &&
         read_integers(stride.get(), meta->strides, rank);
}

bool TensorReader::stream(const TensorMeta& meta, void** stream) const {
  *stream = nullptr;
  if (meta.device_type == MINDIESD_CPU) return true;
  if (current_stream_ != nullptr) {
    if (current_stream_(meta.device_type, meta.device_id, stream) == 0) return true;
    PyErr_Clear();
    return false;
  }
  const Ref index(PyLong_FromLong(meta.device_id));
  const Ref raw(PyObject_CallFunctionObjArgs(raw_stream_.get(), index.get(), nullptr));
  if (raw) *stream = PyLong_AsVoidPtr(raw.get());
  if (PyErr_Occurred() == nullptr) return true;
  PyErr_Clear();
  return false;
}

}  // namespace mindiesd::python
