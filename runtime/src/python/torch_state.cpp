// torch's state of the calling thread, by its exported functions; see torch_state.h.

#include "torch_state.h"

#include <dlfcn.h>

namespace mindiesd::python {
namespace {

constexpr const char* kCore = "libc10.so";
constexpr const char* kTorch = "libtorch_cpu.so";

template <typename Function>
void find(Function* function, const char* library, const char* name) {
  *function = reinterpret_cast<Function>(torch_symbol(library, name));
}

// Of the calling thread: where c10::impl::raw_local_dispatch_key_set lies, and its words when
// torch's state was last found ordinary and without autocast.
struct Words {
  bool looked = false;
  const volatile std::uint64_t* place = nullptr;
  bool known = false;
  std::uint64_t ordinary[2] = {};
};
thread_local Words t_words;

const volatile std::uint64_t* place_of_words() {
  if (!t_words.looked) {
    t_words.looked = true;
    t_words.place = static_cast<const volatile std::uint64_t*>(
        torch_symbol(kCore, "_ZN3c104impl26raw_local_dispatch_key_setE"));
  }
  return t_words.place;
}

// Anything but 0, False or None, and errors, is a yes.
bool says_yes(const Ref& question) {
  const Ref answer(PyObject_CallNoArgs(question.get()));
  if (!answer) {
    PyErr_Clear();
    return true;
  }
  PyObject* value = answer.get();
  if (value == &_Py_NoneStruct || value == &_Py_FalseStruct) return false;
  return PyObject_IsTrue(value) != 0;
}

}  // namespace

void* torch_symbol(const char* library, const char* name) {
  void* loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (loaded == nullptr) return nullptr;
  void* found = dlsym(loaded, name);
  dlclose(loaded);  // torch keeps it
  return found;
}

bool TorchState::connect(PyObject* conditions, PyObject* autocast, PyObject* grad) {
  if (PyTuple_Size(conditions) != 5) return false;
  Ref* const questions[] = {&dispatch_, &function_, &tracing_, &profiler_, &functorch_};
  for (Py_ssize_t i = 0; i < 5; ++i) *questions[i] = Ref::to(PyTuple_GetItem(conditions, i));
  autocast_ = Ref::to(autocast);
  grad_ = Ref::to(grad);
  find(&function_modes_, kTorch, "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv");
  find(&tracing_state_, kTorch, "_ZN5torch3jit6tracer15getTracingStateEv");
  find(&profiler_on_, kTorch, "_ZN5torch8profiler4impl15profilerEnabledEv");
  find(&grad_on_, kCore, "_ZN3c108GradMode10is_enabledEv");
  find(&num_threads_, kTorch, "_ZN2at15get_num_threadsEv");
  return PyErr_Occurred() == nullptr;
}

bool TorchState::use_words() {
  use_words_ = place_of_words() != nullptr;
  return use_words_;
}

bool TorchState::words(std::uint64_t (&found)[2]) {
  const volatile std::uint64_t* place = place_of_words();
  if (place == nullptr) return false;
  found[0] = place[0];
  found[1] = place[1];
  return true;
}

bool TorchState::ordinary(bool* autocast) const {
  if (function_modes_ != nullptr ? function_modes_() != 0 : says_yes(function_)) return false;
  if (tracing_state_ != nullptr ? *tracing_state_() != nullptr : says_yes(tracing_)) return false;
  if (profiler_on_ != nullptr ? profiler_on_() : says_yes(profiler_)) return false;
  std::uint64_t now[2] = {};
  const bool have_words = use_words_ && words(now);
  if (have_words && t_words.known && now[0] == t_words.ordinary[0] &&
      now[1] == t_words.ordinary[1]) {
    *autocast = false;
    return true;
  }
  if (says_yes(dispatch_) || says_yes(functorch_)) return false;
  *autocast = says_yes(autocast_);
  if (have_words && !*autocast) {
    t_words.known = true;
    t_words.ordinary[0] = now[0];
    t_words.ordinary[1] = now[1];
  }
  return true;
}

bool TorchState::grad_enabled() const { return grad_on_ != nullptr ? grad_on_() : says_yes(grad_); }

}  // namespace mindiesd::python
