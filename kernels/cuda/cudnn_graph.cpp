// Builds cuDNN's graph of an attention problem and a plan for it; see cudnn_graph.h.

#include "kernels/cuda/cudnn_graph.h"

#include <deque>

namespace mindiesd::kernels::cuda::cudnn {
namespace {

Type type_of(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return Type::kHalf;
    case DataType::kBFloat16:
      return Type::kBFloat16;
    default:
      return Type::kFloat;
  }
}

// The operations of one problem in order, with what they are made of.
class Graph {
 public:
  Graph(const Attention& problem, const Band& band, const Bias& bias)
      : p_(problem), band_(band), bias_(bias) {
    if (bias.present || band.ends() || band.begins()) {
      chain();
    } else {
      one_operation();
    }
  }

  const std::vector<std::int64_t>& ids() const { return ids_; }

  // Null where an operation was refused.
  std::unique_ptr<Described> finalize(Handle handle) const {
    for (const Described& made : made_) {
      if (!made.good()) return nullptr;
    }
    auto graph = std::make_unique<Described>(DescriptorType::kOperationGraph);
    graph->set(Attribute::kGraphHandle, AttributeType::kHandle, &handle);
    graph->set(Attribute::kGraphOperations, AttributeType::kDescriptor, operations_.data(),
               static_cast<std::int64_t>(operations_.size()));
    return graph->finalize() ? std::move(graph) : nullptr;
  }

 private:
  static Four dense(const Four& sizes) {
    return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
  }

  Described& make(DescriptorType type) { return made_.emplace_back(type); }

  const Described& tensor(std::int64_t id, Type type, const Four& sizes, const Four& strides,
                          bool by_value = false) {
    const bool is_virtual = id >= kFirstVirtual;
    const std::int64_t alignment = by_value ? 4 : 16;
    Described& made = make(DescriptorType::kTensor);
    made.set(Attribute::kTensorType, AttributeType::kDataType, &type);
    made.set(Attribute::kTensorDimensions, AttributeType::kInt64, sizes.data(), 4);
    made.set(Attribute::kTensorStrides, AttributeType::kInt64, strides.data(), 4);
    made.set(Attribute::kTensorId, AttributeType::kInt64, &id);
    made.set(Attribute::kTensorAlignment, AttributeType::kInt64, &alignment);
    made.set(Attribute::kTensorIsVirtual, AttributeType::kBoolean, &is_virtual);
    made.set(Attribute::kTensorIsByValue, AttributeType::kBoolean, &by_value);
    made.finalize();
    if (!is_virtual) ids_.push_back(id);
    return made;
  }
  const Described& scalar(Id id, Type type) {
    return tensor(id, type, {1, 1, 1, 1}, {1, 1, 1, 1}, true);
  }
  const Described& between(Type type, const Four& sizes) {
    return tensor(kFirstVirtual + virtuals_++, type, sizes, dense(sizes));
  }
  const Described& operand(Id id, std::int64_t heads, std::int64_t length, std::int64_t width,
                           const std::int64_t (&strides)[3]) {
    return tensor(id, type_of(p_.type), {p_.batch, heads, length, width},
                  {strides[0], strides[1], strides[2], 1});
  }

  void add(Described& operation) {
    operation.finalize();
    operations_.push_back(operation.get());
  }

  const Described& pointwise(Pointwise mode, Type precision, const Described& y, const Described& x,
                             const Described* b = nullptr, const Described* t = nullptr,
                             std::int64_t axis = -1) {
    Described& description = make(DescriptorType::kPointwise);
    description.set(Attribute::kPointwiseMode, AttributeType::kPointwiseMode, &mode);
    description.set(Attribute::kPointwisePrecision, AttributeType::kDataType, &precision);
    if (axis >= 0) description.set(Attribute::kPointwiseAxis, AttributeType::kInt64, &axis);
    description.finalize();
    Described& operation = make(DescriptorType::kPointwiseOperation);
    operation.set(Attribute::kPointwiseDescription, description);
    operation.set(Attribute::kPointwiseX, x);
    operation.set(Attribute::kPointwiseY, y);
    if (b != nullptr) operation.set(Attribute::kPointwiseB, *b);
    if (t != nullptr) operation.set(Attribute::kPointwiseT, *t);
    add(operation);
    return y;
  }
  const Described& arithmetic(Pointwise mode, const Four& sizes, const Described& x,
                              const Described* b = nullptr) {
    return pointwise(mode, Type::kFloat, between(Type::kFloat, sizes), x, b);
  }

  void matmul(const Described& a, const Described& b, const Described& c) {
    const Type precision = Type::kFloat;
    Described& description = make(DescriptorType::kMatmul);
    description.set(Attribute::kMatmulPrecision, AttributeType::kDataType, &precision);
    description.finalize();
    Described& operation = make(DescriptorType::kMatmulOperation);
    operation.set(Attribute::kMatmulA, a);
    operation.set(Attribute::kMatmulB, b);
    operation.set(Attribute::kMatmulC, c);
    operation.set(Attribute::kMatmulDescription, description);
    add(operation);
  }

  const Described& reduce(Reduction reduction, const Described& x) {
    const Type precision = Type::kFloat;
    Described& description = make(DescriptorType::kReduction);
    description.set(Attribute::kReductionOperator, AttributeType::kReductionOperator, &reduction);
    description.set(Attribute::kReductionPrecision, AttributeType::kDataType, &precision);
    description.finalize();
    const Described& y = between(Type::kFloat, row_sizes());
    Described& operation = make(DescriptorType::kReductionOperation);
    operation.set(Attribute::kReductionX, x);
    operation.set(Attribute::kReductionY, y);
    operation.set(Attribute::kReductionDescription, description);
    add(operation);
    return y;
  }

  Four score_sizes() const { return {p_.batch, p_.query_heads, p_.query_length, p_.key_length}; }
  Four row_sizes() const { return {p_.batch, p_.query_heads, p_.query_length, 1}; }

  const Described& query() {
    return operand(kQuery, p_.query_heads, p_.query_length, p_.head_dim, p_.query_strides);
  }
  const Described& value() {
    return operand(kValue, p_.key_heads, p_.key_length, p_.value_dim, p_.value_strides);
  }
  const Described& output() {
    return operand(kOutput, p_.query_heads, p_.query_length, p_.value_dim, p_.output_strides);
  }

  void one_operation() {
    Described& attention = make(DescriptorType::kAttention);
    attention.set(Attribute::kAttentionQuery, query());
    attention.set(Attribute::kAttentionKey,
                  operand(kKey, p_.key_heads, p_.key_length, p_.head_dim, p_.key_strides));
    attention.set(Attribute::kAttentionValue, value());
    attention.set(Attribute::kAttentionOutput, output());
    attention.set(Attribute::kAttentionScale, scalar(kScale, Type::kFloat));
    add(attention);
  }

  const Described& index(std::int64_t axis, const Described& scores) {
    return pointwise(Pointwise::kIndex, Type::kFloat, between(Type::kInt32, score_sizes()), scores,
                     nullptr, nullptr, axis);
  }
  const Described& shifted(Pointwise mode, Type type, const Described& by, Id id) {
    return pointwise(mode, type, between(type, score_sizes()), by, &scalar(id, type));
  }
  // Scores for which `greater` does not hold get -infinity.
  const Described& select(const Described& scores, Pointwise greater, const Described& x,
                          const Described& b, Id otherwise) {
    const Described& seen =
        pointwise(greater, Type::kBoolean, between(Type::kBoolean, score_sizes()), x, &b);
    return pointwise(Pointwise::kSelect, Type::kFloat, between(Type::kFloat, score_sizes()), scores,
                     &scalar(otherwise, Type::kFloat), &seen);
  }
  const Described& until_last_key(const Described& scores) {
    const Described* row = &index(2, scores);
    const Described& column = index(3, scores);
    const LastKey last = last_key_of(p_, band_, bias_.present);
    if (last.from_the_end) {
      row = &shifted(Pointwise::kAdd, Type::kInt32, *row, kKeyLength);
      row = &shifted(Pointwise::kSubtract, Type::kInt32, *row, kQueryLength);
    }
    if (last.shift != 0) row = &shifted(Pointwise::kAdd, Type::kInt32, *row, kShift);
    return select(scores, Pointwise::kGreaterOrEqual, *row, column, kAfterLast);
  }
  const Described& from_first_key(const Described& scores) {
    const Described& row = index(2, scores);
    const Described& column = shifted(Pointwise::kAdd, Type::kFloat, index(3, scores), kWindow);
    return select(scores, Pointwise::kGreater, column, row, kBeforeFirst);
  }

  void chain() {
    const Four all = score_sizes();
    const Described& products = between(Type::kFloat, all);
    // The key transposed: [batch, head, width, position].
    const Described& key =
        tensor(kKey, type_of(p_.type), {p_.batch, p_.key_heads, p_.head_dim, p_.key_length},
               {p_.key_strides[0], p_.key_strides[1], 1, p_.key_strides[2]});
    matmul(query(), key, products);
    const Described* scores =
        &arithmetic(Pointwise::kMultiply, all, products, &scalar(kScale, Type::kFloat));
    if (bias_.present) {
      scores = &arithmetic(Pointwise::kAdd, all, *scores,
                           &tensor(kBias, type_of(bias_.type), bias_.sizes, bias_.strides));
    }
    if (band_.ends()) scores = &until_last_key(*scores);
    if (band_.begins()) scores = &from_first_key(*scores);
    const Described& maximum = reduce(Reduction::kMaximum, *scores);
    const Described& below = arithmetic(Pointwise::kSubtract, all, *scores, &maximum);
    const Described& exponentials = arithmetic(Pointwise::kExp, all, below);
    const Described& sum = reduce(Reduction::kAdd, exponentials);
    // Nobody reads these two, but the engines look for them.
    const Described& logarithm = arithmetic(Pointwise::kLog, row_sizes(), sum);
    arithmetic(Pointwise::kAdd, row_sizes(), maximum, &logarithm);
    const Described& weights = pointwise(Pointwise::kDivide, Type::kFloat,
                                         between(type_of(p_.type), all), exponentials, &sum);
    matmul(weights, value(), output());
  }

  const Attention& p_;
  const Band& band_;
  const Bias& bias_;
  std::deque<Described> made_;  // references to them stay valid
  std::vector<Descriptor> operations_;
  std::vector<std::int64_t> ids_;
  std::int64_t virtuals_ = 0;
};

}  // namespace

LastKey last_key_of(const Attention& problem, const Band& band, bool has_bias) {
  // With a bias cuDNN refuses what counts from the end.
  const std::int64_t difference = problem.key_length - problem.query_length;
  LastKey last;
  last.from_the_end = difference > 0 && band.after >= difference && !has_bias;
  last.shift = last.from_the_end ? band.after - difference : band.after;
  return last;
}

std::shared_ptr<const Plan> make_plan(const Attention& problem, const Band& band, const Bias& bias,
                                      Handle handle) {
  const Graph described(problem, band, bias);
  const std::unique_ptr<Described> graph = described.finalize(handle);
  if (graph == nullptr) return nullptr;

  Described heuristics(DescriptorType::kEngineHeuristics);
  heuristics.set(Attribute::kHeuristicsGraph, *graph);
  heuristics.set(Attribute::kHeuristicsMode, AttributeType::kHeuristicsMode, &kHeuristicsA);
  if (!heuristics.finalize()) return nullptr;
  std::int64_t count = 0;
  if (api().get(heuristics.get(), Attribute::kHeuristicsResults, AttributeType::kDescriptor, 0,
                &count, nullptr) != 0) {
    return nullptr;
  }
  std::deque<Described> configs;
  std::vector<Descriptor> raw;
  for (std::int64_t i = 0; i < count; ++i) {
    raw.push_back(configs.emplace_back(DescriptorType::kEngineConfig).get());
  }
  if (api().get(heuristics.get(), Attribute::kHeuristicsResults, AttributeType::kDescriptor, count,
                &count, raw.data()) != 0) {
    return nullptr;
  }
  // The best first; what cannot be built is passed over.
  for (std::int64_t i = 0; i < count; ++i) {
    auto plan = std::make_shared<Plan>();
    plan->described.set(Attribute::kPlanHandle, AttributeType::kHandle, &handle);
    plan->described.set(Attribute::kPlanEngineConfig, configs[static_cast<std::size_t>(i)]);
    if (!plan->described.finalize()) continue;
    std::int64_t one = 0;
    if (api().get(plan->described.get(), Attribute::kPlanWorkspaceSize, AttributeType::kInt64, 1,
                  &one, &plan->workspace) == 0) {
      plan->ids = described.ids();
      return plan;
    }
  }
  return nullptr;
}

}  // namespace mindiesd::kernels::cuda::cudnn
