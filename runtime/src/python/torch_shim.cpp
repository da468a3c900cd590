// Looks up torch's stable C functions; see torch_shim.h.

#include "torch_shim.h"

#include "torch_state.h"

namespace mindiesd::python {
namespace {

constexpr const char* kTorch = "libtorch_cpu.so";

template <typename Function>
bool take(Function* function, const char* name, const char* library = kTorch) {
  *function = reinterpret_cast<Function>(torch_symbol(library, name));
  return *function != nullptr;
}

bool take_value(std::int32_t* value, const char* name) {
  std::int32_t (*function)() = nullptr;
  if (!take(&function, name)) return false;
  *value = function();
  return true;
}

bool fill(Shim* shim) {
  take(&shim->cuda_stream, "aoti_torch_get_current_cuda_stream", "libtorch_cuda.so");
  const bool boxes = take(&shim->new_box, "torch_new_stable_ivalue") &&
                     take(&shim->delete_box, "torch_delete_stable_ivalue");
  if (!boxes) shim->new_box = nullptr;
  take(&shim->last_error, "torch_exception_get_what_without_backtrace");
  return take(&shim->library_init, "aoti_torch_library_init_impl") &&
         take(&shim->library_impl, "torch_library_impl") &&
         take(&shim->call, "torch_call_dispatcher") &&
         take(&shim->delete_tensor, "aoti_torch_delete_tensor_object") &&
         take(&shim->address, "aoti_torch_get_data_ptr") &&
         take(&shim->dim, "aoti_torch_get_dim") && take(&shim->sizes, "aoti_torch_get_sizes") &&
         take(&shim->strides, "aoti_torch_get_strides") &&
         take(&shim->offset, "aoti_torch_get_storage_offset") &&
         take(&shim->dtype, "aoti_torch_get_dtype") &&
         take(&shim->layout, "aoti_torch_get_layout") &&
         take(&shim->device_type, "aoti_torch_get_device_type") &&
         take(&shim->device_index, "aoti_torch_get_device_index") &&
         take(&shim->empty, "aoti_torch_empty_strided") &&
         take(&shim->reinterpret, "aoti_torch__reinterpret_tensor") &&
         take(&shim->num_threads, "torch_get_num_threads") &&
         take_value(&shim->strided, "aoti_torch_layout_strided") &&
         take_value(&shim->cpu, "aoti_torch_device_type_cpu") &&
         take_value(&shim->cuda, "aoti_torch_device_type_cuda") &&
         take_value(&shim->dtypes[0], "aoti_torch_dtype_float32") &&
         take_value(&shim->dtypes[1], "aoti_torch_dtype_float16") &&
         take_value(&shim->dtypes[2], "aoti_torch_dtype_bfloat16");
}

}  // namespace

const Shim* Shim::find() {
  static Shim shim{};
  static const bool found = fill(&shim);
  return found ? &shim : nullptr;
}

// Before torch had functions for it, the two sides shared operator new and delete.
StackValue* Shim::box(StackValue value) const {
  StackValue* made = nullptr;
  if (new_box == nullptr) return new StackValue(value);
  if (new_box(&made) == 0) *made = value;
  return made;
}

void Shim::free_box(StackValue* box) const {
  if (new_box == nullptr) {
    delete box;
  } else {
    delete_box(box);
  }
}

}  // namespace mindiesd::python
