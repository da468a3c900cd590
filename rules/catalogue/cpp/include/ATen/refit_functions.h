// Further functions of ATen, included inside its namespace: what libtorch code calls around what
// rules look for. The names of parameters are ATen's.
#define REFIT_UNARY(name) Tensor name(const Tensor& self);
#define REFIT_COMPARISON(name)                              \
  Tensor name(const Tensor& self, const Tensor& other); \
  Tensor name(const Tensor& self, const Scalar& other);

// Elementwise.
REFIT_UNARY(abs)
REFIT_UNARY(acos)
REFIT_UNARY(asin)
REFIT_UNARY(atan)
REFIT_UNARY(ceil)
REFIT_UNARY(erf)
REFIT_UNARY(erfc)
REFIT_UNARY(expm1)
REFIT_UNARY(floor)
REFIT_UNARY(isfinite)
REFIT_UNARY(isinf)
REFIT_UNARY(isnan)
REFIT_UNARY(log)
REFIT_UNARY(log10)
REFIT_UNARY(log1p)
REFIT_UNARY(log2)
REFIT_UNARY(logical_not)
REFIT_UNARY(bitwise_not)
REFIT_UNARY(reciprocal)
REFIT_UNARY(round)
REFIT_UNARY(sign)
REFIT_UNARY(sinh)
REFIT_UNARY(cosh)
REFIT_UNARY(tan)
REFIT_UNARY(trunc)
REFIT_UNARY(selu)
REFIT_UNARY(relu6)
REFIT_UNARY(hardswish)
REFIT_UNARY(mish)
REFIT_UNARY(t)
REFIT_UNARY(clone)
REFIT_UNARY(squeeze)
REFIT_UNARY(real)
REFIT_UNARY(imag)
REFIT_UNARY(conj)
REFIT_COMPARISON(lt)
REFIT_COMPARISON(le)
REFIT_COMPARISON(gt)
REFIT_COMPARISON(ge)
REFIT_COMPARISON(eq)
REFIT_COMPARISON(ne)
REFIT_COMPARISON(remainder)
REFIT_COMPARISON(fmod)
REFIT_COMPARISON(floor_divide)
Tensor operator%(const Tensor& x, const Tensor& y);
Tensor operator%(const Tensor& x, const Scalar& y);
Tensor operator<(const Scalar& x, const Tensor& y);
Tensor operator>(const Scalar& x, const Tensor& y);
Tensor operator^(const Tensor& x, const Tensor& y);
Tensor add(const Tensor& self, const Scalar& other, const Scalar& alpha = 1);
Tensor sub(const Tensor& self, const Scalar& other, const Scalar& alpha = 1);
Tensor mul(const Tensor& self, const Scalar& other);
Tensor div(const Tensor& self, const Scalar& other);
Tensor div(const Tensor& self, const Tensor& other, optional<std::string_view> rounding_mode);
Tensor div(const Tensor& self, const Scalar& other, optional<std::string_view> rounding_mode);
Tensor pow(const Tensor& self, const Tensor& exponent);
Tensor pow(const Scalar& self, const Tensor& exponent);
Tensor atan2(const Tensor& self, const Tensor& other);
Tensor logical_and(const Tensor& self, const Tensor& other);
Tensor logical_or(const Tensor& self, const Tensor& other);
Tensor logical_xor(const Tensor& self, const Tensor& other);
Tensor bitwise_and(const Tensor& self, const Tensor& other);
Tensor bitwise_or(const Tensor& self, const Tensor& other);
Tensor maximum(const Tensor& self, const Tensor& other);
Tensor minimum(const Tensor& self, const Tensor& other);
Tensor clamp_min(const Tensor& self, const Scalar& min);
Tensor clamp_max(const Tensor& self, const Scalar& max);
Tensor clip(const Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max = nullopt);
Tensor leaky_relu(const Tensor& self, const Scalar& negative_slope = 0.01);
Tensor elu(const Tensor& self, const Scalar& alpha = 1, const Scalar& scale = 1,
           const Scalar& input_scale = 1);
Tensor softplus(const Tensor& self, const Scalar& beta = 1, const Scalar& threshold = 20);
Tensor glu(const Tensor& self, int64_t dim = -1);
Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value = 1);
Tensor lerp(const Tensor& self, const Tensor& end, const Scalar& weight);
Tensor lerp(const Tensor& self, const Tensor& end, const Tensor& weight);
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value);
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value);
Tensor masked_select(const Tensor& self, const Tensor& mask);
Tensor nan_to_num(const Tensor& self, optional<double> nan = nullopt,
                  optional<double> posinf = nullopt, optional<double> neginf = nullopt);
Tensor where(const Tensor& condition, const Tensor& self, const Scalar& other);
Tensor where(const Tensor& condition, const Scalar& self, const Tensor& other);
Tensor where(const Tensor& condition, const Scalar& self, const Scalar& other);
std::vector<Tensor> where(const Tensor& condition);

// Reductions and what orders.
Tensor all(const Tensor& self);
Tensor all(const Tensor& self, int64_t dim, bool keepdim = false);
Tensor any(const Tensor& self);
Tensor any(const Tensor& self, int64_t dim, bool keepdim = false);
Tensor sum(const Tensor& self, optional<ScalarType> dtype = nullopt);
Tensor prod(const Tensor& self, optional<ScalarType> dtype = nullopt);
Tensor max(const Tensor& self);
Tensor min(const Tensor& self);
Tensor max(const Tensor& self, const Tensor& other);
Tensor min(const Tensor& self, const Tensor& other);
std::tuple<Tensor, Tensor> max(const Tensor& self, int64_t dim, bool keepdim = false);
std::tuple<Tensor, Tensor> min(const Tensor& self, int64_t dim, bool keepdim = false);
Tensor amax(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false);
Tensor amin(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false);
Tensor argmax(const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false);
Tensor argmin(const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false);
Tensor argsort(const Tensor& self, int64_t dim = -1, bool descending = false);
std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim = -1, bool descending = false);
std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim = -1,
                                bool largest = true, bool sorted = true);
Tensor cumsum(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt);
Tensor cumprod(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt);
Tensor logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim = false);
Tensor log_softmax(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt);
Tensor norm(const Tensor& self, const Scalar& p = 2);
Tensor norm(const Tensor& self, const optional<Scalar>& p, IntArrayRef dim, bool keepdim = false);
Tensor std(const Tensor& self, bool unbiased = true);
Tensor std(const Tensor& self, OptionalIntArrayRef dim, bool unbiased = true, bool keepdim = false);
Tensor var(const Tensor& self, bool unbiased = true);
Tensor var(const Tensor& self, OptionalIntArrayRef dim, bool unbiased = true, bool keepdim = false);
Tensor median(const Tensor& self);
Tensor nonzero(const Tensor& self);
Tensor bincount(const Tensor& self, const optional<Tensor>& weights = {}, int64_t minlength = 0);
Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement = false);
Tensor bernoulli(const Tensor& self);
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim = 1, double eps = 1e-08);
bool equal(const Tensor& self, const Tensor& other);
bool allclose(const Tensor& self, const Tensor& other, double rtol = 1e-05, double atol = 1e-08,
              bool equal_nan = false);
Tensor isclose(const Tensor& self, const Tensor& other, double rtol = 1e-05, double atol = 1e-08,
               bool equal_nan = false);

// Products and layers.
Tensor mm(const Tensor& self, const Tensor& mat2);
Tensor mv(const Tensor& self, const Tensor& vec);
Tensor dot(const Tensor& self, const Tensor& tensor);
Tensor einsum(std::string_view equation, TensorList tensors);
Tensor tensordot(const Tensor& self, const Tensor& other, IntArrayRef dims_self,
                 IntArrayRef dims_other);
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
             const Scalar& alpha = 1);
Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2,
               const Scalar& beta = 1, const Scalar& alpha = 1);
Tensor cross(const Tensor& self, const Tensor& other, optional<int64_t> dim = nullopt);
Tensor cdist(const Tensor& x1, const Tensor& x2, double p = 2);
Tensor embedding(const Tensor& weight, const Tensor& indices);
Tensor group_norm(const Tensor& input, int64_t num_groups, const optional<Tensor>& weight = {},
                  const optional<Tensor>& bias = {}, double eps = 1e-05, bool cudnn_enabled = true);
Tensor conv1d(const Tensor& input, const Tensor& weight, const optional<Tensor>& bias = {},
              IntArrayRef stride = 1, IntArrayRef padding = 0, IntArrayRef dilation = 1,
              int64_t groups = 1);
Tensor conv2d(const Tensor& input, const Tensor& weight, const optional<Tensor>& bias = {},
              IntArrayRef stride = 1, IntArrayRef padding = 0, IntArrayRef dilation = 1,
              int64_t groups = 1);
Tensor max_pool2d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0);
Tensor adaptive_avg_pool2d(const Tensor& self, IntArrayRef output_size);
Tensor adaptive_avg_pool1d(const Tensor& self, IntArrayRef output_size);
Tensor constant_pad_nd(const Tensor& self, IntArrayRef pad, const Scalar& value = 0);
Tensor one_hot(const Tensor& self, int64_t num_classes = -1);

// Shapes and parts.
Tensor swapaxes(const Tensor& self, int64_t axis0, int64_t axis1);
Tensor movedim(const Tensor& self, int64_t source, int64_t destination);
Tensor movedim(const Tensor& self, IntArrayRef source, IntArrayRef destination);
Tensor squeeze(const Tensor& self, int64_t dim);
Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length);
std::vector<Tensor> split(const Tensor& self, IntArrayRef split_size, int64_t dim = 0);
std::vector<Tensor> split_with_sizes(const Tensor& self, IntArrayRef split_sizes, int64_t dim = 0);
std::vector<Tensor> meshgrid(TensorList tensors);
std::vector<Tensor> meshgrid(TensorList tensors, std::string_view indexing);
std::vector<Tensor> broadcast_tensors(TensorList tensors);
Tensor hstack(TensorList tensors);
Tensor vstack(TensorList tensors);
Tensor flip(const Tensor& self, IntArrayRef dims);
Tensor roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims = {});
Tensor tile(const Tensor& self, IntArrayRef dims);
Tensor repeat_interleave(const Tensor& self, int64_t repeats, optional<int64_t> dim = nullopt);
Tensor tril(const Tensor& self, int64_t diagonal = 0);
Tensor triu(const Tensor& self, int64_t diagonal = 0);
Tensor diag(const Tensor& self, int64_t diagonal = 0);
Tensor gather(const Tensor& self, int64_t dim, const Tensor& index);
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src);
Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index);
Tensor bucketize(const Tensor& self, const Tensor& boundaries);
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& self);
Tensor complex(const Tensor& real, const Tensor& imag);
Tensor zeros_like(const Tensor& self, const TensorOptions& options = {});
Tensor ones_like(const Tensor& self, const TensorOptions& options = {});
Tensor empty_like(const Tensor& self, const TensorOptions& options = {});
Tensor full_like(const Tensor& self, const Scalar& fill_value, const TensorOptions& options = {});
Tensor rand_like(const Tensor& self, const TensorOptions& options = {});
Tensor randn_like(const Tensor& self, const TensorOptions& options = {});

#undef REFIT_UNARY
#undef REFIT_COMPARISON
