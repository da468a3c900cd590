// cuDNN's C backend interface, with the few declarations of it that attention needs
// (docs.nvidia.com/deeplearning/cudnn, "Backend API"; numbers as in cudnn_graph_v9.h). The library
// is looked for at run time. Entry points: api, Api, Described.

#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace mindiesd::kernels::cuda::cudnn {

using Handle = void*;
using Descriptor = void*;

enum class DescriptorType : int {
  kPointwise = 0,
  kEngineConfig = 3,
  kEngineHeuristics = 4,
  kExecutionPlan = 5,
  kPointwiseOperation = 13,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kMatmul = 18,
  kMatmulOperation = 19,
  kReduction = 21,
  kReductionOperation = 22,
  kAttention = 41,
};
enum class Attribute : int {
  kPointwiseMode = 0,
  kPointwisePrecision = 1,
  kPointwiseAxis = 9,
  kHeuristicsMode = 200,
  kHeuristicsGraph = 201,
  kHeuristicsResults = 202,
  kPlanHandle = 400,
  kPlanEngineConfig = 401,
  kPlanWorkspaceSize = 402,
  kPointwiseDescription = 750,
  kPointwiseX = 751,
  kPointwiseB = 752,
  kPointwiseY = 753,
  kPointwiseT = 758,
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
  kMatmulPrecision = 1500,
  kMatmulA = 1520,
  kMatmulB = 1521,
  kMatmulC = 1522,
  kMatmulDescription = 1523,
  kReductionOperator = 1600,
  kReductionPrecision = 1601,
  kReductionX = 1610,
  kReductionY = 1611,
  kReductionDescription = 1612,
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
  kPointwiseMode = 14,
  kDescriptor = 15,
  kReductionOperator = 18,
};
enum class Type : int { kFloat = 0, kHalf = 2, kInt32 = 4, kBFloat16 = 9, kBoolean = 11 };
enum class Pointwise : int {
  kAdd = 0,
  kMultiply = 1,
  kDivide = 6,
  kSubtract = 9,
  kExp = 13,
  kLog = 15,
  kGreater = 302,
  kGreaterOrEqual = 303,
  kIndex = 501,
  kSelect = 601,
};
enum class Reduction : int { kAdd = 0, kMaximum = 3 };
constexpr int kHeuristicsA = 3;

struct Api {
  int (*create_handle)(Handle*) = nullptr;
  int (*set_stream)(Handle, cudaStream_t) = nullptr;
  int (*create)(DescriptorType, Descriptor*) = nullptr;
  int (*destroy)(Descriptor) = nullptr;
  int (*set)(Descriptor, Attribute, AttributeType, std::int64_t, const void*) = nullptr;
  int (*get)(Descriptor, Attribute, AttributeType, std::int64_t, std::int64_t*, void*) = nullptr;
  int (*finalize)(Descriptor) = nullptr;
  int (*execute)(Handle, Descriptor, Descriptor) = nullptr;
  bool usable = false;  // found, complete and new enough

  explicit Api(const char* name);  // of the library
};

// Looked for once.
const Api& api();

// A descriptor, filled step by step; whether everything went well is asked once, by finalize.
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
  bool good() const { return good_; }
  Descriptor get() const { return descriptor_; }

 private:
  Descriptor descriptor_ = nullptr;
  bool good_ = false;
};

}  // namespace mindiesd::kernels::cuda::cudnn
