// torch's stable C functions (torch/csrc/inductor/aoti_torch/c/shim.h and
// torch/csrc/stable/c/shim.h), looked up in the torch that the process has loaded. Entry point:
// Shim::find.

#pragma once

#include <cstddef>
#include <cstdint>

namespace mindiesd::python {

// A tensor that somebody holds; at::Tensor* behind it.
using TensorHandle = struct TensorOpaque*;
// What an operator's argument or result is on the stack that torch hands over: a number's bits, an
// owned TensorHandle, or for an optional one null or the address of a box that holds it.
using StackValue = std::uint64_t;
using StackKernel = void (*)(StackValue* stack, std::uint64_t arguments, std::uint64_t results);

// Functions give 0 where they succeed. Absent ones are null.
struct Shim {
  using Error = std::int32_t;

  // Null where the loaded torch lacks a function, which it does before 2.10.
  static const Shim* find();

  Error (*library_init)(const char* name_space, const char* key, const char* file,
                        std::uint32_t line, void** library);
  Error (*library_impl)(void* library, const char* name, StackKernel kernel, std::uint64_t version);
  Error (*call)(const char* name, const char* overload, StackValue* stack, std::uint64_t version);
  Error (*delete_tensor)(TensorHandle);
  Error (*address)(TensorHandle, void**);
  Error (*dim)(TensorHandle, std::int64_t*);
  Error (*sizes)(TensorHandle, std::int64_t**);
  Error (*strides)(TensorHandle, std::int64_t**);
  Error (*offset)(TensorHandle, std::int64_t*);
  Error (*dtype)(TensorHandle, std::int32_t*);
  Error (*layout)(TensorHandle, std::int32_t*);
  Error (*device_type)(TensorHandle, std::int32_t*);
  Error (*device_index)(TensorHandle, std::int32_t*);
  Error (*empty)(std::int64_t ndim, const std::int64_t* sizes, const std::int64_t* strides,
                 std::int32_t dtype, std::int32_t device_type, std::int32_t device_index,
                 TensorHandle*);
  Error (*reinterpret)(TensorHandle, std::int64_t ndim, const std::int64_t* sizes,
                       const std::int64_t* strides, std::int64_t offset, TensorHandle*);
  Error (*num_threads)(std::uint32_t*);
  Error (*cuda_stream)(std::int32_t device_index, void** stream);  // null without CUDA
  Error (*new_box)(StackValue**);                                  // null before 2.13
  Error (*delete_box)(StackValue*);                                // null before 2.13
  const char* (*last_error)();                                     // null before 2.13
  std::int32_t strided, cpu, cuda;
  std::int32_t dtypes[3];  // of MINDIESD_FLOAT32, MINDIESD_FLOAT16, MINDIESD_BFLOAT16

  StackValue* box(StackValue value) const;
  void free_box(StackValue* box) const;
};

// The version whose rules for stack values torch is asked to follow: 2.10.
constexpr std::uint64_t kShimVersion = (std::uint64_t{2} << 56) | (std::uint64_t{10} << 48);

}  // namespace mindiesd::python
