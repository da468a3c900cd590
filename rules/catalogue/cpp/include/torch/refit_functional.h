// Further functions of torch::nn::functional and their options, included inside that namespace.
#define REFIT_OPTION(Options, Type, name) Options& name(const Type& value);

#define REFIT_ELEMENTWISE(name) Tensor name(const Tensor& input);
REFIT_ELEMENTWISE(sigmoid)
REFIT_ELEMENTWISE(tanh)
REFIT_ELEMENTWISE(logsigmoid)
REFIT_ELEMENTWISE(mish)
Tensor relu(Tensor input, const ReLUOptions& options = {});
Tensor leaky_relu(Tensor input, const LeakyReLUOptions& options = {});
Tensor elu(Tensor input, const ELUOptions& options = {});
Tensor relu6(Tensor input);
Tensor softplus(const Tensor& input);

struct NormalizeFuncOptions {
  NormalizeFuncOptions();
  REFIT_OPTION(NormalizeFuncOptions, double, p)
  REFIT_OPTION(NormalizeFuncOptions, int64_t, dim)
  REFIT_OPTION(NormalizeFuncOptions, double, eps)
};
Tensor normalize(const Tensor& input, const NormalizeFuncOptions& options = {});
struct PadFuncOptions {
  PadFuncOptions(std::vector<int64_t> pad);
  template <typename Mode>
  PadFuncOptions& mode(const Mode& value);
  REFIT_OPTION(PadFuncOptions, double, value)
};
Tensor pad(const Tensor& input, const PadFuncOptions& options);
struct InterpolateFuncOptions {
  InterpolateFuncOptions();
  REFIT_OPTION(InterpolateFuncOptions, std::vector<int64_t>, size)
  REFIT_OPTION(InterpolateFuncOptions, std::vector<double>, scale_factor)
  template <typename Mode>
  InterpolateFuncOptions& mode(const Mode& value);
  REFIT_OPTION(InterpolateFuncOptions, bool, align_corners)
  REFIT_OPTION(InterpolateFuncOptions, bool, antialias)
};
Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options = {});
struct GridSampleFuncOptions {
  GridSampleFuncOptions();
  template <typename Mode>
  GridSampleFuncOptions& mode(const Mode& value);
  template <typename Mode>
  GridSampleFuncOptions& padding_mode(const Mode& value);
  REFIT_OPTION(GridSampleFuncOptions, bool, align_corners)
};
Tensor grid_sample(const Tensor& input, const Tensor& grid,
                   const GridSampleFuncOptions& options = {});
struct UnfoldFuncOptions {
  UnfoldFuncOptions(ExpandingArray<2> kernel_size);
  REFIT_OPTION(UnfoldFuncOptions, ExpandingArray<2>, stride)
  REFIT_OPTION(UnfoldFuncOptions, ExpandingArray<2>, padding)
  REFIT_OPTION(UnfoldFuncOptions, ExpandingArray<2>, dilation)
};
Tensor unfold(const Tensor& input, const UnfoldFuncOptions& options);

template <size_t N>
struct ConvFuncOptions {
  ConvFuncOptions();
  REFIT_OPTION(ConvFuncOptions, Tensor, bias)
  REFIT_OPTION(ConvFuncOptions, ExpandingArray<N>, stride)
  REFIT_OPTION(ConvFuncOptions, ExpandingArray<N>, padding)
  REFIT_OPTION(ConvFuncOptions, ExpandingArray<N>, dilation)
  REFIT_OPTION(ConvFuncOptions, int64_t, groups)
};
#define REFIT_CONVOLUTION(name, Name, N)               \
  using Name##FuncOptions = ConvFuncOptions<N>;        \
  Tensor name(const Tensor& input, const Tensor& weight, \
              const Name##FuncOptions& options = {});
REFIT_CONVOLUTION(conv1d, Conv1d, 1)
REFIT_CONVOLUTION(conv2d, Conv2d, 2)
REFIT_CONVOLUTION(conv3d, Conv3d, 3)
REFIT_CONVOLUTION(conv_transpose1d, ConvTranspose1d, 1)
REFIT_CONVOLUTION(conv_transpose2d, ConvTranspose2d, 2)
#define REFIT_POOL(name, Name, N)             \
  using Name##FuncOptions = PoolOptions<N>;   \
  Tensor name(const Tensor& input, const Name##FuncOptions& options);
REFIT_POOL(max_pool1d, MaxPool1d, 1)
REFIT_POOL(max_pool2d, MaxPool2d, 2)
REFIT_POOL(max_pool3d, MaxPool3d, 3)
REFIT_POOL(avg_pool1d, AvgPool1d, 1)
REFIT_POOL(avg_pool2d, AvgPool2d, 2)
REFIT_POOL(avg_pool3d, AvgPool3d, 3)
REFIT_POOL(adaptive_avg_pool1d, AdaptiveAvgPool1d, 1)
REFIT_POOL(adaptive_avg_pool2d, AdaptiveAvgPool2d, 2)
REFIT_POOL(adaptive_max_pool2d, AdaptiveMaxPool2d, 2)
Tensor one_hot(const Tensor& tensor, int64_t num_classes = -1);
Tensor embedding(const Tensor& input, const Tensor& weight);

using CrossEntropyFuncOptions = CrossEntropyLossOptions;
using BinaryCrossEntropyFuncOptions = BCELossOptions;
using BinaryCrossEntropyWithLogitsFuncOptions = BCEWithLogitsLossOptions;
Tensor cross_entropy(const Tensor& input, const Tensor& target,
                     const CrossEntropyFuncOptions& options = {});
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target,
                            const BinaryCrossEntropyFuncOptions& options = {});
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& options = {});
Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossOptions& options = {});
Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossOptions& options = {});
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target,
                      const SmoothL1LossOptions& options = {});
Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossOptions& options = {});
Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivLossOptions& options = {});

#undef REFIT_OPTION
#undef REFIT_ELEMENTWISE
#undef REFIT_CONVOLUTION
#undef REFIT_POOL
