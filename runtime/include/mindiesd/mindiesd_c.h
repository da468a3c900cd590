/* The C interface of libmindiesd: attention, rotary embedding, norms, guarded softmax and
 * activations over tensors that the caller owns. mindiesd.h wraps it for C++.
 *
 * Every function returns a status; mindiesd_last_error() then says what was expected and what was
 * found. No function allocates a result: outputs are given, and must not share memory with an input
 * (where a function says so, an output may be the same view as an input). Work on a CPU is
 * complete on return; work on a device is put on `stream` (a cudaStream_t there, ignored on the
 * CPU). Functions may be called from several threads at once.
 *
 * Stability: enumerators keep their values, mindiesd_tensor keeps its layout, and argument structs
 * only grow at their end. A caller sets struct_size to the size of the struct it was compiled with;
 * fields beyond it are taken as zero, which always means "as before".
 */

#ifndef MINDIESD_MINDIESD_C_H_
#define MINDIESD_MINDIESD_C_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MINDIESD_EXPORT __attribute__((visibility("default")))
#else
#define MINDIESD_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It grows when functions, fields or enumerators are added. */
#define MINDIESD_ABI_VERSION 5

typedef enum mindiesd_status {
  MINDIESD_OK = 0,
  MINDIESD_INVALID_ARGUMENT = 1, /* the message names the argument */
  MINDIESD_UNSUPPORTED = 2,      /* valid, but this build has no kernel for it */
  MINDIESD_OUT_OF_MEMORY = 3,
  MINDIESD_INTERNAL = 4
} mindiesd_status;

typedef enum mindiesd_dtype {
  MINDIESD_FLOAT32 = 0,
  MINDIESD_FLOAT16 = 1,
  MINDIESD_BFLOAT16 = 2,
  MINDIESD_BOOL = 3, /* one byte, zero or not */
  MINDIESD_INT32 = 4,
  MINDIESD_INT64 = 5,
  MINDIESD_FLOAT64 = 6, /* the tables of rotations alone */
  MINDIESD_INT8 = 7     /* the weight of mindiesd_int8_linear alone */
} mindiesd_dtype;

/* DLPack's device types. */
typedef enum mindiesd_device_type { MINDIESD_CPU = 1, MINDIESD_CUDA = 2 } mindiesd_device_type;

#define MINDIESD_MAX_NDIM 9

/* A tensor that somebody else owns. Sizes and strides count elements; strides may be NULL for dense
 * row-major. A stride of 0 repeats the element. */
typedef struct mindiesd_tensor {
  void* data;
  const int64_t* sizes;
  const int64_t* strides;
  int32_t ndim;
  int32_t dtype;       /* mindiesd_dtype */
  int32_t device_type; /* mindiesd_device_type */
  int32_t device_id;
} mindiesd_tensor;

typedef enum mindiesd_layout {
  MINDIESD_BSND = 0, /* batch, sequence, heads, head_dim */
  MINDIESD_BNSD = 1  /* batch, heads, sequence, head_dim */
} mindiesd_layout;

typedef enum mindiesd_causal {
  MINDIESD_CAUSAL_NONE = 0,
  MINDIESD_CAUSAL_TOP_LEFT = 1,    /* query i sees keys 0 to i (torch's is_causal) */
  MINDIESD_CAUSAL_BOTTOM_RIGHT = 2 /* the last query sees the last key (flash-attn's causal) */
} mindiesd_causal;

/* softmax(scale * query key^T + bias) value.
 * query [B, Sq, Hq, D], key [B, Sk, Hk, D], value [B, Sk, Hk, Dv], output [B, Sq, Hq, Dv] (or heads
 * before sequence, by `layout`): one of float32, float16, bfloat16, each with a dense last
 * dimension. Hq is a multiple of Hk; key and value may have batch 1. Computed in float32. mask:
 * NULL or broadcastable to [B, Hq, Sq, Sk]; bool (true keeps) or a floating type (added).
 * alibi_slopes: NULL or float32 [Hq] or [B, Hq]; -slope * |i + Sk - Sq - j| is added.
 * softcap > 0: scores become softcap * tanh(score / softcap), before slopes and mask.
 * window_left, window_right: query i sees keys i + Sk - Sq - left to i + Sk - Sq + right; negative:
 * unbounded. Slopes, softcap and window follow flash_attn_func of flash-attn.
 * A query that sees no key gives zeros.
 * lse: NULL or float32 [B, Hq, Sq], any strides: receives log(sum(exp(scores))) of each query over
 * the keys that it sees, -infinity where there is none. Dv may not be 0 then. */
typedef struct mindiesd_attention_args {
  size_t struct_size;
  const mindiesd_tensor* query;
  const mindiesd_tensor* key;
  const mindiesd_tensor* value;
  const mindiesd_tensor* output;
  const mindiesd_tensor* mask;
  const mindiesd_tensor* alibi_slopes;
  double scale;
  double softcap;
  int64_t window_left;
  int64_t window_right;
  int32_t layout; /* mindiesd_layout */
  int32_t causal; /* mindiesd_causal */
  void* stream;
  int32_t backend;  /* 0: the library chooses; k > 0: back end number k, below */
  int32_t reserved; /* zero */
  const mindiesd_tensor* lse;
} mindiesd_attention_args;

MINDIESD_EXPORT mindiesd_status mindiesd_attention(const mindiesd_attention_args* args);

/* The back ends of a device are numbered from 1 in the order in which the library prefers them. The
 * name of number `backend`; NULL beyond the last. */
MINDIESD_EXPORT const char* mindiesd_attention_backend_name(int32_t device_type, int32_t backend);

/* Whether `args->backend` (not 0) computes this problem: 1, 0, or -1 where args are invalid (see
 * mindiesd_last_error). Launches nothing. */
MINDIESD_EXPORT int32_t mindiesd_attention_supported(const mindiesd_attention_args* args);

/* Attention over packed sequences: query [Tq, Hq, D], key [Tk, Hk, D], value [Tk, Hk, Dv], output
 * [Tq, Hq, Dv]; sequence s owns tokens cu_seqlens[s] to cu_seqlens[s + 1]. cu_seqlens_query and
 * cu_seqlens_key: dense int32 or int64 [sequences + 1], not decreasing, from >= 0 to <= T.
 * Output rows of no sequence are zeros. Slopes are [Hq] or [sequences, Hq]. The rest as above, with
 * each sequence's own lengths. */
typedef struct mindiesd_attention_varlen_args {
  size_t struct_size;
  const mindiesd_tensor* query;
  const mindiesd_tensor* key;
  const mindiesd_tensor* value;
  const mindiesd_tensor* output;
  const mindiesd_tensor* cu_seqlens_query;
  const mindiesd_tensor* cu_seqlens_key;
  const mindiesd_tensor* alibi_slopes;
  double scale;
  double softcap;
  int64_t window_left;
  int64_t window_right;
  int32_t causal;   /* mindiesd_causal */
  int32_t reserved; /* zero */
  void* stream;
  const mindiesd_tensor* lse;
} mindiesd_attention_varlen_args;

MINDIESD_EXPORT mindiesd_status
mindiesd_attention_varlen(const mindiesd_attention_varlen_args* args);

typedef enum mindiesd_rotation {
  MINDIESD_ROTATED_HALF = 0,       /* pairs (x[j], x[j + D/2]) */
  MINDIESD_ROTATED_INTERLEAVED = 1 /* pairs (x[2j], x[2j + 1]) */
} mindiesd_rotation;

/* output = input * cos + rotate(input) * sin along the last dimension D (even), where rotate maps a
 * pair (a, b) to (-b, a). cos and sin broadcast to input by its trailing dimensions; their last
 * dimension is D, or D/2 with one value for each pair. sin may be NULL: cos is then a table of 2x2
 * matrices [..., D/2, 2, 2] by which neighbours are multiplied as column vectors; rotation must be
 * MINDIESD_ROTATED_INTERLEAVED. Any floating types and strides, of cos and sin MINDIESD_FLOAT64
 * too, which counts as float32; computed in float32, rounded to output's type. Output may be the
 * same view as input. */
typedef struct mindiesd_rotary_args {
  size_t struct_size;
  const mindiesd_tensor* input;
  const mindiesd_tensor* cos;
  const mindiesd_tensor* sin;
  const mindiesd_tensor* output;
  int32_t rotation; /* mindiesd_rotation */
  int32_t reserved; /* zero */
  void* stream;
} mindiesd_rotary_args;

MINDIESD_EXPORT mindiesd_status mindiesd_rotary(const mindiesd_rotary_args* args);

typedef enum mindiesd_qk_norm {
  MINDIESD_QK_NORM_NONE = 0,
  MINDIESD_QK_NORM_HEAD = 1, /* over each row of D values */
  MINDIESD_QK_NORM_ALL = 2   /* over the rows of `head_dimension` together */
} mindiesd_qk_norm;

/* Query and key rotated in one launch, each after an RMSNorm where `norm` says so: over D values
 * with weights [D], or over all heads of a position with weights [heads * D]; weights may be NULL.
 * cos and sin as mindiesd_rotary, broadcasting to query and to key. key and key_output may be NULL
 * together. head_dimension: which dimension of query and key counts heads (negative from the end;
 * read for MINDIESD_QK_NORM_ALL). Not rounded between norm and rotation. An output may be the same
 * view as its input. */
typedef struct mindiesd_rotary_qk_args {
  size_t struct_size;
  const mindiesd_tensor* query;
  const mindiesd_tensor* key;
  const mindiesd_tensor* query_weight;
  const mindiesd_tensor* key_weight;
  const mindiesd_tensor* cos;
  const mindiesd_tensor* sin;
  const mindiesd_tensor* query_output;
  const mindiesd_tensor* key_output;
  double eps;
  int32_t rotation; /* mindiesd_rotation */
  int32_t norm;     /* mindiesd_qk_norm */
  int32_t head_dimension;
  int32_t reserved; /* zero */
  void* stream;
} mindiesd_rotary_qk_args;

MINDIESD_EXPORT mindiesd_status mindiesd_rotary_qk(const mindiesd_rotary_qk_args* args);

typedef enum mindiesd_norm_kind {
  MINDIESD_LAYER_NORM = 0,
  MINDIESD_RMS_NORM = 1
} mindiesd_norm_kind;

/* The heads of two streams, such as image and text, into the joint tensors of attention: queries
 * and keys, each after a norm and a rotation where it has them, values as they are. One launch on a
 * GPU, or one for each part where a norm goes over all heads or vectors do not read the operands.
 * Arrays are indexed by stream and by part (query, key, value). inputs[s][p]: [..., D] of one rank,
 * of one shape but for sequence_dimension, along which outputs[p] holds the first stream and behind
 * it the other. norms[s][p] (mindiesd_qk_norm): the norm of `kind` over D values or all heads of a
 * position, y = norm(x) * weight + bias with eps[s][p], weights and biases [D] or [heads * D] or
 * NULL. cos[s] and sin[s]: as mindiesd_rotary, broadcasting to query and key of stream s; cos[s]
 * NULL: that stream does not rotate. Any floating types and strides; computed in float32, not
 * rounded between norm and rotation. Outputs share no memory with each other or with what is read.
 * sequence_dimension and head_dimension: negative from the end. */
typedef struct mindiesd_joint_heads_args {
  size_t struct_size;
  const mindiesd_tensor* inputs[2][3];
  const mindiesd_tensor* weights[2][2];
  const mindiesd_tensor* biases[2][2];
  const mindiesd_tensor* cos[2];
  const mindiesd_tensor* sin[2];
  const mindiesd_tensor* outputs[3];
  double eps[2][2];
  int32_t norms[2][2]; /* mindiesd_qk_norm */
  int32_t kind;        /* mindiesd_norm_kind */
  int32_t rotation;    /* mindiesd_rotation */
  int32_t sequence_dimension;
  int32_t head_dimension;
  void* stream;
} mindiesd_joint_heads_args;

MINDIESD_EXPORT mindiesd_status mindiesd_joint_heads(const mindiesd_joint_heads_args* args);

/* Neighbours of input [B, S, N, D] turned by the place of their token in a grid, as rope_apply of
 * Wan has it. The first f * h * w tokens of sample b, (f, h, w) being grid_sizes[b], are the cells
 * of a grid of f frames, h rows and w columns, columns innermost; the tokens behind them are
 * copied. Pair (x[2j], x[2j + 1]) is multiplied as a complex number by table[place, j], place being
 * the frame for the first frame_pairs pairs, the row for the next row_pairs, and the column for the
 * others. table [P, D/2, 2] of cosines and sines, float32 or MINDIESD_FLOAT64 (which counts as
 * float32), with dense rows; grid_sizes int64 [B, 3], dense and on the CPU whatever the device.
 * input and output have any floating types and a dense last dimension; computed in float32. Output
 * shares no memory with the others. MINDIESD_UNSUPPORTED on CUDA devices where rows are no vectors
 * of 16 bytes or have more than 512 values, or output is neither of input's type nor float32. */
typedef struct mindiesd_rotary_grid_args {
  size_t struct_size;
  const mindiesd_tensor* input;
  const mindiesd_tensor* table;
  const mindiesd_tensor* grid_sizes;
  const mindiesd_tensor* output;
  int64_t frame_pairs;
  int64_t row_pairs;
  void* stream;
} mindiesd_rotary_grid_args;

MINDIESD_EXPORT mindiesd_status mindiesd_rotary_grid(const mindiesd_rotary_grid_args* args);

/* y = input / sqrt(mean(input^2) + eps) over the last dimension D; output = weight * y + bias.
 * weight, bias: NULL or floating [D]. y is rounded to normalized_dtype before it meets the weight,
 * weight * y to product_dtype before the bias (MINDIESD_FLOAT32: not rounded). Output may be the
 * same view as input. */
typedef struct mindiesd_rms_norm_args {
  size_t struct_size;
  const mindiesd_tensor* input;
  const mindiesd_tensor* weight;
  const mindiesd_tensor* bias;
  const mindiesd_tensor* output;
  double eps;
  int32_t normalized_dtype;
  int32_t product_dtype;
  void* stream;
} mindiesd_rms_norm_args;

MINDIESD_EXPORT mindiesd_status mindiesd_rms_norm(const mindiesd_rms_norm_args* args);

typedef enum mindiesd_gate_function {
  MINDIESD_GATE_ITSELF = 0,
  MINDIESD_GATE_TANH = 1 /* tanh(gate) stands for the gate */
} mindiesd_gate_function;

/* sum = input + gate * branch, y = norm(sum) * weight + bias, output = y * (1 + scale) + shift over
 * the last dimension D. Everything but input and output may be NULL; `sum` needs branch, gate needs
 * branch, and without an output only the sum is computed, which then must be given. branch and sum
 * have input's shape; gate, scale and shift broadcast to it by its trailing dimensions; weight and
 * bias are [D]. LayerNorm takes the variance of the population. With branch_norm the branch is
 * normalised first, branch / sqrt(mean(branch^2) + branch_eps) * branch_weight, branch_weight [D]
 * or NULL. Each operand has a floating type of its own; computed in float32, rounded where a result
 * is stored. Outputs may each be the same view as input or branch, but not as each other. */
typedef struct mindiesd_fused_norm_args {
  size_t struct_size;
  const mindiesd_tensor* input;
  const mindiesd_tensor* branch;
  const mindiesd_tensor* gate;
  const mindiesd_tensor* weight;
  const mindiesd_tensor* bias;
  const mindiesd_tensor* scale;
  const mindiesd_tensor* shift;
  const mindiesd_tensor* sum;
  const mindiesd_tensor* output;
  double eps;
  int32_t kind;     /* mindiesd_norm_kind */
  int32_t reserved; /* zero */
  void* stream;
  const mindiesd_tensor* branch_weight;
  double branch_eps;
  int32_t branch_norm;   /* 0 or 1 */
  int32_t gate_function; /* mindiesd_gate_function */
} mindiesd_fused_norm_args;

MINDIESD_EXPORT mindiesd_status mindiesd_fused_norm(const mindiesd_fused_norm_args* args);

typedef enum mindiesd_activation_kind {
  MINDIESD_GELU = 0,      /* with erf */
  MINDIESD_GELU_TANH = 1, /* its approximation with tanh */
  MINDIESD_GELU_FAST = 2, /* x sigmoid(1.702 x) */
  MINDIESD_SILU = 3,
  MINDIESD_MISH = 4,
  MINDIESD_RELU = 5
} mindiesd_activation_kind;

/* In the place of a mindiesd_activation_kind, where a function says so. */
#define MINDIESD_NO_ACTIVATION (-1)

/* output = activation(input), or input * activation(gate) where gate is not NULL. All of one shape;
 * any floating types and strides. Output may be the same view as input or gate. */
typedef struct mindiesd_activation_args {
  size_t struct_size;
  const mindiesd_tensor* input;
  const mindiesd_tensor* gate;
  const mindiesd_tensor* output;
  int32_t activation; /* mindiesd_activation_kind */
  int32_t reserved;   /* zero */
  void* stream;
} mindiesd_activation_args;

MINDIESD_EXPORT mindiesd_status mindiesd_activation(const mindiesd_activation_args* args);

/* y = (x - mean(x)) / sqrt(variance(x) + eps) * weight + bias over each of `groups` groups of the
 * channels of input [N, C, ...], with all their positions; output = y, or y sigmoid(y) with the
 * activation MINDIESD_SILU. The variance is that of the population. weight and bias: NULL or
 * floating [C]. Any floating types; computed in float32, not rounded before the activation. Output
 * may be the same view as input.
 * MINDIESD_UNSUPPORTED where the dimensions behind the channels do not merge into one, and on CUDA
 * devices where input and output neither both have each channel's positions behind each other nor
 * both the channels of each position, those in vectors of 16 bytes, or where output is neither of
 * input's type nor float32. */
typedef struct mindiesd_group_norm_args {
  size_t struct_size;
  const mindiesd_tensor* input;
  const mindiesd_tensor* weight;
  const mindiesd_tensor* bias;
  const mindiesd_tensor* output;
  double eps;
  int64_t groups;
  int32_t activation; /* MINDIESD_NO_ACTIVATION or MINDIESD_SILU */
  int32_t reserved;   /* zero */
  void* stream;
} mindiesd_group_norm_args;

MINDIESD_EXPORT mindiesd_status mindiesd_group_norm(const mindiesd_group_norm_args* args);

/* output = scale * (weights[0] * terms[0] + weights[1] * terms[1] + ...): a linear combination of
 * one to MINDIESD_MAX_TERMS tensors, the rest of `terms` being NULL. All of one floating type and
 * one shape; the sum is float32 and only the result is rounded. Output may be the same view as a
 * term. MINDIESD_UNSUPPORTED where they do not all lie in one order of dimensions, without gaps. */
#define MINDIESD_MAX_TERMS 8
typedef struct mindiesd_weighted_sum_args {
  size_t struct_size;
  const mindiesd_tensor* terms[MINDIESD_MAX_TERMS];
  const mindiesd_tensor* output;
  double weights[MINDIESD_MAX_TERMS];
  double scale;
  void* stream;
} mindiesd_weighted_sum_args;

MINDIESD_EXPORT mindiesd_status mindiesd_weighted_sum(const mindiesd_weighted_sum_args* args);

/* output[n, c, h, w] = input[n, c, h / 2, w / 2]: images [N, C, H, W] of twice the height and
 * width, by the nearest place. Both of one floating type. MINDIESD_UNSUPPORTED where they are not
 * both dense, or both channels last. */
typedef struct mindiesd_upsample_nearest2x_args {
  size_t struct_size;
  const mindiesd_tensor* input;
  const mindiesd_tensor* output;
  void* stream;
} mindiesd_upsample_nearest2x_args;

MINDIESD_EXPORT mindiesd_status
mindiesd_upsample_nearest2x(const mindiesd_upsample_nearest2x_args* args);

/* output = activation(input weight^T + bias): a linear layer and the activation behind it. input
 * [..., K], weight [N, K], output [..., N], of one floating type; bias NULL or floating [N]. Sums
 * are float32 and only the result is rounded. output may be a slice of a wider tensor; it shares no
 * memory with the others.
 * Computed by the epilogue of a matrix product of cuBLASLt 12.0 or newer, which is looked for at
 * run time, on CUDA devices: MINDIESD_GELU_TANH, float16 or bfloat16, with a bias of that type,
 * where leading dimensions merge into one and sizes, strides and addresses are multiples of 16
 * bytes. Everything else is MINDIESD_UNSUPPORTED: a matrix product and mindiesd_activation compute
 * it. */
typedef struct mindiesd_linear_activation_args {
  size_t struct_size;
  const mindiesd_tensor* input;
  const mindiesd_tensor* weight;
  const mindiesd_tensor* bias;
  const mindiesd_tensor* output;
  int32_t activation; /* mindiesd_activation_kind */
  int32_t reserved;   /* zero */
  void* stream;
} mindiesd_linear_activation_args;

MINDIESD_EXPORT mindiesd_status
mindiesd_linear_activation(const mindiesd_linear_activation_args* args);

/* output[..., n] = scales[n] * sum over k of input[..., k] weight[n, k] + bias[n]: a linear layer
 * whose weight is int8 with one scale for each output. input [..., K] floating, weight [N, K]
 * MINDIESD_INT8, scales [N] float32, bias NULL or [N] floating, output [..., N] of input's type.
 * Sums are float32 and only the result is rounded; from run to run the results are the same. output
 * may be a slice of a wider tensor; it shares no memory with the others.
 * Computed for up to 16 rows of input, where reading the weight is what a product costs, with dense
 * rows whose leading dimensions merge into one and a bias of input's type; on CUDA devices float16
 * and bfloat16, K a multiple of 16, input and weight with rows at multiples of 16 bytes. Everything
 * else is MINDIESD_UNSUPPORTED: a matrix product with a widened weight computes it. */
typedef struct mindiesd_int8_linear_args {
  size_t struct_size;
  const mindiesd_tensor* input;
  const mindiesd_tensor* weight;
  const mindiesd_tensor* scales;
  const mindiesd_tensor* bias;
  const mindiesd_tensor* output;
  void* stream;
} mindiesd_int8_linear_args;

MINDIESD_EXPORT mindiesd_status mindiesd_int8_linear(const mindiesd_int8_linear_args* args);

typedef enum mindiesd_subtract {
  MINDIESD_SUBTRACT_NONE = 0,
  MINDIESD_SUBTRACT_ROW = 1,   /* the maximum along dim */
  MINDIESD_SUBTRACT_GLOBAL = 2 /* the maximum of the whole tensor */
} mindiesd_subtract;

/* Softmax along `dim` (negative counts from the end) after scale * input + bias, subtraction of a
 * maximum, clamp, mask, in this order. bias: NULL or floating, broadcastable to input. mask: NULL
 * or broadcastable to input by its trailing dimensions; bool (false becomes mask_value) or floating
 * (added). A row that is -inf throughout gives NaN. */
typedef struct mindiesd_softmax_args {
  size_t struct_size;
  const mindiesd_tensor* input;
  const mindiesd_tensor* mask;
  const mindiesd_tensor* output;
  double mask_value;
  double clamp_min;
  double clamp_max;
  int32_t has_clamp_min;
  int32_t has_clamp_max;
  int32_t subtract; /* mindiesd_subtract */
  int32_t dim;
  void* stream;
  double scale; /* 0 is read as 1 */
  const mindiesd_tensor* bias;
} mindiesd_softmax_args;

MINDIESD_EXPORT mindiesd_status mindiesd_softmax(const mindiesd_softmax_args* args);

/* What went wrong in this thread's last call that failed; "" if none did. Valid until the next. */
MINDIESD_EXPORT const char* mindiesd_last_error(void);

/* "0.1.0", and the MINDIESD_ABI_VERSION that the library was built with. */
MINDIESD_EXPORT const char* mindiesd_version(void);
MINDIESD_EXPORT int32_t mindiesd_abi_version(void);

/* 1 if this build has kernels for the device type, else 0. */
MINDIESD_EXPORT int32_t mindiesd_has_device(int32_t device_type);

/* Threads of the CPU kernels, the caller included. 0 restores the default: MINDIESD_NUM_THREADS,
 * else the processors that the process may run on. */
MINDIESD_EXPORT void mindiesd_set_num_threads(int32_t threads);
MINDIESD_EXPORT int32_t mindiesd_num_threads(void);

/* The instruction set that the CPU kernels use: "baseline", "avx2" or "avx512". */
MINDIESD_EXPORT const char* mindiesd_cpu_isa(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* MINDIESD_MINDIESD_C_H_ */
