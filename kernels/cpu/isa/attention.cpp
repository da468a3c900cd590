// Attention on the CPU: blocks of queries against blocks of keys with the running softmax of
// FlashAttention (arXiv 2205.14135, algorithm 1). Entry points: attention, attention_varlen.
//
// A block of scores is kept transposed, keys by queries: the row maximum and sum of every query are
// then vertical vector operations, and keys need no transposition (queries are transposed once).
// Everything is float32 from the loads to the stores. 4 * batch * heads * query_length * key_length
// * head_dim operations; keys and values are read once for every kQueryBlock queries.

#include <new>

#include "kernels/cpu/isa/gemm.h"
#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/simd.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {
namespace {

constexpr int64_t kQueryBlock = 64;
constexpr int64_t kKeyBlock = 128;
constexpr int64_t kUnbounded = int64_t{1} << 60;

// Query i sees keys i + lower to i + upper.
struct Band {
  int64_t lower = -kUnbounded;
  int64_t upper = kUnbounded;
};

Band band_of(const Attention& p) {
  const int64_t aligned = p.key_length - p.query_length;  // flash-attn aligns the last ones
  Band band;
  if (p.causal == CausalAlignment::kTopLeft) band.upper = 0;
  if (p.causal == CausalAlignment::kBottomRight) band.upper = aligned;
  if (p.window_right >= 0) band.upper = min_of(band.upper, aligned + p.window_right);
  if (p.window_left >= 0) band.lower = aligned - p.window_left;
  return band;
}

// The work space of one block: queries [first, first + queries) of one head of one batch entry.
class Block {
 public:
  Block(const Attention& problem, int64_t batch, int64_t head, int64_t first)
      : p_(problem), batch_(batch), head_(head), first_(first) {
    queries_ = min_of(kQueryBlock, p_.query_length - first);
    padded_queries_ = round_up(queries_, kLanes);
    padded_values_ = round_up(p_.value_dim, kLanes);
    const int64_t key_head = head / (p_.query_heads / p_.key_heads);
    key_ = at(p_.key, p_.type, batch * p_.key_strides[0] + key_head * p_.key_strides[1]);
    value_ = at(p_.value, p_.type, batch * p_.value_strides[0] + key_head * p_.value_strides[1]);
    band_ = band_of(p_);
  }

  bool allocate() {
    const int64_t width = padded_queries_;
    const struct {
      float** place;
      int64_t floats;
    } parts[] = {
        {&query_t_, p_.head_dim * width},
        {&scores_, kKeyBlock * width},
        {&keys_, kKeyBlock * p_.head_dim},
        {&values_, kKeyBlock * padded_values_},
        {&sums_, width * padded_values_},
        {&stats_, 6 * width},
        {&row_, kKeyBlock},
        {&query_row_, p_.head_dim},
        {&mask_t_, p_.mask == nullptr ? 0 : kKeyBlock * width},
    };
    int64_t total = 0;
    for (const auto& part : parts) total += round_up(part.floats, 16);
    float* memory = scratch(ScratchSlot::kKernel, static_cast<size_t>(total));
    if (memory == nullptr) return false;
    for (const auto& part : parts) {
      *part.place = memory;
      memory += round_up(part.floats, 16);
    }
    return true;
  }

  void run() {
    load_queries();
    float* largest = stats_;
    double* total = reinterpret_cast<double*>(stats_ + 4 * padded_queries_);
    for (int64_t r = 0; r < padded_queries_; ++r) largest[r] = -kInfinity;
    for (int64_t r = 0; r < padded_queries_; ++r) total[r] = 0.0;
    for (int64_t i = 0; i < padded_queries_ * padded_values_; ++i) sums_[i] = 0.0F;

    const int64_t begin = max_of(0, first_ + band_.lower);
    const int64_t end = min_of(p_.key_length, first_ + queries_ - 1 + band_.upper + 1);
    for (int64_t start = begin; start < end; start += kKeyBlock) {
      const int64_t keys = min_of(kKeyBlock, end - start);
      score(start, keys);
      if (p_.softcap > 0.0F) cap(keys);
      if (p_.alibi_slopes != nullptr) add_alibi(start, keys);
      if (p_.mask != nullptr) apply_mask(start, keys);
      apply_band(start, keys);
      exponentiate(keys, largest, total);
      accumulate(start, keys);
    }
    store(total);
    if (p_.lse != nullptr) store_lse(largest, total);
  }

 private:
  void load_queries() {
    const int64_t offset = batch_ * p_.query_strides[0] + head_ * p_.query_strides[1];
    for (int64_t r = 0; r < padded_queries_; ++r) {
      if (r < queries_) {
        load_row(query_row_, at(p_.query, p_.type, offset + (first_ + r) * p_.query_strides[2]),
                 p_.type, 1, p_.head_dim);
      }
      for (int64_t d = 0; d < p_.head_dim; ++d) {
        query_t_[d * padded_queries_ + r] = r < queries_ ? query_row_[d] : 0.0F;
      }
    }
  }

  // scores_[j, r] = scale * <key start + j, query first_ + r>
  void score(int64_t start, int64_t keys) {
    const float* rows = keys_;
    int64_t row_stride = p_.head_dim;
    const void* source = at(key_, p_.type, start * p_.key_strides[2]);
    if (p_.type == DataType::kFloat32) {
      rows = static_cast<const float*>(source);
      row_stride = p_.key_strides[2];
    } else {
      for (int64_t j = 0; j < keys; ++j) {
        load_row(keys_ + j * p_.head_dim, at(source, p_.type, j * p_.key_strides[2]), p_.type, 1,
                 p_.head_dim);
      }
    }
    multiply({rows, row_stride, 1, query_t_, padded_queries_, scores_, padded_queries_, p_.head_dim,
              false},
             keys, padded_queries_);
    // The scale waits for the first step that can fuse it with an addition, so that scores are
    // rounded once less. It must not wait where it could turn -inf into something else.
    pending_scale_ = p_.scale;
    if (!(p_.scale > 0.0F)) apply_scale(keys);
  }

  void apply_scale(int64_t keys) {
    const int64_t count = keys * padded_queries_;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) scores_[i] *= pending_scale_;
    pending_scale_ = 1.0F;
  }

  void cap(int64_t keys) {
    apply_scale(keys);
    for (int64_t i = 0; i < keys * padded_queries_; ++i) {
      scores_[i] = p_.softcap * __builtin_tanhf(scores_[i] / p_.softcap);
    }
  }

  void add_alibi(int64_t start, int64_t keys) {
    apply_scale(keys);
    const float slope = p_.alibi_slopes[batch_ * p_.alibi_strides[0] + head_ * p_.alibi_strides[1]];
    const int64_t aligned = p_.key_length - p_.query_length;
    for (int64_t j = 0; j < keys; ++j) {
      for (int64_t r = 0; r < queries_; ++r) {
        const int64_t distance = first_ + r + aligned - (start + j);
        scores_[j * padded_queries_ + r] -=
            slope * static_cast<float>(distance < 0 ? -distance : distance);
      }
    }
  }

  void apply_mask(int64_t start, int64_t keys) {
    const int64_t width = padded_queries_;
    const int64_t offset = batch_ * p_.mask_strides[0] + head_ * p_.mask_strides[1] +
                           first_ * p_.mask_strides[2] + start * p_.mask_strides[3];
    const bool same_for_all = p_.mask_strides[2] == 0;
    const int64_t rows = same_for_all ? 1 : queries_;
    // Transposed like the scores; the columns of padding hold zeros.
    for (int64_t r = 0; r < rows; ++r) {
      load_row(row_, at(p_.mask, p_.mask_type, offset + r * p_.mask_strides[2]), p_.mask_type,
               p_.mask_strides[3], keys);
      if (same_for_all) break;
      for (int64_t j = 0; j < keys; ++j) mask_t_[j * width + r] = row_[j];
    }
    for (int64_t j = 0; j < keys; ++j) {
      float* mask = mask_t_ + j * width;
      if (same_for_all) {
        for (int64_t r = 0; r < width; ++r) mask[r] = row_[j];
      } else {
        for (int64_t r = queries_; r < width; ++r) mask[r] = 0.0F;
      }
      float* scores = scores_ + j * width;
      if (p_.mask_type == DataType::kBool) {
#pragma omp simd
        for (int64_t r = 0; r < width; ++r) scores[r] = mask[r] != 0.0F ? scores[r] : -kInfinity;
      } else {
        const float scale = pending_scale_;
#pragma omp simd
        for (int64_t r = 0; r < width; ++r) scores[r] = scores[r] * scale + mask[r];
      }
    }
    if (p_.mask_type != DataType::kBool) pending_scale_ = 1.0F;
  }

  void apply_band(int64_t start, int64_t keys) {
    for (int64_t j = 0; j < keys; ++j) {
      // Key start + j is seen by queries from (start + j - upper) to (start + j - lower).
      const int64_t from = min_of(queries_, max_of(0, start + j - band_.upper - first_));
      const int64_t to = max_of(from, min_of(queries_, start + j - band_.lower - first_ + 1));
      float* scores = scores_ + j * padded_queries_;
      for (int64_t r = 0; r < from; ++r) scores[r] = -kInfinity;
      for (int64_t r = to; r < queries_; ++r) scores[r] = -kInfinity;
    }
  }

  // Scores become weights relative to the largest score so far; what was summed before is rescaled.
  // A NaN loses every comparison for the maximum and comes back through the exponential.
  void exponentiate(int64_t keys, float* largest, double* total) {
    const int64_t width = padded_queries_;
    const float scale = pending_scale_;  // positive, so that it keeps the order of scores
    float* shift = stats_ + width;
    for (int64_t r = 0; r < width; ++r) shift[r] = -kInfinity;
    for (int64_t j = 0; j < keys; ++j) {
      const float* scores = scores_ + j * width;
#pragma omp simd
      for (int64_t r = 0; r < width; ++r) shift[r] = scores[r] > shift[r] ? scores[r] : shift[r];
    }
#pragma omp simd
    for (int64_t r = 0; r < width; ++r) {
      const float now = shift[r] * scale;
      shift[r] = now > largest[r] ? now : largest[r];
    }
    for (int64_t r = 0; r < width; ++r) {
      const float now = shift[r];
      if (now == -kInfinity) shift[r] = 0.0F;  // no key yet: exp(-inf - 0) is 0, not NaN
      const float factor = largest[r] == shift[r] ? 1.0F : exp_of(largest[r] - shift[r]);
      largest[r] = now;
      if (factor == 1.0F) continue;
      total[r] *= static_cast<double>(factor);
      float* sums = sums_ + r * padded_values_;
      for (int64_t d = 0; d < padded_values_; ++d) sums[d] *= factor;
    }
    // Sums of sixteen in float32, the long one in double: every value of the row shares its error.
    float* part = stats_ + 2 * width;
    for (int64_t group = 0; group < keys; group += 16) {
      for (int64_t r = 0; r < width; ++r) part[r] = 0.0F;
      for (int64_t j = group; j < min_of(keys, group + 16); ++j) {
        float* scores = scores_ + j * width;
#pragma omp simd
        for (int64_t r = 0; r < width; ++r) {
          scores[r] = exp_of(scores[r] * scale - shift[r]);
          part[r] += scores[r];
        }
      }
      for (int64_t r = 0; r < width; ++r) total[r] += static_cast<double>(part[r]);
    }
  }

  // sums_[r, :] += sum over j of scores_[j, r] * value[start + j, :]
  void accumulate(int64_t start, int64_t keys) {
    const float* rows = values_;
    int64_t row_stride = padded_values_;
    const void* source = at(value_, p_.type, start * p_.value_strides[2]);
    if (p_.type == DataType::kFloat32 && padded_values_ == p_.value_dim) {
      rows = static_cast<const float*>(source);
      row_stride = p_.value_strides[2];
    } else {
      for (int64_t j = 0; j < keys; ++j) {
        float* row = values_ + j * padded_values_;
        load_row(row, at(source, p_.type, j * p_.value_strides[2]), p_.type, 1, p_.value_dim);
        for (int64_t d = p_.value_dim; d < padded_values_; ++d) row[d] = 0.0F;
      }
    }
    multiply({scores_, 1, padded_queries_, rows, row_stride, sums_, padded_values_, keys, true},
             queries_, padded_values_);
  }

  void store(const double* total) {
    const int64_t offset = batch_ * p_.output_strides[0] + head_ * p_.output_strides[1];
    for (int64_t r = 0; r < queries_; ++r) {
      float* sums = sums_ + r * padded_values_;
      const auto divisor = static_cast<float>(total[r]);
      if (divisor == 0.0F) {  // no key
        for (int64_t d = 0; d < p_.value_dim; ++d) sums[d] = 0.0F;
      } else {
        for (int64_t d = 0; d < p_.value_dim; ++d) sums[d] /= divisor;
      }
      store_row(at(p_.output, p_.type, offset + (first_ + r) * p_.output_strides[2]), sums, p_.type,
                1, p_.value_dim);
    }
  }

  void store_lse(const float* largest, const double* total) {
    float* const lse = p_.lse + batch_ * p_.lse_strides[0] + head_ * p_.lse_strides[1];
    for (int64_t r = 0; r < queries_; ++r) {
      // Without a key both are -infinity.
      const double sum = static_cast<double>(largest[r]) + __builtin_log(total[r]);
      lse[(first_ + r) * p_.lse_strides[2]] = static_cast<float>(sum);
    }
  }

  const Attention& p_;
  int64_t batch_, head_, first_;
  int64_t queries_, padded_queries_, padded_values_;
  const void* key_;
  const void* value_;
  Band band_;
  float *query_t_, *scores_, *keys_, *values_, *sums_, *stats_, *row_, *query_row_, *mask_t_;
  float pending_scale_ = 1.0F;
};

int64_t blocks_of(int64_t query_length) { return (query_length + kQueryBlock - 1) / kQueryBlock; }

int64_t cu_seqlen(const void* values, DataType type, int64_t index) {
  return type == DataType::kInt64 ? static_cast<const std::int64_t*>(values)[index]
                                  : static_cast<const std::int32_t*>(values)[index];
}

// Rows of the output that belong to no sequence.
void clear_rows(const Attention& p, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t) {
    for (int64_t h = 0; h < p.query_heads; ++h) {
      const int64_t offset = h * p.output_strides[1] + t * p.output_strides[2];
      std::memset(at(p.output, p.type, offset), 0,
                  static_cast<size_t>(p.value_dim) * size_of(p.type));
      if (p.lse != nullptr) p.lse[h * p.lse_strides[1] + t * p.lse_strides[2]] = -kInfinity;
    }
  }
}

}  // namespace

LaunchStatus attention(const Attention& problem) {
  const int64_t blocks = blocks_of(problem.query_length);
  OutOfMemory memory;
  parallel_for(problem.batch * problem.query_heads * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const int64_t head_index = task / blocks;
      Block block(problem, head_index / problem.query_heads, head_index % problem.query_heads,
                  task % blocks * kQueryBlock);
      if (!block.allocate()) return memory.set();
      block.run();
    }
  });
  return memory.status();
}

LaunchStatus attention_varlen(const VarlenAttention& varlen) {
  const Attention& whole = varlen.problem;
  const int64_t sequences = varlen.sequences;
  const auto query_start = [&](int64_t s) {
    return cu_seqlen(varlen.cu_seqlens_query, varlen.cu_seqlens_type, s);
  };
  const auto key_start = [&](int64_t s) {
    return cu_seqlen(varlen.cu_seqlens_key, varlen.cu_seqlens_type, s);
  };
  clear_rows(whole, 0, query_start(0));
  clear_rows(whole, query_start(sequences), whole.query_length);

  // first_task[s]: how many blocks the sequences before s have, over all heads.
  int64_t* first_task = new (std::nothrow) int64_t[static_cast<size_t>(sequences) + 1];
  if (first_task == nullptr) return LaunchStatus::kOutOfMemory;
  first_task[0] = 0;
  for (int64_t s = 0; s < sequences; ++s) {
    first_task[s + 1] =
        first_task[s] + whole.query_heads * blocks_of(query_start(s + 1) - query_start(s));
  }
  OutOfMemory memory;
  parallel_for(first_task[sequences], 1, [&](int64_t begin, int64_t end) {
    int64_t s = 0;
    for (int64_t task = begin; task < end; ++task) {
      while (task >= first_task[s + 1]) ++s;
      Attention part = whole;
      part.query_length = query_start(s + 1) - query_start(s);
      part.key_length = key_start(s + 1) - key_start(s);
      part.query = at(whole.query, whole.type, query_start(s) * whole.query_strides[2]);
      part.key = at(whole.key, whole.type, key_start(s) * whole.key_strides[2]);
      part.value = at(whole.value, whole.type, key_start(s) * whole.value_strides[2]);
      part.output = at(whole.output, whole.type, query_start(s) * whole.output_strides[2]);
      if (whole.lse != nullptr) part.lse = whole.lse + query_start(s) * whole.lse_strides[2];
      part.lse_strides[0] = 0;
      part.query_strides[0] = part.key_strides[0] = part.value_strides[0] = part.output_strides[0] =
          0;
      const int64_t blocks = blocks_of(part.query_length);
      const int64_t local = task - first_task[s];
      Block block(part, s, local / blocks, local % blocks * kQueryBlock);
      if (!block.allocate()) return memory.set();
      block.run();
    }
  });
  delete[] first_task;
  return memory.status();
}

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
