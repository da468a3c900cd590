// Reads recorded launches and repeats them; see recipe.h.

#include "recipe.h"

namespace mindiesd::python {
namespace {

bool read_slot(PyObject* item, Slot* slot) {
  std::int64_t values[6];  // field, source, offset, dtype, device type, device id
  if (PyTuple_Size(item) != 8) return false;
  for (Py_ssize_t i = 0; i < 6; ++i) values[i] = PyLong_AsLongLong(PyTuple_GetItem(item, i));
  PyObject* sizes = PyTuple_GetItem(item, 6);
  PyObject* strides = PyTuple_GetItem(item, 7);
  const Py_ssize_t rank = PyTuple_Size(sizes);
  if (rank < 0 || rank > MINDIESD_MAX_NDIM || PyTuple_Size(strides) != rank) return false;
  for (Py_ssize_t d = 0; d < rank; ++d) {
    slot->sizes[d] = PyLong_AsLongLong(PyTuple_GetItem(sizes, d));
    slot->strides[d] = PyLong_AsLongLong(PyTuple_GetItem(strides, d));
  }
  slot->field = static_cast<std::size_t>(values[0]);
  slot->source = static_cast<int>(values[1]);
  slot->offset = values[2];
  slot->tensor = {nullptr,
                  slot->sizes,
                  slot->strides,
                  static_cast<std::int32_t>(rank),
                  static_cast<std::int32_t>(values[3]),
                  static_cast<std::int32_t>(values[4]),
                  static_cast<std::int32_t>(values[5])};
  return PyErr_Occurred() == nullptr;
}

}  // namespace

PyObject* fail(const char* text) {
  if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_TypeError, text);
  return nullptr;
}

std::uint64_t hash_of(const std::uint64_t* words, std::size_t count) {
  std::uint64_t hash = count;
  for (std::size_t i = 0; i < count; ++i) {
    hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29;
  }
  return hash;
}

bool Launch::read(PyObject* function, PyObject* bytes, PyObject* stream_field, PyObject* slots) {
  function_ = reinterpret_cast<mindiesd_status (*)(const void*)>(PyLong_AsVoidPtr(function));
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes, &data, &size) != 0) return false;
  if (static_cast<std::size_t>(size) > kMaxArgs) return false;
  std::memcpy(args_, data, static_cast<std::size_t>(size));
  args_size_ = static_cast<std::size_t>(size);
  stream_field_ = static_cast<std::size_t>(PyLong_AsLongLong(stream_field));
  const Py_ssize_t count = PyTuple_Size(slots);
  if (count < 0 || count > kMaxTensors) return false;
  slots_.resize(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!read_slot(PyTuple_GetItem(slots, i), &slots_[static_cast<std::size_t>(i)])) return false;
  }
  return PyErr_Occurred() == nullptr;
}

mindiesd_status Launch::run(char* const* given, char* const* made, void* stream) const {
  alignas(std::max_align_t) char args[kMaxArgs];
  std::memcpy(args, args_, args_size_);
  mindiesd_tensor tensors[kMaxTensors];
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    tensors[i] = slot.tensor;
    tensors[i].data = (slot.source >= 0 ? given[slot.source] : made[~slot.source]) + slot.offset;
    const mindiesd_tensor* pointer = &tensors[i];
    std::memcpy(args + slot.field, &pointer, sizeof(void*));
  }
  std::memcpy(args + stream_field_, &stream, sizeof(stream));
  return function_(args);
}

}  // namespace mindiesd::python
