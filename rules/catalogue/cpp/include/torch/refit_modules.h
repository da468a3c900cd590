// Modules of torch::nn and their options, included inside that namespace.
#define REFIT_OPTION(Options, Type, name) Options& name(const Type& value);

struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features);
  REFIT_OPTION(LinearOptions, bool, bias)
};
struct LinearImpl : Module {
  LinearImpl(int64_t in_features, int64_t out_features);
  explicit LinearImpl(const LinearOptions& options);
  Tensor forward(const Tensor& input);
  void reset_parameters();
  Tensor weight, bias;
};
TORCH_MODULE(Linear);
struct BilinearOptions {
  BilinearOptions(int64_t in1_features, int64_t in2_features, int64_t out_features);
  REFIT_OPTION(BilinearOptions, bool, bias)
};
struct BilinearImpl : Module {
  explicit BilinearImpl(const BilinearOptions& options);
  Tensor forward(const Tensor& input1, const Tensor& input2);
  Tensor weight, bias;
};
TORCH_MODULE(Bilinear);
struct IdentityImpl : Module {
  Tensor forward(const Tensor& input);
};
TORCH_MODULE(Identity);
struct FlattenOptions {
  FlattenOptions();
  REFIT_OPTION(FlattenOptions, int64_t, start_dim)
  REFIT_OPTION(FlattenOptions, int64_t, end_dim)
};
struct FlattenImpl : Module {
  explicit FlattenImpl(const FlattenOptions& options = {});
  Tensor forward(const Tensor& input);
};
TORCH_MODULE(Flatten);

struct DropoutOptions {
  DropoutOptions(double p = 0.5);
  REFIT_OPTION(DropoutOptions, double, p)
  REFIT_OPTION(DropoutOptions, bool, inplace)
};
#define REFIT_DROPOUT(Name)                              \
  struct Name##Impl : Module {                           \
    explicit Name##Impl(double p);                       \
    explicit Name##Impl(const DropoutOptions& options = {}); \
    Tensor forward(Tensor input);                        \
  };                                                     \
  TORCH_MODULE(Name);
REFIT_DROPOUT(Dropout)
REFIT_DROPOUT(Dropout1d)
REFIT_DROPOUT(Dropout2d)
REFIT_DROPOUT(Dropout3d)
REFIT_DROPOUT(AlphaDropout)

// Norms.
struct LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> normalized_shape);
  REFIT_OPTION(LayerNormOptions, double, eps)
  REFIT_OPTION(LayerNormOptions, bool, elementwise_affine)
};
struct LayerNormImpl : Module {
  LayerNormImpl(std::vector<int64_t> normalized_shape);
  explicit LayerNormImpl(const LayerNormOptions& options);
  Tensor forward(const Tensor& input);
  Tensor weight, bias;
};
TORCH_MODULE(LayerNorm);
struct GroupNormOptions {
  GroupNormOptions(int64_t num_groups, int64_t num_channels);
  REFIT_OPTION(GroupNormOptions, double, eps)
  REFIT_OPTION(GroupNormOptions, bool, affine)
};
struct GroupNormImpl : Module {
  GroupNormImpl(int64_t num_groups, int64_t num_channels);
  explicit GroupNormImpl(const GroupNormOptions& options);
  Tensor forward(const Tensor& input);
  Tensor weight, bias;
};
TORCH_MODULE(GroupNorm);
struct BatchNormOptions {
  BatchNormOptions(int64_t num_features);
  REFIT_OPTION(BatchNormOptions, double, eps)
  REFIT_OPTION(BatchNormOptions, optional<double>, momentum)
  REFIT_OPTION(BatchNormOptions, bool, affine)
  REFIT_OPTION(BatchNormOptions, bool, track_running_stats)
};
using BatchNorm1dOptions = BatchNormOptions;
using BatchNorm2dOptions = BatchNormOptions;
using BatchNorm3dOptions = BatchNormOptions;
using InstanceNorm1dOptions = BatchNormOptions;
using InstanceNorm2dOptions = BatchNormOptions;
using InstanceNorm3dOptions = BatchNormOptions;
#define REFIT_BATCH_NORM(Name)                          \
  struct Name##Impl : Module {                          \
    explicit Name##Impl(int64_t num_features);          \
    explicit Name##Impl(const BatchNormOptions& options); \
    Tensor forward(const Tensor& input);                \
    Tensor weight, bias, running_mean, running_var, num_batches_tracked; \
  };                                                    \
  TORCH_MODULE(Name);
REFIT_BATCH_NORM(BatchNorm1d)
REFIT_BATCH_NORM(BatchNorm2d)
REFIT_BATCH_NORM(BatchNorm3d)
REFIT_BATCH_NORM(InstanceNorm1d)
REFIT_BATCH_NORM(InstanceNorm2d)
REFIT_BATCH_NORM(InstanceNorm3d)

struct EmbeddingOptions {
  EmbeddingOptions(int64_t num_embeddings, int64_t embedding_dim);
  REFIT_OPTION(EmbeddingOptions, optional<int64_t>, padding_idx)
  REFIT_OPTION(EmbeddingOptions, optional<double>, max_norm)
};
struct EmbeddingFromPretrainedOptions {
  EmbeddingFromPretrainedOptions& freeze(bool freeze);
};
struct EmbeddingImpl : Module {
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim);
  explicit EmbeddingImpl(const EmbeddingOptions& options);
  Tensor forward(const Tensor& indices);
  Tensor weight;
};
class Embedding : public ModuleHolder<EmbeddingImpl> {
 public:
  using ModuleHolder<EmbeddingImpl>::ModuleHolder;
  Embedding();
  static Embedding from_pretrained(const Tensor& embeddings,
                                   const EmbeddingFromPretrainedOptions& options = {});
};

// Convolutions and pooling. N numbers, or one for all axes.
template <size_t N>
struct ExpandingArray {
  ExpandingArray(std::initializer_list<int64_t> items);
  ExpandingArray(IntArrayRef items);
  ExpandingArray(const std::vector<int64_t>& items);
  ExpandingArray(int64_t item);
};
enum class Padding { same, valid, zeros, reflect, replicate, circular };
template <size_t N>
struct ConvOptions {
  ConvOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<N> kernel_size);
  REFIT_OPTION(ConvOptions, ExpandingArray<N>, stride)
  REFIT_OPTION(ConvOptions, ExpandingArray<N>, padding)
  ConvOptions& padding(Padding value);
  REFIT_OPTION(ConvOptions, ExpandingArray<N>, output_padding)
  REFIT_OPTION(ConvOptions, ExpandingArray<N>, dilation)
  REFIT_OPTION(ConvOptions, int64_t, groups)
  REFIT_OPTION(ConvOptions, bool, bias)
  REFIT_OPTION(ConvOptions, Padding, padding_mode)
};
using Conv1dOptions = ConvOptions<1>;
using Conv2dOptions = ConvOptions<2>;
using Conv3dOptions = ConvOptions<3>;
using ConvTranspose1dOptions = ConvOptions<1>;
using ConvTranspose2dOptions = ConvOptions<2>;
using ConvTranspose3dOptions = ConvOptions<3>;
#define REFIT_CONVOLUTION(Name, N)                                                            \
  struct Name##Impl : Module {                                                                \
    Name##Impl(int64_t in_channels, int64_t out_channels, ExpandingArray<N> kernel_size);     \
    explicit Name##Impl(const ConvOptions<N>& options);                                       \
    Tensor forward(const Tensor& input);                                                      \
    Tensor weight, bias;                                                                      \
  };                                                                                          \
  TORCH_MODULE(Name);
REFIT_CONVOLUTION(Conv1d, 1)
REFIT_CONVOLUTION(Conv2d, 2)
REFIT_CONVOLUTION(Conv3d, 3)
REFIT_CONVOLUTION(ConvTranspose1d, 1)
REFIT_CONVOLUTION(ConvTranspose2d, 2)
REFIT_CONVOLUTION(ConvTranspose3d, 3)
template <size_t N>
struct PoolOptions {
  PoolOptions(ExpandingArray<N> size);
  REFIT_OPTION(PoolOptions, ExpandingArray<N>, stride)
  REFIT_OPTION(PoolOptions, ExpandingArray<N>, padding)
  REFIT_OPTION(PoolOptions, ExpandingArray<N>, dilation)
  REFIT_OPTION(PoolOptions, bool, ceil_mode)
  REFIT_OPTION(PoolOptions, bool, count_include_pad)
};
#define REFIT_POOL(Name, N)                                 \
  using Name##Options = PoolOptions<N>;                     \
  struct Name##Impl : Module {                              \
    Name##Impl(ExpandingArray<N> size);                     \
    explicit Name##Impl(const PoolOptions<N>& options);     \
    Tensor forward(const Tensor& input);                    \
  };                                                        \
  TORCH_MODULE(Name);
REFIT_POOL(MaxPool1d, 1)
REFIT_POOL(MaxPool2d, 2)
REFIT_POOL(MaxPool3d, 3)
REFIT_POOL(AvgPool1d, 1)
REFIT_POOL(AvgPool2d, 2)
REFIT_POOL(AvgPool3d, 3)
REFIT_POOL(AdaptiveAvgPool1d, 1)
REFIT_POOL(AdaptiveAvgPool2d, 2)
REFIT_POOL(AdaptiveAvgPool3d, 3)
REFIT_POOL(AdaptiveMaxPool1d, 1)
REFIT_POOL(AdaptiveMaxPool2d, 2)
REFIT_POOL(ZeroPad2d, 4)
REFIT_POOL(ReflectionPad1d, 2)
REFIT_POOL(ReflectionPad2d, 4)
struct PixelShuffleOptions {
  PixelShuffleOptions(int64_t upscale_factor);
};
struct PixelShuffleImpl : Module {
  explicit PixelShuffleImpl(const PixelShuffleOptions& options);
  Tensor forward(const Tensor& input);
};
TORCH_MODULE(PixelShuffle);

// Activations.
#define REFIT_ACTIVATION(Name)           \
  struct Name##Impl : Module {           \
    Tensor forward(const Tensor& input); \
  };                                     \
  TORCH_MODULE(Name);
REFIT_ACTIVATION(SiLU)
REFIT_ACTIVATION(Sigmoid)
REFIT_ACTIVATION(LogSigmoid)
REFIT_ACTIVATION(Tanh)
REFIT_ACTIVATION(Mish)
REFIT_ACTIVATION(Softsign)
struct ReLUOptions {
  ReLUOptions(bool inplace = false);
  REFIT_OPTION(ReLUOptions, bool, inplace)
};
#define REFIT_RECTIFIER(Name)                            \
  using Name##Options = ReLUOptions;                     \
  struct Name##Impl : Module {                           \
    explicit Name##Impl(const ReLUOptions& options = {}); \
    Tensor forward(Tensor input);                        \
  };                                                     \
  TORCH_MODULE(Name);
struct ReLUImpl : Module {
  explicit ReLUImpl(const ReLUOptions& options = {});
  Tensor forward(Tensor input);
};
TORCH_MODULE(ReLU);
REFIT_RECTIFIER(ReLU6)
REFIT_RECTIFIER(SELU)
struct LeakyReLUOptions {
  LeakyReLUOptions();
  REFIT_OPTION(LeakyReLUOptions, double, negative_slope)
  REFIT_OPTION(LeakyReLUOptions, bool, inplace)
};
struct LeakyReLUImpl : Module {
  explicit LeakyReLUImpl(const LeakyReLUOptions& options = {});
  Tensor forward(Tensor input);
};
TORCH_MODULE(LeakyReLU);
struct ELUOptions {
  ELUOptions();
  REFIT_OPTION(ELUOptions, double, alpha)
  REFIT_OPTION(ELUOptions, bool, inplace)
};
struct ELUImpl : Module {
  explicit ELUImpl(const ELUOptions& options = {});
  Tensor forward(Tensor input);
};
TORCH_MODULE(ELU);
struct GELUOptions {
  GELUOptions();
  REFIT_OPTION(GELUOptions, std::string, approximate)
};
struct GELUImpl : Module {
  explicit GELUImpl(GELUOptions options = {});
  Tensor forward(const Tensor& input);
};
TORCH_MODULE(GELU);
struct SoftmaxOptions {
  SoftmaxOptions(int64_t dim);
};
struct SoftmaxImpl : Module {
  explicit SoftmaxImpl(int64_t dim);
  explicit SoftmaxImpl(const SoftmaxOptions& options);
  Tensor forward(const Tensor& input);
};
TORCH_MODULE(Softmax);
struct LogSoftmaxImpl : Module {
  explicit LogSoftmaxImpl(int64_t dim);
  Tensor forward(const Tensor& input);
};
TORCH_MODULE(LogSoftmax);
struct UpsampleOptions {
  UpsampleOptions();
  REFIT_OPTION(UpsampleOptions, std::vector<double>, scale_factor)
  REFIT_OPTION(UpsampleOptions, std::vector<int64_t>, size)
  template <typename Mode>
  UpsampleOptions& mode(const Mode& value);
  REFIT_OPTION(UpsampleOptions, bool, align_corners)
};
struct UpsampleImpl : Module {
  explicit UpsampleImpl(const UpsampleOptions& options = {});
  Tensor forward(const Tensor& input);
};
TORCH_MODULE(Upsample);

// Recurrent layers and attention.
struct RNNOptions {
  RNNOptions(int64_t input_size, int64_t hidden_size);
  REFIT_OPTION(RNNOptions, int64_t, num_layers)
  REFIT_OPTION(RNNOptions, bool, bias)
  REFIT_OPTION(RNNOptions, bool, batch_first)
  REFIT_OPTION(RNNOptions, double, dropout)
  REFIT_OPTION(RNNOptions, bool, bidirectional)
};
using GRUOptions = RNNOptions;
using LSTMOptions = RNNOptions;
using LSTMCellOptions = RNNOptions;
using GRUCellOptions = RNNOptions;
#define REFIT_RECURRENT(Name, State, Cell)                           \
  struct Name##Impl : Module {                                       \
    Name##Impl(int64_t input_size, int64_t hidden_size);             \
    explicit Name##Impl(const RNNOptions& options);                  \
    Cell forward(const Tensor& input, State state = {});             \
    void flatten_parameters();                                       \
  };                                                                 \
  class Name : public ModuleHolder<Name##Impl> {                     \
   public:                                                           \
    using ModuleHolder<Name##Impl>::ModuleHolder;                    \
    Name();                                                          \
  };
using RecurrentState = optional<std::tuple<Tensor, Tensor>>;
using RecurrentResult = std::tuple<Tensor, Tensor>;
using LSTMResult = std::tuple<Tensor, std::tuple<Tensor, Tensor>>;
REFIT_RECURRENT(RNN, Tensor, RecurrentResult)
REFIT_RECURRENT(GRU, Tensor, RecurrentResult)
REFIT_RECURRENT(LSTM, RecurrentState, LSTMResult)
REFIT_RECURRENT(GRUCell, Tensor, Tensor)
REFIT_RECURRENT(LSTMCell, RecurrentState, RecurrentResult)
struct MultiheadAttentionOptions {
  MultiheadAttentionOptions(int64_t embed_dim, int64_t num_heads);
  REFIT_OPTION(MultiheadAttentionOptions, double, dropout)
  REFIT_OPTION(MultiheadAttentionOptions, bool, bias)
  REFIT_OPTION(MultiheadAttentionOptions, int64_t, kdim)
  REFIT_OPTION(MultiheadAttentionOptions, int64_t, vdim)
};
struct MultiheadAttentionImpl : Module {
  MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads);
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& options);
  std::tuple<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const Tensor& key_padding_mask = {}, bool need_weights = true,
                                     const Tensor& attn_mask = {},
                                     bool average_attn_weights = true);
};
class MultiheadAttention : public ModuleHolder<MultiheadAttentionImpl> {
 public:
  using ModuleHolder<MultiheadAttentionImpl>::ModuleHolder;
  MultiheadAttention();
};

// Containers, and modules of any class.
class AnyModule {
 public:
  AnyModule();
  template <typename M>
  explicit AnyModule(M module);
  template <typename Result = Tensor, typename... Arguments>
  Result forward(Arguments&&... arguments);
  template <typename M>
  M& get();
  std::shared_ptr<Module> ptr() const;
  bool is_empty() const noexcept;
};
class SequentialImpl : public Module {
 public:
  SequentialImpl();
  template <typename... Modules>
  explicit SequentialImpl(Modules&&... modules);
  template <typename Result = Tensor, typename... Arguments>
  Result forward(Arguments&&... arguments);
  template <typename M>
  void push_back(M&& module);
  template <typename M>
  void push_back(std::string name, M&& module);
  template <typename C>
  void extend(const C& container);
  template <typename M>
  M& at(size_t index);
  std::shared_ptr<Module> operator[](size_t index) const;
  std::shared_ptr<Module> ptr(size_t index) const;
  AnyModule* begin();
  AnyModule* end();
  size_t size() const noexcept;
  bool is_empty() const noexcept;
};
TORCH_MODULE(Sequential);
class ModuleListImpl : public Module {
 public:
  ModuleListImpl();
  template <typename... Modules>
  explicit ModuleListImpl(Modules&&... modules);
  template <typename M>
  void push_back(M&& module);
  template <typename C>
  void extend(const C& container);
  template <typename M>
  M& at(size_t index);
  template <typename M>
  std::shared_ptr<M> ptr(size_t index) const;
  std::shared_ptr<Module> ptr(size_t index) const;
  std::shared_ptr<Module> operator[](size_t index) const;
  std::shared_ptr<Module>* begin();
  std::shared_ptr<Module>* end();
  size_t size() const noexcept;
  bool is_empty() const noexcept;
};
TORCH_MODULE(ModuleList);
class ModuleDictImpl : public Module {
 public:
  ModuleDictImpl();
  std::shared_ptr<Module> operator[](const std::string& key) const;
  bool contains(const std::string& key) const noexcept;
  size_t size() const noexcept;
};
TORCH_MODULE(ModuleDict);
class ParameterListImpl : public Module {
 public:
  ParameterListImpl();
  void append(const Tensor& parameter);
  Tensor& operator[](size_t index);
  size_t size() const noexcept;
};
TORCH_MODULE(ParameterList);

// Losses.
#define REFIT_LOSS(Name)                                       \
  struct Name##Options {                                       \
    Name##Options();                                           \
    template <typename How>                                    \
    Name##Options& reduction(const How& how);                  \
    Name##Options& ignore_index(int64_t ignore_index);         \
    Name##Options& weight(const Tensor& weight);               \
  };                                                           \
  struct Name##Impl : Module {                                 \
    explicit Name##Impl(const Name##Options& options = {});    \
    Tensor forward(const Tensor& input, const Tensor& target); \
  };                                                           \
  TORCH_MODULE(Name);
REFIT_LOSS(CrossEntropyLoss)
REFIT_LOSS(MSELoss)
REFIT_LOSS(L1Loss)
REFIT_LOSS(SmoothL1Loss)
REFIT_LOSS(NLLLoss)
REFIT_LOSS(BCELoss)
REFIT_LOSS(BCEWithLogitsLoss)
REFIT_LOSS(KLDivLoss)

namespace init {
Tensor normal_(Tensor tensor, double mean = 0, double std = 1);
Tensor uniform_(Tensor tensor, double low = 0, double high = 1);
Tensor constant_(Tensor tensor, Scalar value);
Tensor zeros_(Tensor tensor);
Tensor ones_(Tensor tensor);
Tensor eye_(Tensor matrix);
Tensor xavier_normal_(Tensor tensor, double gain = 1.0);
Tensor xavier_uniform_(Tensor tensor, double gain = 1.0);
Tensor orthogonal_(Tensor tensor, double gain = 1.0);
template <typename... Modes>
Tensor kaiming_normal_(Tensor tensor, double a = 0, Modes... modes);
template <typename... Modes>
Tensor kaiming_uniform_(Tensor tensor, double a = 0, Modes... modes);
}  // namespace init
namespace utils {
double clip_grad_norm_(std::vector<Tensor> parameters, double max_norm, double norm_type = 2.0);
void clip_grad_value_(std::vector<Tensor> parameters, double clip_value);
}  // namespace utils

#undef REFIT_OPTION
#undef REFIT_DROPOUT
#undef REFIT_BATCH_NORM
#undef REFIT_CONVOLUTION
#undef REFIT_POOL
#undef REFIT_ACTIVATION
#undef REFIT_RECTIFIER
#undef REFIT_RECURRENT
#undef REFIT_LOSS
