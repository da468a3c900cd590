// Attention kernels against the plain formula in float64, over layouts, types, masks and shapes
// drawn at random, and the cases that have a definition of their own.

#include <algorithm>

#include "support.h"

namespace mindiesd::kernels::test {
namespace {

// A [batch, heads, length, width] tensor stored in a random order of its outer dimensions, with a
// margin at the end of rows.
struct Tensor4 {
  std::int64_t sizes[4];
  std::int64_t strides[4];
  std::unique_ptr<Memory> memory;

  Tensor4(DataType type, std::int64_t batch, std::int64_t heads, std::int64_t length,
          std::int64_t width, Random& random, bool values = true)
      : sizes{batch, heads, length, width} {
    int order[3] = {0, 1, 2};
    if (random.flip()) std::swap(order[1], order[2]);
    if (random.flip()) std::swap(order[0], order[1]);
    std::int64_t stride = width + random.pick(0, 1) * 3;
    for (int i = 2; i >= 0; --i) {
      strides[order[i]] = stride;
      stride *= sizes[order[i]];
    }
    strides[3] = 1;
    memory = std::make_unique<Memory>(type, stride);
    if (values) fill(*memory, stride, random);
  }

  std::int64_t at(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) const {
    return b * strides[0] + h * strides[1] + s * strides[2] + d * strides[3];
  }
  double get(std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t d) {
    return memory->get(at(b, h, s, d));
  }
  void strides_to(std::int64_t (&to)[3]) const { std::copy(strides, strides + 3, to); }
};

struct Row {
  std::vector<double> values;
  std::vector<double> magnitudes;  // sum of |weight * value|
  double lse = -INFINITY;          // log(sum of exp(score))
};

// Row i of the result, straight from the comment of kernels::Attention.
Row reference_row(const Attention& p, std::int64_t b, std::int64_t h, std::int64_t i) {
  const std::int64_t kh = h / (p.query_heads / p.key_heads);
  const std::int64_t aligned = i + p.key_length - p.query_length;
  std::vector<double> scores(static_cast<std::size_t>(p.key_length));
  double largest = -INFINITY;
  for (std::int64_t j = 0; j < p.key_length; ++j) {
    double dot = 0.0;
    for (std::int64_t d = 0; d < p.head_dim; ++d) {
      dot += load(p.query,
                  b * p.query_strides[0] + h * p.query_strides[1] + i * p.query_strides[2] + d,
                  p.type) *
             load(p.key, b * p.key_strides[0] + kh * p.key_strides[1] + j * p.key_strides[2] + d,
                  p.type);
    }
    double score = dot * static_cast<double>(p.scale);
    if (p.softcap > 0.0F) score = p.softcap * std::tanh(score / p.softcap);
    if (p.alibi_slopes != nullptr) {
      score -= p.alibi_slopes[b * p.alibi_strides[0] + h * p.alibi_strides[1]] *
               static_cast<double>(std::abs(aligned - j));
    }
    if (p.mask != nullptr) {
      const double mask = load(p.mask,
                               b * p.mask_strides[0] + h * p.mask_strides[1] +
                                   i * p.mask_strides[2] + j * p.mask_strides[3],
                               p.mask_type);
      if (p.mask_type != DataType::kBool) {
        score += mask;
      } else if (mask == 0.0) {
        score = -INFINITY;
      }
    }
    if (p.causal == CausalAlignment::kTopLeft && j > i) score = -INFINITY;
    if (p.causal == CausalAlignment::kBottomRight && j > aligned) score = -INFINITY;
    if (p.window_left >= 0 && j < aligned - p.window_left) score = -INFINITY;
    if (p.window_right >= 0 && j > aligned + p.window_right) score = -INFINITY;
    scores[static_cast<std::size_t>(j)] = score;
    largest = std::max(largest, score);
  }
  Row row{std::vector<double>(static_cast<std::size_t>(p.value_dim), 0.0),
          std::vector<double>(static_cast<std::size_t>(p.value_dim), 0.0), -INFINITY};
  if (largest == -INFINITY) return row;
  double total = 0.0;
  for (double& score : scores) total += score = std::exp(score - largest);
  row.lse = largest + std::log(total);
  for (std::int64_t j = 0; j < p.key_length; ++j) {
    const double weight = scores[static_cast<std::size_t>(j)] / total;
    for (std::int64_t d = 0; d < p.value_dim; ++d) {
      const double value = load(
          p.value, b * p.value_strides[0] + kh * p.value_strides[1] + j * p.value_strides[2] + d,
          p.type);
      row.values[static_cast<std::size_t>(d)] += weight * value;
      row.magnitudes[static_cast<std::size_t>(d)] += weight * std::abs(value);
    }
  }
  return row;
}

// Scores of a few units carry a float32 error of about 1e-6, which the weights take over; on top of
// that the result is rounded once.
void expect_close(double found, double wanted, double magnitude, DataType type) {
  const double bound = 0.51 * ulp(wanted, type) + 4e-6 * std::max(magnitude, 1e-3);
  ASSERT_NEAR(found, wanted, bound);
}

void expect_lse(float found, double wanted) {
  if (wanted == -INFINITY) {
    ASSERT_EQ(found, -INFINITY);
  } else {
    ASSERT_NEAR(found, wanted, 4e-6 + 1e-6 * std::abs(wanted));
  }
}

void expect_attention(const cpu::Launchers& launchers, Attention p) {
  // Every other element, the heads of a query side by side.
  std::vector<float> lse(static_cast<std::size_t>(2 * p.batch * p.query_heads * p.query_length));
  p.lse = lse.data();
  p.lse_strides[0] = 2 * p.query_heads * p.query_length;
  p.lse_strides[1] = 2;
  p.lse_strides[2] = 2 * p.query_heads;
  ASSERT_EQ(launchers.attention(p), LaunchStatus::kOk);
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t h = 0; h < p.query_heads; ++h) {
      for (std::int64_t i = 0; i < p.query_length; ++i) {
        const Row row = reference_row(p, b, h, i);
        ASSERT_NO_FATAL_FAILURE(expect_lse(
            p.lse[b * p.lse_strides[0] + h * p.lse_strides[1] + i * p.lse_strides[2]], row.lse));
        for (std::int64_t d = 0; d < p.value_dim; ++d) {
          const double found =
              load(p.output,
                   b * p.output_strides[0] + h * p.output_strides[1] + i * p.output_strides[2] + d,
                   p.type);
          const auto k = static_cast<std::size_t>(d);
          ASSERT_NO_FATAL_FAILURE(expect_close(found, row.values[k], row.magnitudes[k], p.type))
              << "batch " << b << " head " << h << " query " << i << " column " << d;
        }
      }
    }
  }
}

struct Case {
  std::int64_t batch, query_heads, key_heads, query_length, key_length, head_dim, value_dim;
};

struct Operands {
  Tensor4 query, key, value, output;
  Operands(const Case& c, DataType type, Random& random)
      : query(type, c.batch, c.query_heads, c.query_length, c.head_dim, random),
        key(type, c.batch, c.key_heads, c.key_length, c.head_dim, random),
        value(type, c.batch, c.key_heads, c.key_length, c.value_dim, random),
        output(type, c.batch, c.query_heads, c.query_length, c.value_dim, random, false) {}

  Attention problem(const Case& c) {
    Attention p;
    p.batch = c.batch;
    p.query_heads = c.query_heads;
    p.key_heads = c.key_heads;
    p.query_length = c.query_length;
    p.key_length = c.key_length;
    p.head_dim = c.head_dim;
    p.value_dim = c.value_dim;
    p.type = query.memory->type();
    p.query = query.memory->data();
    p.key = key.memory->data();
    p.value = value.memory->data();
    p.output = output.memory->data();
    query.strides_to(p.query_strides);
    key.strides_to(p.key_strides);
    value.strides_to(p.value_strides);
    output.strides_to(p.output_strides);
    p.scale = 1.0F / std::sqrt(static_cast<float>(std::max<std::int64_t>(c.head_dim, 1)));
    return p;
  }
};

TEST(Attention, LayoutsTypesAndOddSizes) {
  for_each_isa([](const cpu::Launchers& launchers) {
    const Case cases[] = {
        {1, 1, 1, 1, 1, 1, 1},      {2, 3, 3, 5, 7, 8, 8},     {2, 4, 2, 65, 129, 40, 24},
        {1, 2, 1, 64, 128, 64, 64}, {2, 6, 2, 63, 257, 33, 7}, {1, 1, 1, 130, 300, 80, 160},
        {1, 2, 2, 3, 1, 512, 5},    {3, 1, 1, 17, 31, 72, 72},
    };
    unsigned seed = 1;
    for (const Case& c : cases) {
      for (const DataType type : kFloatTypes) {
        SCOPED_TRACE(name_of(type));
        Random random(seed++);
        Operands operands(c, type, random);
        expect_attention(launchers, operands.problem(c));
      }
    }
  });
}

TEST(Attention, RandomCombinations) {
  for_each_isa([](const cpu::Launchers& launchers) {
    for (unsigned seed = 0; seed < 40; ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      const std::int64_t key_heads = random.pick(1, 3);
      const Case c = {random.pick(1, 2),   key_heads * random.pick(1, 3), key_heads,
                      random.pick(1, 140), random.pick(1, 270),           random.pick(1, 70),
                      random.pick(1, 70)};
      Operands operands(c, random.float_type(), random);
      Attention p = operands.problem(c);
      const std::int64_t sizes[4] = {c.batch, c.query_heads, c.query_length, c.key_length};
      const DataType mask_type = random.flip() ? DataType::kBool : random.float_type();
      std::int64_t elements = 1;
      for (int d = 3; d >= 0; --d) {
        const bool broadcast = random.pick(0, 2) == 0;
        p.mask_strides[d] = broadcast ? 0 : elements;
        if (!broadcast) elements *= sizes[d];
      }
      Memory mask(mask_type, elements);
      for (std::int64_t i = 0; i < elements; ++i) {
        mask.set(i, mask_type == DataType::kBool ? (random.pick(0, 3) == 0 ? 0.0 : 1.0)
                    : random.pick(0, 4) == 0     ? -INFINITY
                                                 : random.normal());
      }
      if (random.flip()) {
        p.mask = mask.data();
        p.mask_type = mask_type;
      }
      p.causal = static_cast<CausalAlignment>(random.pick(0, 2));
      if (random.pick(0, 2) == 0) p.window_left = random.pick(0, 80);
      if (random.pick(0, 2) == 0) p.window_right = random.pick(0, 80);
      if (random.pick(0, 2) == 0) p.softcap = 3.0F;
      std::vector<float> slopes(static_cast<std::size_t>(c.batch * c.query_heads));
      for (float& slope : slopes) slope = static_cast<float>(std::abs(random.normal())) * 0.1F;
      if (random.pick(0, 2) == 0) {
        p.alibi_slopes = slopes.data();
        p.alibi_strides[0] = random.flip() ? c.query_heads : 0;
        p.alibi_strides[1] = 1;
      }
      ASSERT_NO_FATAL_FAILURE(expect_attention(launchers, p));
    }
  });
}

TEST(Attention, KeysOfOneBatchEntryServeAll) {
  for_each_isa([](const cpu::Launchers& launchers) {
    Random random(5);
    const Case c = {3, 4, 2, 20, 30, 16, 16};
    Operands operands(c, DataType::kFloat32, random);
    Attention p = operands.problem(c);
    p.key_strides[0] = p.value_strides[0] = 0;
    expect_attention(launchers, p);
  });
}

TEST(Attention, QueriesWithoutKeysGiveZeros) {
  for_each_isa([](const cpu::Launchers& launchers) {
    Random random(6);
    const Case c = {1, 2, 2, 70, 40, 16, 16};
    Operands operands(c, DataType::kBFloat16, random);
    Attention p = operands.problem(c);
    // With more queries than keys the first 30 see none, aligned bottom-right.
    p.causal = CausalAlignment::kBottomRight;
    expect_attention(launchers, p);
    EXPECT_EQ(operands.output.get(0, 1, 29, 3), 0.0);
    EXPECT_NE(operands.output.get(0, 1, 30, 3), 0.0);

    p.causal = CausalAlignment::kNone;
    Memory mask(DataType::kBool, 1);
    mask.set(0, 0.0);
    p.mask = mask.data();
    expect_attention(launchers, p);
    EXPECT_EQ(operands.output.get(0, 0, 0, 0), 0.0);

    p.mask = nullptr;
    p.key_length = 0;
    expect_attention(launchers, p);
    EXPECT_EQ(operands.output.get(0, 0, 69, 15), 0.0);
  });
}

TEST(Attention, NanAndInfinityPropagateAsInTheFormula) {
  for_each_isa([](const cpu::Launchers& launchers) {
    Random random(7);
    const Case c = {1, 1, 1, 40, 200, 16, 16};
    Operands operands(c, DataType::kFloat32, random);
    Attention p = operands.problem(c);
    operands.query.memory->set(operands.query.at(0, 0, 3, 2), NAN);
    operands.query.memory->set(operands.query.at(0, 0, 5, 2), INFINITY);
    ASSERT_EQ(launchers.attention(p), LaunchStatus::kOk);
    for (std::int64_t i = 0; i < 40; ++i) {
      EXPECT_EQ(std::isnan(operands.output.get(0, 0, i, 0)), i == 3 || i == 5) << i;
    }
    // A value that every query weighs reaches every query.
    operands.value.memory->set(operands.value.at(0, 0, 150, 4), INFINITY);
    ASSERT_EQ(launchers.attention(p), LaunchStatus::kOk);
    EXPECT_EQ(operands.output.get(0, 0, 0, 4), INFINITY);
    EXPECT_TRUE(std::isfinite(operands.output.get(0, 0, 0, 5)));
  });
}

TEST(Attention, LargeScoresDoNotOverflow) {
  for_each_isa([](const cpu::Launchers& launchers) {
    Random random(8);
    const Case c = {1, 1, 1, 3, 140, 4, 4};
    Operands operands(c, DataType::kFloat32, random);
    Attention p = operands.problem(c);
    p.scale = 1e6F;
    ASSERT_EQ(launchers.attention(p), LaunchStatus::kOk);
    for (std::int64_t i = 0; i < 3; ++i) {
      // One key has all the weight: the result is its value.
      const Row row = reference_row(p, 0, 0, i);
      EXPECT_NEAR(operands.output.get(0, 0, i, 1), row.values[1], 1e-6);
    }
  });
}

TEST(VarlenAttention, EqualsDenseAttentionOfEverySequence) {
  for_each_isa([](const cpu::Launchers& launchers) {
    for (const DataType type : kFloatTypes) {
      Random random(9);
      const std::int64_t tokens = 200, key_tokens = 310, heads = 4, key_heads = 2, width = 24;
      Operands operands({1, heads, key_heads, tokens, key_tokens, width, width}, type, random);
      const std::int64_t starts[] = {2, 2, 70, 135, 190};  // one empty; tokens outside at both ends
      const std::int64_t key_starts[] = {0, 5, 5, 200, 310};
      std::vector<float> slopes(4 * heads);
      for (float& slope : slopes) slope = static_cast<float>(std::abs(random.normal())) * 0.1F;

      VarlenAttention varlen;
      varlen.problem = operands.problem({1, heads, key_heads, tokens, key_tokens, width, width});
      varlen.problem.causal = CausalAlignment::kBottomRight;
      varlen.problem.alibi_slopes = slopes.data();
      varlen.problem.alibi_strides[0] = heads;
      varlen.problem.alibi_strides[1] = 1;
      varlen.sequences = 4;
      varlen.cu_seqlens_query = starts;
      varlen.cu_seqlens_key = key_starts;
      varlen.cu_seqlens_type = DataType::kInt64;
      std::vector<float> lse(static_cast<std::size_t>(heads * tokens), 123.0F);
      varlen.problem.lse = lse.data();
      varlen.problem.lse_strides[1] = tokens;
      varlen.problem.lse_strides[2] = 1;
      const auto lse_at = [&](std::int64_t h, std::int64_t t) {
        return lse[static_cast<std::size_t>(h * tokens + t)];
      };
      ASSERT_EQ(launchers.attention_varlen(varlen), LaunchStatus::kOk);

      std::vector<bool> owned(static_cast<std::size_t>(tokens), false);
      for (int s = 0; s < 4; ++s) {
        Attention p = varlen.problem;
        p.batch = 1;
        p.query_length = starts[s + 1] - starts[s];
        p.key_length = key_starts[s + 1] - key_starts[s];
        const auto item = static_cast<std::int64_t>(bytes_of(type));
        p.query = static_cast<const char*>(p.query) + starts[s] * p.query_strides[2] * item;
        p.key = static_cast<const char*>(p.key) + key_starts[s] * p.key_strides[2] * item;
        p.value = static_cast<const char*>(p.value) + key_starts[s] * p.value_strides[2] * item;
        p.alibi_slopes = slopes.data() + s * heads;
        for (std::int64_t i = 0; i < p.query_length; ++i) {
          owned[static_cast<std::size_t>(starts[s] + i)] = true;
          for (std::int64_t h = 0; h < heads; ++h) {
            const Row row = reference_row(p, 0, h, i);
            ASSERT_NO_FATAL_FAILURE(expect_lse(lse_at(h, starts[s] + i), row.lse));
            for (std::int64_t d = 0; d < width; ++d) {
              const auto k = static_cast<std::size_t>(d);
              ASSERT_NO_FATAL_FAILURE(expect_close(operands.output.get(0, h, starts[s] + i, d),
                                                   row.values[k], row.magnitudes[k], type))
                  << "sequence " << s << " query " << i << " head " << h;
            }
          }
        }
      }
      for (std::int64_t t = 0; t < tokens; ++t) {
        if (owned[static_cast<std::size_t>(t)]) continue;
        for (std::int64_t h = 0; h < heads; ++h) {
          EXPECT_EQ(operands.output.get(0, h, t, 0), 0.0) << "token " << t;
          EXPECT_EQ(lse_at(h, t), -INFINITY) << "token " << t;
        }
      }
    }
  });
}

}  // namespace
}  // namespace mindiesd::kernels::test
