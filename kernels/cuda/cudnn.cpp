// Attention by cuDNN, where a process has it: the library is looked for at run time, and only the
// C backend interface is used (docs.nvidia.com/deeplearning/cudnn, "Backend API"), with the few
// declarations of it that are needed here. Entry points: attention_cudnn_supports, attention_cudnn.
//
// The graph is the one operation for scaled dot-product attention that cuDNN has since 9.13.1. A
// plan for it takes up to seconds to make, so plans are kept for as long as the process lives,
// refusals too; a handle belongs to one thread.

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/cuda/host.h"
#include "kernels/cuda/launch.h"

namespace mindiesd::kernels::cuda {
namespace {

// --- the interface, as cudnn_graph_v9.h numbers it
// ------------------------------------------------

using Handle = void*;
using Descriptor = void*;

enum class DescriptorType : int {
  kEngineConfig = 3,
  kEngineHeuristics = 4,
  kExecutionPlan = 5,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kAttention = 41,
};
enum class Attribute : int {
  kHeuristicsMode = 200,
  kHeuristicsGraph = 201,
  kHeuristicsResults = 202,
  kPlanHandle = 400,
  kPlanEngineConfig = 401,
  kPlanWorkspaceSize = 402,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kTensorAlignment = 900,
  kTensorType = 901,
  kTensorDimensions = 902,
  kTensorStrides = 903,
  kTensorId = 906,
  kTensorIsVirtual = 907,
  kTensorIsByValue = 908,
  kPackIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
  kAttentionQuery = 2800,
  kAttentionKey = 2801,
  kAttentionValue = 2802,
  kAttentionOutput = 2803,
  kAttentionScale = 2805,
};
enum class AttributeType : int {
  kHandle = 0,
  kDataType = 1,
  kBoolean = 2,
  kInt64 = 3,
  kPointer = 6,
  kHeuristicsMode = 8,
  kDescriptor = 15,
};
constexpr int kFloatData = 0, kHalfData = 2, kBFloat16Data = 9;
constexpr int kHeuristicsA = 3;
constexpr std::size_t kOldestVersion = 91301;

struct Api {
  int (*create_handle)(Handle*) = nullptr;
  int (*set_stream)(Handle, cudaStream_t) = nullptr;
  int (*create)(DescriptorType, Descriptor*) = nullptr;
  int (*destroy)(Descriptor) = nullptr;
  int (*set)(Descriptor, Attribute, AttributeType, std::int64_t, const void*) = nullptr;
  int (*get)(Descriptor, Attribute, AttributeType, std::int64_t, std::int64_t*, void*) = nullptr;
  int (*finalize)(Descriptor) = nullptr;
  int (*execute)(Handle, Descriptor, Descriptor) = nullptr;
  bool usable = false;

  Api() {
    // A program that has loaded cuDNN from elsewhere (torch's wheels) is given that one.
    void* library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    std::size_t (*version)() = nullptr;
    bool found = true;
    const auto bind = [&](auto* function, const char* name) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
      found = found && *function != nullptr;
    };
    bind(&version, "cudnnGetVersion");
    bind(&create_handle, "cudnnCreate");
    bind(&set_stream, "cudnnSetStream");
    bind(&create, "cudnnBackendCreateDescriptor");
    bind(&destroy, "cudnnBackendDestroyDescriptor");
    bind(&set, "cudnnBackendSetAttribute");
    bind(&get, "cudnnBackendGetAttribute");
    bind(&finalize, "cudnnBackendFinalize");
    bind(&execute, "cudnnBackendExecute");
    usable = found && version() >= kOldestVersion;
  }
};

const Api& api() {
  static const Api loaded;
  return loaded;
}

// A descriptor, filled step by step; whether everything went well is asked once.
class Described {
 public:
  explicit Described(DescriptorType type) { good_ = api().create(type, &descriptor_) == 0; }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;
  ~Described() {
    if (descriptor_ != nullptr) api().destroy(descriptor_);
  }

  template <typename T>
  void set(Attribute attribute, AttributeType type, const T* values, std::int64_t count = 1) {
    good_ = good_ && api().set(descriptor_, attribute, type, count, values) == 0;
  }
  void set(Attribute attribute, const Described& other) {
    good_ = good_ && other.good_;
    set(attribute, AttributeType::kDescriptor, &other.descriptor_);
  }
  bool finalize() {
    good_ = good_ && api().finalize(descriptor_) == 0;
    return good_;
  }
  Descriptor get() const { return descriptor_; }

 private:
  Descriptor descriptor_ = nullptr;
  bool good_ = false;
};

// --- plans ---------------------------------------------------------------------------------------

// What a plan depends on: device, type, sizes, strides.
using Key = std::array<std::int64_t, 21>;

Key key_of(const Attention& p, int device) {
  Key key = {device,       static_cast<std::int64_t>(p.type),
             p.batch,      p.query_heads,
             p.key_heads,  p.query_length,
             p.key_length, p.head_dim,
             p.value_dim};
  for (std::size_t d = 0; d < 3; ++d) {
    key[9 + d] = p.query_strides[d];
    key[12 + d] = p.key_strides[d];
    key[15 + d] = p.value_strides[d];
    key[18 + d] = p.output_strides[d];
  }
  return key;
}

enum Id : std::int64_t { kQuery = 1, kKey, kValue, kOutput, kScale };

void describe(Described* tensor, Id id, int type, const std::int64_t (&sizes)[4],
              const std::int64_t (&strides)[4]) {
  const std::int64_t number = id, alignment = id == kScale ? 4 : 16;
  const bool by_value = id == kScale, no = false;
  tensor->set(Attribute::kTensorType, AttributeType::kDataType, &type);
  tensor->set(Attribute::kTensorDimensions, AttributeType::kInt64, sizes, 4);
  tensor->set(Attribute::kTensorStrides, AttributeType::kInt64, strides, 4);
  tensor->set(Attribute::kTensorId, AttributeType::kInt64, &number);
  tensor->set(Attribute::kTensorAlignment, AttributeType::kInt64, &alignment);
  tensor->set(Attribute::kTensorIsVirtual, AttributeType::kBoolean, &no);
  tensor->set(Attribute::kTensorIsByValue, AttributeType::kBoolean, &by_value);
  tensor->finalize();
}

struct Plan {
  Described described{DescriptorType::kExecutionPlan};
  std::int64_t workspace = 0;
};

// Null where cuDNN has no engine for the problem.
std::shared_ptr<const Plan> make_plan(const Attention& p, Handle handle) {
  const int type = p.type == DataType::kFloat16 ? kHalfData : kBFloat16Data;
  Described query(DescriptorType::kTensor), key(DescriptorType::kTensor),
      value(DescriptorType::kTensor), output(DescriptorType::kTensor),
      scale(DescriptorType::kTensor);
  const auto operand = [&](Described* tensor, Id id, std::int64_t heads, std::int64_t length,
                           std::int64_t width, const std::int64_t(&strides)[3]) {
    describe(tensor, id, type, {p.batch, heads, length, width},
             {strides[0], strides[1], strides[2], 1});
  };
  operand(&query, kQuery, p.query_heads, p.query_length, p.head_dim, p.query_strides);
  operand(&key, kKey, p.key_heads, p.key_length, p.head_dim, p.key_strides);
  operand(&value, kValue, p.key_heads, p.key_length, p.value_dim, p.value_strides);
  operand(&output, kOutput, p.query_heads, p.query_length, p.value_dim, p.output_strides);
  describe(&scale, kScale, kFloatData, {1, 1, 1, 1}, {1, 1, 1, 1});

  Described attention(DescriptorType::kAttention);
  attention.set(Attribute::kAttentionQuery, query);
  attention.set(Attribute::kAttentionKey, key);
  attention.set(Attribute::kAttentionValue, value);
  attention.set(Attribute::kAttentionOutput, output);
  attention.set(Attribute::kAttentionScale, scale);
  if (!attention.finalize()) return nullptr;

  Described graph(DescriptorType::kOperationGraph);
  graph.set(Attribute::kGraphHandle, AttributeType::kHandle, &handle);
  graph.set(Attribute::kGraphOperations, attention);
  if (!graph.finalize()) return nullptr;

  Described heuristics(DescriptorType::kEngineHeuristics);
  heuristics.set(Attribute::kHeuristicsGraph, graph);
  heuristics.set(Attribute::kHeuristicsMode, AttributeType::kHeuristicsMode, &kHeuristicsA);
  if (!heuristics.finalize()) return nullptr;
  std::int64_t count = 0;
  if (api().get(heuristics.get(), Attribute::kHeuristicsResults, AttributeType::kDescriptor, 0,
                &count, nullptr) != 0) {
    return nullptr;
  }
  std::vector<std::unique_ptr<Described>> configs;
  std::vector<Descriptor> raw;
  for (std::int64_t i = 0; i < count; ++i) {
    configs.push_back(std::make_unique<Described>(DescriptorType::kEngineConfig));
    raw.push_back(configs.back()->get());
  }
  if (api().get(heuristics.get(), Attribute::kHeuristicsResults, AttributeType::kDescriptor, count,
                &count, raw.data()) != 0) {
    return nullptr;
  }
  // The best first; what cannot be built is passed over.
  for (std::int64_t i = 0; i < count; ++i) {
    auto plan = std::make_shared<Plan>();
    plan->described.set(Attribute::kPlanHandle, AttributeType::kHandle, &handle);
    plan->described.set(Attribute::kPlanEngineConfig, *configs[static_cast<std::size_t>(i)]);
    if (!plan->described.finalize()) continue;
    std::int64_t one = 0;
    if (api().get(plan->described.get(), Attribute::kPlanWorkspaceSize, AttributeType::kInt64, 1,
                  &one, &plan->workspace) == 0) {
      return plan;
    }
  }
  return nullptr;
}

// While a graph is captured nothing is made that a capture may not see.
bool capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess) {
    cudaGetLastError();  // another stream's capture forbids the question
    return true;
  }
  return status != cudaStreamCaptureStatusNone;
}

// Plans of this process; they are never destroyed, for cuDNN may be gone when statics are. Null:
// cuDNN has no engine, or none was asked for yet and `make` forbids it.
std::shared_ptr<const Plan> plan_for(const Attention& problem, int device, Handle handle,
                                     bool make) {
  static std::mutex& mutex = *new std::mutex;
  static auto& plans = *new std::map<Key, std::shared_ptr<const Plan>>;
  const Key key = key_of(problem, device);
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = plans.find(key);
  if (known != plans.end()) return known->second;
  if (!make) return nullptr;
  return plans.emplace(key, make_plan(problem, handle)).first->second;
}

// Null: there is none for this thread, and `make` forbids to make one or cuDNN refuses.
Handle handle_of(int device, bool make) {
  thread_local std::map<int, Handle> handles;
  Handle& handle = handles[device];
  if (handle == nullptr && make && api().create_handle(&handle) != 0) handle = nullptr;
  return handle;
}

// Memory that stays with the process: the device's own pool gives it back at every synchronisation,
// and asking anew costs more than a short problem.
cudaError_t pool_of(int device, cudaMemPool_t* pool) {
  static std::mutex& mutex = *new std::mutex;
  static auto& pools = *new std::map<int, cudaMemPool_t>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = pools.find(device);
  if (known != pools.end()) {
    *pool = known->second;
    return cudaSuccess;
  }
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  cudaError_t error = cudaMemPoolCreate(pool, &properties);
  std::uint64_t everything = ~std::uint64_t{0};
  if (error == cudaSuccess) {
    error = cudaMemPoolSetAttribute(*pool, cudaMemPoolAttrReleaseThreshold, &everything);
  }
  if (error == cudaSuccess) pools.emplace(device, *pool);
  return error;
}

bool aligned(const void* data, const std::int64_t (&strides)[3], const std::int64_t (&sizes)[3]) {
  if (reinterpret_cast<std::uintptr_t>(data) % 16 != 0) return false;
  for (int d = 0; d < 3; ++d) {
    if (sizes[d] > 1 && (strides[d] <= 0 || strides[d] % 8 != 0)) return false;
  }
  return true;
}

bool newer_than_ampere(int device_id) {
  int major = 0, minor = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device_id) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device_id) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return major * 10 + minor >= 89;
}

}  // namespace

bool attention_cudnn_supports(const Attention& p, std::int32_t device_id) {
  if (p.type == DataType::kFloat32 || p.mask != nullptr || p.alibi_slopes != nullptr) return false;
  if (p.softcap > 0.0F || p.causal != CausalAlignment::kNone) return false;
  if (p.window_left >= 0 || p.window_right >= 0) return false;
  constexpr std::int64_t kLongest = std::int64_t{1} << 30;
  if (p.key_length < 1 || p.query_length > kLongest || p.key_length > kLongest) return false;
  if (p.head_dim % 8 != 0 || p.value_dim % 8 != 0) return false;
  if (p.head_dim < 8 || p.head_dim > 256 || p.value_dim < 8 || p.value_dim > 256) return false;
  if (!aligned(p.query, p.query_strides, {p.batch, p.query_heads, p.query_length}) ||
      !aligned(p.key, p.key_strides, {p.batch, p.key_heads, p.key_length}) ||
      !aligned(p.value, p.value_strides, {p.batch, p.key_heads, p.key_length}) ||
      !aligned(p.output, p.output_strides, {p.batch, p.query_heads, p.query_length})) {
    return false;
  }
  return newer_than_ampere(device_id) && api().usable;
}

LaunchStatus attention_cudnn(const Attention& p, void* stream) {
  int device = 0;
  const cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return failed(error);
  auto* const on = static_cast<cudaStream_t>(stream);
  const bool make = !capturing(on);
  const Handle handle = handle_of(device, make);
  if (handle == nullptr) return LaunchStatus::kUnsupported;
  const std::shared_ptr<const Plan> plan = plan_for(p, device, handle, make);
  if (plan == nullptr) return LaunchStatus::kUnsupported;

  void* workspace = nullptr;
  if (plan->workspace > 0) {
    cudaMemPool_t pool = nullptr;
    cudaError_t allocated = pool_of(device, &pool);
    if (allocated == cudaSuccess) {
      allocated =
          cudaMallocFromPoolAsync(&workspace, static_cast<std::size_t>(plan->workspace), pool, on);
    }
    if (allocated != cudaSuccess) return failed(allocated);
  }
  const std::int64_t ids[] = {kQuery, kKey, kValue, kOutput, kScale};
  float scale = p.scale;
  void* pointers[] = {const_cast<void*>(p.query), const_cast<void*>(p.key),
                      const_cast<void*>(p.value), p.output, &scale};
  Described pack(DescriptorType::kVariantPack);
  pack.set(Attribute::kPackIds, AttributeType::kInt64, ids, 5);
  pack.set(Attribute::kPackPointers, AttributeType::kPointer, pointers, 5);
  pack.set(Attribute::kPackWorkspace, AttributeType::kPointer, &workspace);
  const bool done = pack.finalize() && api().set_stream(handle, on) == 0 &&
                    api().execute(handle, plan->described.get(), pack.get()) == 0;
  if (workspace != nullptr) cudaFreeAsync(workspace, on);
  return done ? LaunchStatus::kOk : LaunchStatus::kUnsupported;
}

}  // namespace mindiesd::kernels::cuda
