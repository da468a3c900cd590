// The torch operators, implemented from C; see operators.h.

#include "operators.h"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "recipe.h"
#include "torch_shim.h"
#include "torch_tensor.h"

namespace mindiesd::python {
namespace {

constexpr std::size_t kMaxOperators = 32;
constexpr std::size_t kMaxStack = 32;

struct Operator {
  std::string kinds, python;  // the name of the one that Python implements
};

struct Made {
  std::int64_t ndim, sizes[MINDIESD_MAX_NDIM], strides[MINDIESD_MAX_NDIM];
  std::int32_t dtype, device_type, device_index;
};

struct Recipe {
  std::vector<std::uint64_t> key;
  bool replayable = false;  // false: Python computes it
  Launch launch;
  std::vector<Made> results;
  bool attention = false;  // torch's, with:
  bool head_first = false, causal = false;
  double scale = 1.0;
};

// Both live until the process ends: threads may be inside when it does.
struct Implementation {
  const Shim* shim = nullptr;
  void (*set_num_threads)(std::int32_t) = nullptr;
  Operator operators[kMaxOperators];
  std::mutex mutex;  // of the table
  Table<Recipe> table;
};
Implementation* g_implementation = nullptr;

thread_local bool t_recording = false;

struct Call {
  Key key;
  int tensors = 0;
  TensorHandle handles[kMaxTensors];
  char* addresses[kMaxTensors];
  std::int32_t device_type = 0, device_index = 0;  // of the first tensor
};
thread_local const Call* t_pending = nullptr;  // the call that Python computes, for keep
thread_local std::string t_failure;            // what it failed with

bool read_tensor(const Shim& shim, TensorHandle handle, Call* call) {
  std::int64_t ndim, *sizes, *strides;
  std::int32_t dtype, layout, device_type, device_index;
  void* address;
  if (call->tensors == kMaxTensors || shim.layout(handle, &layout) != 0 || layout != shim.strided ||
      shim.dim(handle, &ndim) != 0 || shim.sizes(handle, &sizes) != 0 ||
      shim.strides(handle, &strides) != 0 || shim.dtype(handle, &dtype) != 0 ||
      shim.device_type(handle, &device_type) != 0 ||
      shim.device_index(handle, &device_index) != 0) {
    return false;
  }
  const bool on_cuda = device_type == shim.cuda && shim.cuda_stream != nullptr;
  if (!on_cuda && device_type != shim.cpu) return false;
  if (shim.address(handle, &address) != 0) return false;
  if (call->tensors == 0) {
    call->device_type = device_type;
    call->device_index = device_index;
  }
  call->handles[call->tensors] = handle;
  call->addresses[call->tensors] = static_cast<char*>(address);
  // A recipe knows operands that are one tensor by the first place.
  int first = 0;
  while (call->addresses[first] != address) ++first;
  ++call->tensors;
  bool room = call->key.push(
      static_cast<std::uint64_t>(dtype) | static_cast<std::uint64_t>(ndim) << 16 |
      static_cast<std::uint64_t>(first) << 24 | static_cast<std::uint64_t>(device_type) << 32 |
      static_cast<std::uint64_t>(device_index & 0xff) << 48);
  for (std::int64_t d = 0; d < ndim; ++d) {
    room = room && call->key.push(static_cast<std::uint64_t>(sizes[d])) &&
           call->key.push(static_cast<std::uint64_t>(strides[d]));
  }
  return room;
}

StackValue* boxed(StackValue value) { return reinterpret_cast<StackValue*>(value); }
TensorHandle tensor(StackValue value) { return reinterpret_cast<TensorHandle>(value); }

// False: the call holds something that has no key.
bool read_call(const Shim& shim, std::size_t number, const std::string& kinds,
               const StackValue* stack, Call* call) {
  bool room = call->key.push(number);
  for (std::size_t i = 0; i < kinds.size() && room; ++i) {
    const bool optional = kinds[i] == 'T' || kinds[i] == 'N';
    if (optional && stack[i] == 0) {
      room = call->key.push(~std::uint64_t{0});
      continue;
    }
    const StackValue value = optional ? *boxed(stack[i]) : stack[i];
    room = kinds[i] == 't' || kinds[i] == 'T' ? read_tensor(shim, tensor(value), call)
                                              : call->key.push(value);
  }
  return room;
}

// What torch handed over with the call.
void free_arguments(const Shim& shim, const std::string& kinds, const Call& call,
                    const StackValue* stack) {
  for (int i = 0; i < call.tensors; ++i) shim.delete_tensor(call.handles[i]);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const bool optional = kinds[i] == 'T' || kinds[i] == 'N';
    if (optional && stack[i] != 0) shim.free_box(boxed(stack[i]));
  }
}

// ---- Repeating ----

// The results, of which whatever is not taken is freed.
class Results {
 public:
  explicit Results(const Shim& shim) : shim_(shim) {}
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;
  ~Results() {
    for (std::size_t i = 0; i < count_; ++i) shim_.delete_tensor(handles_[i]);
  }

  bool make(const Made& made) {
    TensorHandle handle = nullptr;
    if (shim_.empty(made.ndim, made.sizes, made.strides, made.dtype, made.device_type,
                    made.device_index, &handle) != 0) {
      return false;
    }
    handles_[count_] = handle;
    void* address = nullptr;
    const bool found = shim_.address(handle, &address) == 0;
    addresses_[count_++] = static_cast<char*>(address);
    return found;
  }

  char* const* addresses() const { return addresses_; }

  void take(StackValue* stack) {
    for (std::size_t i = 0; i < count_; ++i) stack[i] = reinterpret_cast<StackValue>(handles_[i]);
    count_ = 0;
  }

 private:
  const Shim& shim_;
  std::size_t count_ = 0;
  TensorHandle handles_[kMaxTensors];
  char* addresses_[kMaxTensors];
};

// False: it could not be done, and nothing was freed.
bool repeat_launch(const Implementation& own, const Operator& op, const Recipe& recipe,
                   const Call& call, StackValue* stack) {
  const Shim& shim = *own.shim;
  Results results(shim);
  for (const Made& made : recipe.results) {
    if (!results.make(made)) return false;
  }
  void* stream = nullptr;
  if (call.device_type == shim.cuda) {
    if (shim.cuda_stream(call.device_index, &stream) != 0) return false;
  } else {
    std::uint32_t threads = 0;
    if (shim.num_threads(&threads) != 0) return false;
    own.set_num_threads(static_cast<std::int32_t>(threads));
  }
  if (recipe.launch.run(call.addresses, results.addresses(), stream) != MINDIESD_OK) return false;
  free_arguments(shim, op.kinds, call, stack);
  results.take(stack);
  return true;
}

// A view of a tensor of four dimensions, with or without the second and third exchanged; null where
// torch makes none.
TensorHandle view_of(const Shim& shim, TensorHandle handle, bool exchanged) {
  std::int64_t *sizes, *strides, offset;
  if (shim.sizes(handle, &sizes) != 0 || shim.strides(handle, &strides) != 0 ||
      shim.offset(handle, &offset) != 0) {
    return nullptr;
  }
  const int second = exchanged ? 2 : 1, third = exchanged ? 1 : 2;
  const std::int64_t own_sizes[] = {sizes[0], sizes[second], sizes[third], sizes[3]};
  const std::int64_t own_strides[] = {strides[0], strides[second], strides[third], strides[3]};
  TensorHandle made = nullptr;
  return shim.reinterpret(handle, 4, own_sizes, own_strides, offset, &made) == 0 ? made : nullptr;
}

// aten::scaled_dot_product_attention(query, key, value, attn_mask, dropout_p, is_causal, scale,
// enable_gqa) of a call that consists of query, key and value. Throws where torch does.
void repeat_attention(const Shim& shim, const Operator& op, const Recipe& recipe, const Call& call,
                      StackValue* stack) {
  StackValue arguments[8] = {};
  for (int i = 0; i < 3; ++i) {
    // torch frees what it is given; the call's own handles are freed with the call.
    TensorHandle given = view_of(shim, call.handles[i], !recipe.head_first);
    if (given == nullptr) throw std::runtime_error("mindiesd: torch made no view of a tensor");
    arguments[i] = reinterpret_cast<StackValue>(given);
  }
  StackValue scale;
  std::memcpy(&scale, &recipe.scale, sizeof(scale));
  arguments[5] = recipe.causal ? 1 : 0;
  arguments[6] = reinterpret_cast<StackValue>(shim.box(scale));
  free_arguments(shim, op.kinds, call, stack);
  if (shim.call("aten::scaled_dot_product_attention", "", arguments, kShimVersion) != 0) {
    throw std::runtime_error(shim.last_error != nullptr
                                 ? shim.last_error()
                                 : "torch's scaled_dot_product_attention failed");
  }
  if (recipe.head_first) {
    stack[0] = arguments[0];
    return;
  }
  TensorHandle result = view_of(shim, tensor(arguments[0]), true);
  shim.delete_tensor(tensor(arguments[0]));
  if (result == nullptr) throw std::runtime_error("mindiesd: torch made no view of a tensor");
  stack[0] = reinterpret_cast<StackValue>(result);
}

// ---- Python's part ----

// `call`: what to keep the outcome for; may be null.
void ask_python(const Shim& shim, const Operator& op, const Call* call, StackValue* stack) {
  const Call* outer = std::exchange(t_pending, call);
  t_failure.clear();
  const Shim::Error status = shim.call(op.python.c_str(), "", stack, kShimVersion);
  t_pending = outer;
  if (status == 0) return;
  throw std::runtime_error(t_failure.empty() ? op.python + " failed; torch's log says why"
                                             : t_failure);
}

void run(std::size_t number, StackValue* stack) {
  Implementation& own = *g_implementation;
  const Shim& shim = *own.shim;
  const Operator& op = own.operators[number];
  Call call;
  if (t_recording || !read_call(shim, number, op.kinds, stack, &call)) {
    return ask_python(shim, op, nullptr, stack);
  }
  std::shared_ptr<const Recipe> recipe;
  {
    const std::lock_guard lock(own.mutex);
    recipe = own.table.find(call.key);
  }
  if (recipe == nullptr) return ask_python(shim, op, &call, stack);
  if (recipe->attention) return repeat_attention(shim, op, *recipe, call, stack);
  if (recipe->replayable && repeat_launch(own, op, *recipe, call, stack)) return;
  ask_python(shim, op, nullptr, stack);
}

template <std::size_t kNumber>
void kernel(StackValue* stack, std::uint64_t, std::uint64_t) {
  run(kNumber, stack);
}

template <std::size_t... kNumbers>
StackKernel kernel_of(std::size_t number, std::index_sequence<kNumbers...>) {
  constexpr StackKernel kKernels[] = {kernel<kNumbers>...};
  return kKernels[number];
}

// ---- What Python tells ----

bool read_made(const Shim& shim, PyObject* item, Made* made) {
  if (PyTuple_Size(item) != 5) return false;
  PyObject* sizes = PyTuple_GetItem(item, 0);
  PyObject* strides = PyTuple_GetItem(item, 1);
  made->ndim = PyTuple_Size(sizes);
  if (made->ndim > MINDIESD_MAX_NDIM || PyTuple_Size(strides) != made->ndim) return false;
  for (Py_ssize_t d = 0; d < made->ndim; ++d) {
    made->sizes[d] = PyLong_AsLongLong(PyTuple_GetItem(sizes, d));
    made->strides[d] = PyLong_AsLongLong(PyTuple_GetItem(strides, d));
  }
  const long dtype = PyLong_AsLong(PyTuple_GetItem(item, 2));
  if (dtype < 0 || dtype > MINDIESD_BFLOAT16) return false;
  made->dtype = shim.dtypes[dtype];
  made->device_type =
      PyLong_AsLong(PyTuple_GetItem(item, 3)) == MINDIESD_CUDA ? shim.cuda : shim.cpu;
  made->device_index = static_cast<std::int32_t>(PyLong_AsLong(PyTuple_GetItem(item, 4)));
  return PyErr_Occurred() == nullptr;
}

bool read_recipe(const Shim& shim, PyObject* description, Recipe* recipe) {
  const auto item = [&](Py_ssize_t i) { return PyTuple_GetItem(description, i); };
  recipe->replayable = true;
  if (PyTuple_Size(description) == 3) {
    recipe->attention = true;
    recipe->head_first = PyObject_IsTrue(item(0)) == 1;
    recipe->causal = PyObject_IsTrue(item(1)) == 1;
    recipe->scale = PyFloat_AsDouble(item(2));
    return PyErr_Occurred() == nullptr;
  }
  if (PyTuple_Size(description) != 5) return false;
  if (!recipe->launch.read(item(0), item(1), item(2), item(3))) return false;
  const Py_ssize_t results = PyTuple_Size(item(4));
  if (results < 0 || results > kMaxTensors) return false;
  recipe->results.resize(static_cast<std::size_t>(results));
  for (Py_ssize_t i = 0; i < results; ++i) {
    Made* made = &recipe->results[static_cast<std::size_t>(i)];
    if (!read_made(shim, PyTuple_GetItem(item(4), i), made)) return false;
  }
  return true;
}

bool register_all(Implementation* own, PyObject* operators, const std::string& name_space) {
  void* library = nullptr;  // never deleted: that would take the implementations back
  if (own->shim->library_init("mindiesd", "CompositeExplicitAutograd", __FILE__, __LINE__,
                              &library) != 0) {
    return false;
  }
  constexpr auto kNumbers = std::make_index_sequence<kMaxOperators>();
  const auto count = static_cast<std::size_t>(PyTuple_Size(operators));
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GetItem(operators, static_cast<Py_ssize_t>(i));
    Py_ssize_t size = 0;
    const std::string name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(item, 0), &size);
    own->operators[i].kinds = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(item, 1), &size);
    // An overload, name.out, is name_out in Python's namespace.
    std::string plain = name;
    std::replace(plain.begin(), plain.end(), '.', '_');
    own->operators[i].python = name_space + "::" + plain;
    if (own->operators[i].kinds.size() > kMaxStack) return false;
    if (own->shim->library_impl(library, name.c_str(), kernel_of(i, kNumbers), kShimVersion) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

PyObject* implement(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3 || PyTuple_Size(args[0]) < 1 ||
      PyTuple_Size(args[0]) > static_cast<Py_ssize_t>(kMaxOperators)) {
    return fail("implement takes operators, a namespace and an address");
  }
  const Shim* shim = Shim::find();
  if (shim == nullptr || g_implementation != nullptr) {
    return Ref::to(&_Py_FalseStruct).release();
  }
  Py_ssize_t size = 0;
  const char* name_space = PyUnicode_AsUTF8AndSize(args[1], &size);
  if (name_space == nullptr) return nullptr;
  g_implementation = new Implementation;
  g_implementation->shim = shim;
  g_implementation->set_num_threads =
      reinterpret_cast<void (*)(std::int32_t)>(PyLong_AsVoidPtr(args[2]));
  if (!register_all(g_implementation, args[0], name_space)) {
    return fail("torch did not take an implementation of mindiesd's operators");
  }
  return Ref::to(&_Py_TrueStruct).release();
}

PyObject* keep(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count == 1 && t_pending != nullptr && g_implementation != nullptr) {
    auto recipe = std::make_shared<Recipe>();
    const Key& key = t_pending->key;
    recipe->key.assign(key.words, key.words + key.count);
    if (args[0] != &_Py_NoneStruct &&
        !read_recipe(*g_implementation->shim, args[0], recipe.get())) {
      return fail("keep: not a description of a call");
    }
    const std::lock_guard lock(g_implementation->mutex);
    if (g_implementation->table.find(key) == nullptr) {
      g_implementation->table.insert(std::move(recipe));
    }
  }
  return Ref::to(t_pending != nullptr ? &_Py_TrueStruct : &_Py_FalseStruct).release();
}

PyObject* failed(PyObject*, PyObject* const* args, Py_ssize_t count) {
  Py_ssize_t size = 0;
  const char* text = count == 1 ? PyUnicode_AsUTF8AndSize(args[0], &size) : nullptr;
  if (text == nullptr) return fail("failed takes a text");
  t_failure.assign(text, static_cast<std::size_t>(size));
  return Ref::to(&_Py_NoneStruct).release();
}

void forget_operators() {
  if (g_implementation == nullptr) return;
  const std::lock_guard lock(g_implementation->mutex);
  g_implementation->table.clear();
}

void set_recording(bool on) { t_recording = on; }
bool is_recording() { return t_recording; }

}  // namespace mindiesd::python
