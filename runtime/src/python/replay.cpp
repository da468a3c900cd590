// Repeats recorded calls of the Python package: the host side of a steady call. Entry point:
// mindiesd_python_functions.
//
// The package checks a call in Python once for each signature: an operator, its scalars, and of its
// tensors the types, devices, sizes and strides, and which of them are one, and autocast's state;
// all of that makes up a key. What the call then hands to the C interface, and which results it
// allocates, is kept as a recipe. A later call with the same key allocates its results, puts its
// own addresses into the recipe's argument struct, and launches; what depends on addresses
// (overlap, alignment) the C interface checks each time. Whatever is out of the ordinary (modes,
// autocast, tracing, gradients, subclasses) is left to Python: replay then returns NotImplemented,
// and None where the signature is unknown.

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "operators.h"
#include "recipe.h"
#include "torch_state.h"
#include "torch_tensor.h"

namespace mindiesd::python {
namespace {

// ---- What the package hands over once ----

struct Torch {
  TensorReader reader;
  Ref tensor_type, parameter_type, dtype_type;
  TorchState state;
  Ref requires_grad_name, num_threads;
  Ref autocast_enabled, autocast_dtype, device_names[2];
  void (*set_num_threads)(std::int32_t) = nullptr;
};
Torch* g_torch = nullptr;

// ---- Keys ----

struct Arguments {
  Key key;
  int tensors = 0;
  PyObject* objects[kMaxTensors];
  TensorMeta metas[kMaxTensors];
};

enum Tag : std::uint64_t { kNone = 1, kTrue, kFalse, kInt, kFloat, kText, kTuple, kTensor, kType };

bool add_tensor(PyObject* object, Arguments* call) {
  if (call->tensors == kMaxTensors) return false;
  TensorMeta& meta = call->metas[call->tensors];
  if (!g_torch->reader.read(object, &meta)) return false;
  // Which operands are one object is part of the key: a recipe knows an operand by its first place.
  int first = 0;
  call->objects[call->tensors] = object;
  while (call->objects[first] != object) ++first;
  ++call->tensors;
  bool room = call->key.push(kTensor | std::uint64_t{meta.dtype} << 8 |
                             static_cast<std::uint64_t>(meta.ndim) << 40 |
                             static_cast<std::uint64_t>(meta.device_type) << 48) &&
              call->key.push(static_cast<std::uint64_t>(meta.device_id) |
                             static_cast<std::uint64_t>(first) << 32);
  for (std::int32_t d = 0; d < meta.ndim; ++d) {
    room = room && call->key.push(static_cast<std::uint64_t>(meta.sizes[d])) &&
           call->key.push(static_cast<std::uint64_t>(meta.strides[d]));
  }
  return room;
}

bool add_text(PyObject* object, Arguments* call) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  if (text == nullptr || size > 256) {
    PyErr_Clear();
    return false;
  }
  bool room = call->key.push(kText | static_cast<std::uint64_t>(size) << 8);
  for (Py_ssize_t i = 0; i < size && room; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text + i, static_cast<std::size_t>(size - i < 8 ? size - i : 8));
    room = call->key.push(word);
  }
  return room;
}

bool add_scalar(PyObject* object, Arguments* call) {
  if (object == &_Py_NoneStruct) return call->key.push(kNone);
  if (object == &_Py_TrueStruct) return call->key.push(kTrue);
  if (object == &_Py_FalseStruct) return call->key.push(kFalse);
  if (object->ob_type == &PyLong_Type) {
    const long long value = PyLong_AsLongLong(object);
    if (value == -1 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      return false;
    }
    return call->key.push(kInt) && call->key.push(static_cast<std::uint64_t>(value));
  }
  if (object->ob_type == &PyFloat_Type) {
    const double value = PyFloat_AsDouble(object);
    std::uint64_t word;
    std::memcpy(&word, &value, sizeof(word));
    return call->key.push(kFloat) && call->key.push(word);
  }
  if (object->ob_type == &PyUnicode_Type) return add_text(object, call);
  // torch's types are objects that live as long as torch.
  if (object->ob_type == reinterpret_cast<PyTypeObject*>(g_torch->dtype_type.get())) {
    return call->key.push(kType) && call->key.push(reinterpret_cast<std::uintptr_t>(object));
  }
  return false;
}

bool add(PyObject* object, Arguments* call) {
  auto* const type = reinterpret_cast<PyObject*>(object->ob_type);
  if (type == g_torch->tensor_type.get() || type == g_torch->parameter_type.get()) {
    return add_tensor(object, call);
  }
  if (object->ob_type != &PyTuple_Type) return add_scalar(object, call);
  const Py_ssize_t size = PyTuple_Size(object);
  bool room = call->key.push(kTuple | static_cast<std::uint64_t>(size) << 8);
  for (Py_ssize_t i = 0; i < size && room; ++i) room = add_scalar(PyTuple_GetItem(object, i), call);
  return room;
}

// Where autocast is on anywhere: whether it is, and to which type, on the devices that have
// kernels. An operand that has that type already is handed on as it is, so such calls repeat too.
bool add_autocast(Arguments* call) {
  for (const Ref& device : g_torch->device_names) {
    const Ref on(
        PyObject_CallFunctionObjArgs(g_torch->autocast_enabled.get(), device.get(), nullptr));
    const Ref type(
        PyObject_CallFunctionObjArgs(g_torch->autocast_dtype.get(), device.get(), nullptr));
    if (!on || !type || !add_scalar(on.get(), call) || !add_scalar(type.get(), call)) {
      PyErr_Clear();
      return false;
    }
  }
  return true;
}

// The key of a call; false: it holds something that has none.
bool read_call(PyObject* operation, PyObject* args, PyObject* keywords, bool autocast,
               Arguments* call) {
  if (!add_scalar(operation, call) || (autocast && !add_autocast(call))) return false;
  const Py_ssize_t count = PyTuple_Size(args);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!add(PyTuple_GetItem(args, i), call)) return false;
  }
  if (PyDict_Size(keywords) == 0) return true;
  Py_ssize_t position = 0;
  PyObject *name, *value;
  while (PyDict_Next(keywords, &position, &name, &value) != 0) {
    if (!add_text(name, call) || !add(value, call)) return false;
  }
  return true;
}

// ---- Recipes ----

struct Allocation {
  Ref function, args, keywords;  // keywords may be null
};

struct Recipe {
  std::vector<std::uint64_t> key;
  bool replayable = false;  // false: Python computes this signature itself
  Ref python;               // computes it from its tensors, instead of a launch; may be null
  Launch launch;
  std::vector<Allocation> allocations;
  std::vector<int> results;  // as Slot::source
  bool tuple = false;
};

// Guarded by the interpreter's lock.
Table<Recipe>* g_table = nullptr;

// ---- Replaying ----

PyObject* not_applicable() { return Ref::to(&_Py_NotImplementedStruct).release(); }

bool wants_gradient(const Arguments& call) {
  if (!g_torch->state.grad_enabled()) return false;
  for (int i = 0; i < call.tensors; ++i) {
    const Ref wants(PyObject_GetAttr(call.objects[i], g_torch->requires_grad_name.get()));
    if (!wants || wants.get() != &_Py_FalseStruct) {
      PyErr_Clear();
      return true;
    }
  }
  return false;
}

// Python's own path sets the number too, so none is remembered here; setting it is one store.
void follow_thread_count() {
  if (const std::int32_t known = g_torch->state.num_threads(); known > 0) {
    return g_torch->set_num_threads(known);
  }
  const Ref threads(PyObject_CallNoArgs(g_torch->num_threads.get()));
  if (!threads) return PyErr_Clear();
  g_torch->set_num_threads(static_cast<std::int32_t>(PyLong_AsLong(threads.get())));
}

// Whether the launch is over before another thread could use the time.
bool is_brief(const Arguments& call) {
  if (call.metas[0].device_type != MINDIESD_CPU) return false;
  constexpr std::int64_t kFew = 8192;
  std::int64_t elements = 0;
  for (int i = 0; i < call.tensors && elements <= kFew; ++i) {
    std::int64_t own = 1;
    for (std::int32_t d = 0; d < call.metas[i].ndim; ++d) {
      own = std::min(own * call.metas[i].sizes[d], kFew + 1);
    }
    elements += own;
  }
  return elements <= kFew;
}

// False: the launch was refused, or a result could not be allocated; Python repeats the call and
// says why.
bool launch(const Recipe& recipe, const Arguments& call, Ref (&results)[kMaxTensors]) {
  char *given[kMaxTensors], *made[kMaxTensors];
  for (int i = 0; i < call.tensors; ++i) given[i] = call.metas[i].data;
  for (std::size_t i = 0; i < recipe.allocations.size(); ++i) {
    const Allocation& allocation = recipe.allocations[i];
    results[i] = Ref(allocation.keywords
                         ? PyObject_Call(allocation.function.get(), allocation.args.get(),
                                         allocation.keywords.get())
                         : PyObject_CallObject(allocation.function.get(), allocation.args.get()));
    TensorMeta meta;
    if (!results[i] || !g_torch->reader.read_new(results[i].get(), &meta)) {
      PyErr_Clear();
      return false;
    }
    made[i] = meta.data;
  }
  void* stream = nullptr;
  if (!g_torch->reader.stream(call.metas[0], &stream)) return false;
  if (call.metas[0].device_type == MINDIESD_CPU) follow_thread_count();
  if (is_brief(call)) return recipe.launch.run(given, made, stream) == MINDIESD_OK;
  PyThreadState* state = PyEval_SaveThread();
  const mindiesd_status status = recipe.launch.run(given, made, stream);
  PyEval_RestoreThread(state);
  return status == MINDIESD_OK;
}

PyObject* collect(const Recipe& recipe, const Arguments& call, const Ref (&made)[kMaxTensors]) {
  const auto take = [&](int source) {
    PyObject* object = source >= 0 ? call.objects[source] : made[~source].get();
    return Ref::to(object).release();
  };
  if (!recipe.tuple) return take(recipe.results[0]);
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(recipe.results.size()));
  for (std::size_t i = 0; tuple != nullptr && i < recipe.results.size(); ++i) {
    PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i), take(recipe.results[i]));
  }
  return tuple;
}

PyObject* call_python(const Recipe& recipe, const Arguments& call) {
  const Ref tensors(PyTuple_New(call.tensors));
  if (!tensors) return nullptr;
  for (int i = 0; i < call.tensors; ++i) {
    PyTuple_SetItem(tensors.get(), i, Ref::to(call.objects[i]).release());
  }
  return PyObject_CallObject(recipe.python.get(), tensors.get());
}

// replay(operation, args, keywords)
PyObject* replay(PyObject*, PyObject* const* args, Py_ssize_t count) {
  bool autocast = false;
  if (count != 3 || g_torch == nullptr || is_recording() || !g_torch->state.ordinary(&autocast)) {
    return not_applicable();
  }
  Arguments call;
  if (!read_call(args[0], args[1], args[2], autocast, &call) || call.tensors == 0 ||
      wants_gradient(call)) {
    return not_applicable();
  }
  const std::shared_ptr<const Recipe> recipe = g_table->find(call.key);
  if (recipe == nullptr) return Ref::to(&_Py_NoneStruct).release();
  if (!recipe->replayable) return not_applicable();
  if (recipe->python) return call_python(*recipe, call);
  Ref made[kMaxTensors];
  if (!launch(*recipe, call, made)) return not_applicable();
  return collect(*recipe, call, made);
}

// ---- Recording ----

// (function, struct, stream field, slots, allocations, results, whether they are a tuple), or a
// Python function of the call's tensors.
bool read_recipe(PyObject* description, Recipe* recipe) {
  if (description->ob_type != &PyTuple_Type) {
    recipe->python = Ref::to(description);
    recipe->replayable = true;
    return true;
  }
  if (PyTuple_Size(description) != 7) return false;
  const auto item = [&](Py_ssize_t i) { return PyTuple_GetItem(description, i); };
  if (!recipe->launch.read(item(0), item(1), item(2), item(3))) return false;
  const Py_ssize_t allocations = PyTuple_Size(item(4));
  if (allocations < 0 || allocations > kMaxTensors) return false;
  for (Py_ssize_t i = 0; i < allocations; ++i) {
    PyObject* parts = PyTuple_GetItem(item(4), i);
    if (PyTuple_Size(parts) != 3) return false;
    PyObject* keywords = PyTuple_GetItem(parts, 2);
    recipe->allocations.push_back({Ref::to(PyTuple_GetItem(parts, 0)),
                                   Ref::to(PyTuple_GetItem(parts, 1)),
                                   keywords == &_Py_NoneStruct ? Ref() : Ref::to(keywords)});
  }
  const Py_ssize_t results = PyTuple_Size(item(5));
  for (Py_ssize_t i = 0; i < results; ++i) {
    recipe->results.push_back(static_cast<int>(PyLong_AsLong(PyTuple_GetItem(item(5), i))));
  }
  recipe->tuple = item(6) == &_Py_TrueStruct;
  recipe->replayable = true;
  return PyErr_Occurred() == nullptr && !recipe->results.empty();
}

// record(operation, args, keywords, description); None for the description: never replayed.
PyObject* record(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 4 || g_torch == nullptr) return fail("record takes four arguments");
  Arguments call;
  bool autocast = false;
  if (!g_torch->state.ordinary(&autocast) ||
      !read_call(args[0], args[1], args[2], autocast, &call) ||
      g_table->find(call.key) != nullptr) {
    return Ref::to(&_Py_NoneStruct).release();
  }
  auto recipe = std::make_shared<Recipe>();
  recipe->key.assign(call.key.words, call.key.words + call.key.count);
  if (args[3] != &_Py_NoneStruct && !read_recipe(args[3], recipe.get())) {
    return fail("record: not a description of a call");
  }
  g_table->insert(std::move(recipe));
  return Ref::to(&_Py_NoneStruct).release();
}

// recording(bool): while True in this thread, replay leaves every call to Python.
PyObject* recording(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 1) return fail("recording takes one argument");
  set_recording(args[0] == &_Py_TrueStruct);
  return Ref::to(&_Py_NoneStruct).release();
}

// forget(): drops every recipe, and gives their number, without those of the operators.
PyObject* forget(PyObject*, PyObject* const*, Py_ssize_t) {
  const auto count = static_cast<long>(g_table != nullptr ? g_table->count() : 0);
  if (g_table != nullptr) g_table->clear();
  forget_operators();
  return PyLong_FromLong(count);
}

// connect(tensor, parameter, dtype, base, exchange table or None, conditions, is_grad_enabled,
// get_num_threads, raw stream function, address of mindiesd_set_num_threads,
// _is_any_autocast_enabled, is_autocast_enabled, get_autocast_dtype)
PyObject* connect(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 13) return fail("connect takes thirteen arguments");
  auto torch = std::make_unique<Torch>();
  torch->tensor_type = Ref::to(args[0]);
  torch->parameter_type = Ref::to(args[1]);
  torch->dtype_type = Ref::to(args[2]);
  if (!torch->reader.connect(args[4], args[3])) return fail("torch.Tensor lacks a method");
  if (!torch->state.connect(args[5], args[10], args[6])) return fail("not torch's conditions");
  torch->num_threads = Ref::to(args[7]);
  torch->reader.set_stream_function(args[8]);
  torch->set_num_threads = reinterpret_cast<void (*)(std::int32_t)>(PyLong_AsVoidPtr(args[9]));
  torch->autocast_enabled = Ref::to(args[11]);
  torch->autocast_dtype = Ref::to(args[12]);
  torch->device_names[0] = Ref(PyUnicode_InternFromString("cpu"));
  torch->device_names[1] = Ref(PyUnicode_InternFromString("cuda"));
  torch->requires_grad_name = Ref(PyUnicode_InternFromString("requires_grad"));
  if (PyErr_Occurred() != nullptr) return nullptr;
  // Both live until the process ends: threads may be inside when the interpreter goes down.
  if (g_table == nullptr) g_table = new Table<Recipe>;
  g_table->clear();
  g_torch = torch.release();
  return Ref::to(&_Py_NoneStruct).release();
}

// words(): the two words of TorchState, or None.
PyObject* words(PyObject*, PyObject* const*, Py_ssize_t) {
  std::uint64_t found[2];
  if (!TorchState::words(found)) return Ref::to(&_Py_NoneStruct).release();
  PyObject* tuple = PyTuple_New(2);
  for (Py_ssize_t i = 0; tuple != nullptr && i < 2; ++i) {
    PyTuple_SetItem(tuple, i, PyLong_FromLongLong(static_cast<long long>(found[i])));
  }
  return tuple;
}

// use_words(): from now on they stand for what they show.
PyObject* use_words(PyObject*, PyObject* const*, Py_ssize_t) {
  return Ref::to(g_torch != nullptr && g_torch->state.use_words() ? &_Py_TrueStruct
                                                                  : &_Py_FalseStruct)
      .release();
}

// read_negations(pairs): see TensorReader.
PyObject* read_negations(PyObject*, PyObject* const* args, Py_ssize_t count) {
  const bool found = count == 1 && g_torch != nullptr && g_torch->reader.read_negations(args[0]);
  return Ref::to(found ? &_Py_TrueStruct : &_Py_FalseStruct).release();
}

PyMethodDef g_methods[] = {
    {"replay", replay, kMethodFast, nullptr},
    {"record", record, kMethodFast, nullptr},
    {"recording", recording, kMethodFast, nullptr},
    {"forget", forget, kMethodFast, nullptr},
    {"connect", connect, kMethodFast, nullptr},
    {"words", words, kMethodFast, nullptr},
    {"use_words", use_words, kMethodFast, nullptr},
    {"read_negations", read_negations, kMethodFast, nullptr},
    {"implement", implement, kMethodFast, nullptr},
    {"keep", keep, kMethodFast, nullptr},
    {"failed", failed, kMethodFast, nullptr},
};

}  // namespace
}  // namespace mindiesd::python

// These functions as Python callables in a tuple, in the order of g_methods. Called once,
// with the interpreter's lock held.
extern "C" MINDIESD_EXPORT PyObject* mindiesd_python_functions(void) {
  using mindiesd::python::g_methods;
  constexpr Py_ssize_t kCount = sizeof(g_methods) / sizeof(g_methods[0]);
  PyObject* tuple = PyTuple_New(kCount);
  for (Py_ssize_t i = 0; tuple != nullptr && i < kCount; ++i) {
    PyTuple_SetItem(tuple, i, PyCFunction_NewEx(&g_methods[i], nullptr, nullptr));
  }
  return tuple;
}
