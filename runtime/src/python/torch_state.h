// What torch's state of the calling thread says, without calling Python where the loaded torch lets
// itself be asked directly. Entry point: TorchState.
//
// torch keeps one word for what is included in dispatch and one for what is excluded: dispatch
// modes, functorch's transforms and autocast change them, and so do inference mode and gradients.
// Where the words are those with which Python said that nothing out of the ordinary is on, nothing
// is. Which functions and words there are is looked up by name; what is not found is asked of
// Python each time.

#pragma once

#include <cstdint>

#include "torch_tensor.h"

namespace mindiesd::python {

// Of a library that torch has loaded; null where it has none or not that symbol.
void* torch_symbol(const char* library, const char* name);

class TorchState {
 public:
  // `conditions`: torch's functions without arguments for dispatch modes, function modes, the
  // tracing state, the profiler and functorch's stack, in this order; `autocast`: whether any is
  // on; `grad`: is_grad_enabled. False: something is missing.
  bool connect(PyObject* conditions, PyObject* autocast, PyObject* grad);

  // Looks up the words of dispatch; whether they were found. Until it is called they are not used.
  bool use_words();

  // The words, for the check whether they show what they should; false: not found.
  static bool words(std::uint64_t (&found)[2]);

  // No modes, no tracing, no transforms, no profiler. `autocast`: whether any is on.
  bool ordinary(bool* autocast) const;

  bool grad_enabled() const;

  // How many threads torch's own operators use; 0: it has to be asked of Python.
  std::int32_t num_threads() const { return num_threads_ != nullptr ? num_threads_() : 0; }

 private:
  Ref dispatch_, function_, tracing_, profiler_, functorch_, autocast_, grad_;
  std::int64_t (*function_modes_)() = nullptr;
  void* const* (*tracing_state_)() = nullptr;  // a reference to a shared pointer
  bool (*profiler_on_)() = nullptr;
  bool (*grad_on_)() = nullptr;
  int (*num_threads_)() = nullptr;
  bool use_words_ = false;
};

}  // namespace mindiesd::python
