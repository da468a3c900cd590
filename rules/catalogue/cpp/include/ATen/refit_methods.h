// Further members of at::Tensor, included inside the class: what libtorch code calls around what
// rules look for, so that the functions that call it are read. The names of parameters are ATen's.
#define REFIT_UNARY(name) Tensor name() const;
#define REFIT_IN_PLACE(name) Tensor& name() const;
#define REFIT_COMPARISON(name)           \
  Tensor name(const Tensor& other) const; \
  Tensor name(const Scalar& other) const;

// Elementwise.
REFIT_UNARY(acos)
REFIT_UNARY(asin)
REFIT_UNARY(atan)
REFIT_UNARY(ceil)
REFIT_UNARY(cosh)
REFIT_UNARY(erfc)
REFIT_UNARY(exp2)
REFIT_UNARY(expm1)
REFIT_UNARY(floor)
REFIT_UNARY(isfinite)
REFIT_UNARY(isinf)
REFIT_UNARY(isnan)
REFIT_UNARY(log10)
REFIT_UNARY(log1p)
REFIT_UNARY(log2)
REFIT_UNARY(logical_not)
REFIT_UNARY(negative)
REFIT_UNARY(round)
REFIT_UNARY(sign)
REFIT_UNARY(sinh)
REFIT_UNARY(tan)
REFIT_UNARY(trunc)
REFIT_UNARY(conj)
REFIT_IN_PLACE(abs_)
REFIT_IN_PLACE(ceil_)
REFIT_IN_PLACE(cos_)
REFIT_IN_PLACE(exp_)
REFIT_IN_PLACE(floor_)
REFIT_IN_PLACE(log_)
REFIT_IN_PLACE(neg_)
REFIT_IN_PLACE(reciprocal_)
REFIT_IN_PLACE(relu_)
REFIT_IN_PLACE(round_)
REFIT_IN_PLACE(rsqrt_)
REFIT_IN_PLACE(sigmoid_)
REFIT_IN_PLACE(sin_)
REFIT_IN_PLACE(sqrt_)
REFIT_IN_PLACE(tanh_)
REFIT_IN_PLACE(detach_)
REFIT_IN_PLACE(t_)
REFIT_IN_PLACE(squeeze_)
Tensor& squeeze_(int64_t dim) const;
Tensor& unsqueeze_(int64_t dim) const;
Tensor& transpose_(int64_t dim0, int64_t dim1) const;
Tensor& resize_(IntArrayRef size) const;
Tensor& requires_grad_(bool requires_grad = true) const;
const Tensor& set_requires_grad(bool requires_grad) const;
REFIT_COMPARISON(remainder)
REFIT_COMPARISON(fmod)
Tensor lt(const Tensor& other) const;
Tensor le(const Tensor& other) const;
Tensor gt(const Tensor& other) const;
Tensor ge(const Tensor& other) const;
Tensor eq(const Tensor& other) const;
Tensor ne(const Tensor& other) const;
Tensor logical_and(const Tensor& other) const;
Tensor logical_or(const Tensor& other) const;
Tensor logical_xor(const Tensor& other) const;
Tensor bitwise_and(const Tensor& other) const;
Tensor bitwise_not() const;
Tensor bitwise_or(const Tensor& other) const;
Tensor maximum(const Tensor& other) const;
Tensor minimum(const Tensor& other) const;
Tensor floor_divide(const Tensor& other) const;
Tensor floor_divide(const Scalar& other) const;
Tensor true_divide(const Tensor& other) const;
Tensor true_divide(const Scalar& other) const;
Tensor div(const Tensor& other, optional<std::string_view> rounding_mode) const;
Tensor div(const Scalar& other, optional<std::string_view> rounding_mode) const;
Tensor& sub_(const Scalar& other, const Scalar& alpha = 1) const;
Tensor& pow_(const Scalar& exponent) const;
Tensor& addcmul_(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1) const;
Tensor& addcdiv_(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1) const;
Tensor addcmul(const Tensor& tensor1, const Tensor& tensor2, const Scalar& value = 1) const;
Tensor lerp(const Tensor& end, const Scalar& weight) const;
Tensor lerp(const Tensor& end, const Tensor& weight) const;
Tensor& lerp_(const Tensor& end, const Scalar& weight) const;
Tensor& clamp_(const optional<Scalar>& min, const optional<Scalar>& max = nullopt) const;
Tensor& clamp_min_(const Scalar& min) const;
Tensor& clamp_max_(const Scalar& max) const;
Tensor& masked_fill_(const Tensor& mask, const Scalar& value) const;
Tensor& masked_fill_(const Tensor& mask, const Tensor& value) const;
Tensor masked_fill(const Tensor& mask, const Tensor& value) const;
Tensor masked_select(const Tensor& mask) const;
Tensor& masked_scatter_(const Tensor& mask, const Tensor& source) const;
Tensor nan_to_num(optional<double> nan = nullopt, optional<double> posinf = nullopt,
                  optional<double> neginf = nullopt) const;
Tensor where(const Tensor& condition, const Tensor& other) const;
Tensor& normal_(double mean = 0, double std = 1) const;
Tensor& uniform_(double from = 0, double to = 1) const;
Tensor& random_() const;
Tensor& random_(int64_t from, optional<int64_t> to) const;
Tensor& bernoulli_(double p = 0.5) const;
Tensor bernoulli() const;
Tensor tril(int64_t diagonal = 0) const;
Tensor triu(int64_t diagonal = 0) const;
Tensor& tril_(int64_t diagonal = 0) const;
Tensor& triu_(int64_t diagonal = 0) const;

// Reductions and what orders.
Tensor all() const;
Tensor all(int64_t dim, bool keepdim = false) const;
Tensor any() const;
Tensor any(int64_t dim, bool keepdim = false) const;
Tensor min() const;
std::tuple<Tensor, Tensor> max(int64_t dim, bool keepdim = false) const;
std::tuple<Tensor, Tensor> min(int64_t dim, bool keepdim = false) const;
Tensor max(const Tensor& other) const;
Tensor min(const Tensor& other) const;
Tensor amin(IntArrayRef dim = {}, bool keepdim = false) const;
Tensor argmax(optional<int64_t> dim = nullopt, bool keepdim = false) const;
Tensor argmin(optional<int64_t> dim = nullopt, bool keepdim = false) const;
Tensor argsort(int64_t dim = -1, bool descending = false) const;
std::tuple<Tensor, Tensor> sort(int64_t dim = -1, bool descending = false) const;
std::tuple<Tensor, Tensor> topk(int64_t k, int64_t dim = -1, bool largest = true,
                                bool sorted = true) const;
Tensor cumsum(int64_t dim, optional<ScalarType> dtype = nullopt) const;
Tensor cumprod(int64_t dim, optional<ScalarType> dtype = nullopt) const;
Tensor prod(optional<ScalarType> dtype = nullopt) const;
Tensor prod(int64_t dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) const;
Tensor logsumexp(IntArrayRef dim, bool keepdim = false) const;
Tensor log_softmax(int64_t dim, optional<ScalarType> dtype = nullopt) const;
Tensor norm(const Scalar& p = 2) const;
Tensor norm(const optional<Scalar>& p, IntArrayRef dim, bool keepdim = false) const;
Tensor std(bool unbiased = true) const;
Tensor std(OptionalIntArrayRef dim, bool unbiased = true, bool keepdim = false) const;
Tensor var(bool unbiased = true) const;
Tensor var(OptionalIntArrayRef dim, bool unbiased = true, bool keepdim = false) const;
std::tuple<Tensor, Tensor> median(int64_t dim, bool keepdim = false) const;
Tensor median() const;
Tensor count_nonzero() const;
Tensor nonzero() const;
Tensor multinomial(int64_t num_samples, bool replacement = false) const;
bool equal(const Tensor& other) const;
bool allclose(const Tensor& other, double rtol = 1e-05, double atol = 1e-08,
              bool equal_nan = false) const;
Tensor isclose(const Tensor& other, double rtol = 1e-05, double atol = 1e-08,
               bool equal_nan = false) const;

// Products.
Tensor dot(const Tensor& tensor) const;
Tensor mv(const Tensor& vec) const;
Tensor outer(const Tensor& vec2) const;
Tensor addmm(const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
             const Scalar& alpha = 1) const;
Tensor baddbmm(const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1,
               const Scalar& alpha = 1) const;

// Shapes and parts.
Tensor mT() const;
Tensor movedim(IntArrayRef source, IntArrayRef destination) const;
Tensor flip(IntArrayRef dims) const;
Tensor roll(IntArrayRef shifts, IntArrayRef dims = {}) const;
Tensor tile(IntArrayRef dims) const;
Tensor squeeze(IntArrayRef dim) const;
Tensor repeat_interleave(const Tensor& repeats, optional<int64_t> dim = nullopt) const;
Tensor unfold(int64_t dimension, int64_t size, int64_t step) const;
Tensor diagonal(int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) const;
Tensor diag(int64_t diagonal = 0) const;
Tensor as_strided(IntArrayRef size, IntArrayRef stride) const;
Tensor view(ScalarType dtype) const;
Tensor gather(int64_t dim, const Tensor& index) const;
Tensor scatter(int64_t dim, const Tensor& index, const Tensor& src) const;
Tensor& scatter_(int64_t dim, const Tensor& index, const Tensor& src) const;
Tensor& scatter_(int64_t dim, const Tensor& index, const Scalar& value) const;
Tensor& scatter_add_(int64_t dim, const Tensor& index, const Tensor& src) const;
Tensor index(const std::vector<indexing::TensorIndex>& indices) const;
Tensor& index_put_(const std::vector<indexing::TensorIndex>& indices, const Tensor& rhs);
Tensor& index_copy_(int64_t dim, const Tensor& index, const Tensor& source) const;
Tensor& index_add_(int64_t dim, const Tensor& index, const Tensor& source) const;
Tensor& index_fill_(int64_t dim, const Tensor& index, const Scalar& value) const;
Tensor new_zeros(IntArrayRef size, TensorOptions options = {}) const;
Tensor new_ones(IntArrayRef size, TensorOptions options = {}) const;
Tensor new_empty(IntArrayRef size, TensorOptions options = {}) const;
Tensor new_full(IntArrayRef size, const Scalar& fill_value, TensorOptions options = {}) const;
Tensor toType(ScalarType dtype) const;
Tensor data() const;
Tensor tensor_data() const;
Tensor variable_data() const;
const Tensor& grad() const;
Tensor& mutable_grad() const;
void set_data(const Tensor& new_data) const;
void reset();
bool is_leaf() const;
bool is_same(const Tensor& other) const;
bool is_cpu() const;
bool is_mps() const;
bool is_sparse() const;
bool is_complex() const;
bool has_storage() const;
int64_t ndimension() const;
int64_t element_size() const;
int64_t itemsize() const;
size_t nbytes() const;
int64_t storage_offset() const;
int64_t get_device() const;
std::string toString() const;
Tensor pin_memory() const;
template <typename T>
const T* const_data_ptr() const;
template <typename T>
T* mutable_data_ptr() const;
void* data_ptr() const;

#undef REFIT_UNARY
#undef REFIT_IN_PLACE
#undef REFIT_COMPARISON
