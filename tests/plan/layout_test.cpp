// Layout propagation and the evidence it rests on: which transposes around an attention call go,
// and why the others stay; the rank that the code shows; zero at inference.
#include <gtest/gtest.h>

#include <algorithm>

#include "rewriter/match/facts.hpp"
#include "rewriter/plan/layout/layout.hpp"
#include "tests/python/lowered.hpp"
#include "tests/python/row_name.hpp"

namespace refit {
namespace {

constexpr const char* kHead =
    "import torch\nimport torch.nn.functional as F\n"
    "from torch.nn.functional import scaled_dot_product_attention as sdpa\n"
    "from diffusers.models.embeddings import apply_rotary_emb\n"
    "class Layers(torch.nn.Module):\n"
    "  def __init__(self, dim: int):\n"
    "    self.over_last = torch.nn.RMSNorm(dim)\n"
    "    self.over_two = torch.nn.RMSNorm((4, dim))\n";

ValueId attention_call(const Graph& g) {
  for (ValueId id = 0; id < g.values.size(); ++id) {
    if (g[id].op != nullptr && g[id].op->id.ends_with(".scaled_dot_product_attention")) return id;
  }
  return kNone;
}

struct Row {
  const char* name;
  const char* body;      // of f(q, k, v, m, c), four dimensions each, [batch, sequence, heads, dim]
  const char* expected;  // how many transposes went, or why none did
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class Absorb : public testing::TestWithParam<Row> {};

TEST_P(Absorb, AsExpected) {
  const Lowered lowered(std::string(kHead) + "def f(q, k, v, m: Layers, c):\n" + GetParam().body);
  const Graph& g = lowered.graph();
  const ValueId call = attention_call(g);
  ASSERT_NE(call, kNone);
  Layout layout;
  layout.operands = {{"query", "BNSD"}, {"key", "BNSD"}, {"value", "BNSD"}};
  layout.result = "BNSD";
  layout.target = "BSND";
  LayoutContext context;
  context.place = [](ValueId) { return std::string("here"); };
  context.taken = [](const Operation*) { return false; };
  context.over_last_axis = [&](ValueId id) {
    const auto& all = lowered.unit->functions;
    const auto at = std::find_if(all.begin(), all.end(),
                                 [&](const Function& f) { return &f == &lowered.function(); });
    const auto function = static_cast<uint32_t>(at - all.begin());
    return g.instances.contains(id) &&
           lowered.frontend.attribute(*lowered.unit, function, g[id].operands[0]).over_last_axis;
  };
  context.fellow = [&](ValueId id) {
    const bool other = g[id].op != nullptr && g[id].op == g[call].op && id != call;
    return other ? &layout : nullptr;
  };
  const Absorption result = absorb(g, call, layout, context);
  EXPECT_EQ(result.absorbed ? std::to_string(result.transposes) : result.why_not,
            GetParam().expected);
  EXPECT_EQ(result.absorbed, !result.forwarded.empty() || !result.swapped.empty());
}

const Row kLayouts[] = {
    {"one_text_in_turns",
     "  q, k, v = (x.permute(0, 2, 1, 3) for x in (q, k, v))\n"
     "  return sdpa(q, k, v).permute(0, 2, 1, 3)\n",
     "4"},
    {"one_text_in_turns_for_another_value",
     "  q, k, v = (x.permute(0, 2, 1, 3) for x in (q, k, v))\n"
     "  return sdpa(q, k, k).permute(0, 2, 1, 3), v\n",
     "the text that makes it makes other values too (here)"},
    {"turns_that_do_more",
     "  q, k, v = [x.permute(0, 2, 1, 3).relu() for x in (q, k, v)]\n"
     "  return sdpa(q, k, v).permute(0, 2, 1, 3)\n",
     "`key` does not come straight from a transpose (here)"},
    {"two_calls_share",
     "  q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)\n"
     "  return sdpa(q, k, v).transpose(1, 2), sdpa(q, v, v).transpose(1, 2)\n",
     "5"},
    {"one_call_reads_the_other",
     "  q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)\n"
     "  return sdpa(sdpa(q, k, v), k, v).transpose(1, 2)\n",
     "4"},
    {"the_other_result_is_read",
     "  q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)\n"
     "  return sdpa(q, k, v).transpose(1, 2), sdpa(q, v, v)\n",
     "the result is not only transposed back (here reads it)"},
    {"mask_of_the_other",
     "  q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)\n"
     "  return sdpa(q, k, v).transpose(1, 2), sdpa(q, v, v, attn_mask=k).transpose(1, 2)\n",
     "`key` is passed twice"},
    {"inline_everywhere",
     "  return sdpa(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)\n",
     "4"},
    {"one_tensor_for_all", "  q = q.transpose(1, 2)\n  return sdpa(q, q, q).transpose(1, 2)\n",
     "2"},
    {"negative_axes",
     "  return sdpa(q.transpose(-2, -3), k.transpose(-3, 2), v.transpose(2, 1)).transpose(1, -2)\n",
     "4"},
    {"casts_between",
     "  q = q.transpose(1, 2).to(v.dtype)\n"
     "  x = sdpa(q, k.transpose(1, 2).half(), v.transpose(1, 2)).to(q.dtype)\n"
     "  return x.transpose(1, 2)\n",
     "4"},
    {"contiguous_between",
     "  q, k, v = (q.transpose(1, 2).contiguous(), k.transpose(1, 2).contiguous(),\n"
     "             v.transpose(1, 2).contiguous())\n"
     "  return sdpa(q, k, v).transpose(1, 2).contiguous()\n",
     "4"},
    {"of_calls_of_modules",
     "  q = m.q(q).transpose(1, 2)\n  k = m.k(k).transpose(1, 2)\n"
     "  v = m.v(v).transpose(1, 2)\n  return sdpa(q, k, v).transpose(1, 2)\n",
     "4"},
    {"both_branches",
     "  q = q.transpose(1, 2)\n  v = v.transpose(1, 2)\n"
     "  if c:\n    k = m.transpose(1, 2)\n  else:\n    k = k.transpose(1, 2)\n"
     "  return sdpa(q, k, v).transpose(1, 2)\n",
     "5"},
    {"shape_of_other_axes_read",
     "  q = q.transpose(1, 2)\n  d = q.shape[-1] + q.size(0)\n"
     "  x = sdpa(q, k.transpose(1, 2), v.transpose(1, 2), scale=d)\n  return x.transpose(1, 2)\n",
     "4"},
    {"one_branch",
     "  q = q.transpose(1, 2)\n  v = v.transpose(1, 2)\n"
     "  if c:\n    k = m\n  else:\n    k = k.transpose(1, 2)\n"
     "  return sdpa(q, k, v).transpose(1, 2)\n",
     "`key` does not come straight from a transpose (here)"},
    {"moved_axis_read",
     "  q = q.transpose(1, 2)\n  d = q.shape[2]\n"
     "  x = sdpa(q, k.transpose(1, 2), v.transpose(1, 2), scale=d)\n  return x.transpose(1, 2)\n",
     "4"},
    {"moved_axes_unpacked",
     "  q = q.transpose(1, 2)\n  b, n, s, d = q.shape\n"
     "  x = sdpa(q, k.transpose(1, 2), v.transpose(1, 2), scale=s)\n  return x.transpose(1, 2)\n",
     "4"},
    {"moved_axes_unpacked_in_part",
     "  q = q.transpose(1, 2)\n  b, *rest = q.shape\n"
     "  x = sdpa(q, k.transpose(1, 2), v.transpose(1, 2), scale=b)\n  return x.transpose(1, 2)\n",
     "`query` is also read as it is (here reads it)"},
    {"joined_along_the_sequence",
     "  q = torch.cat([q.transpose(1, 2), m.transpose(1, 2)], dim=2)\n"
     "  return sdpa(q, k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)\n",
     "5"},
    {"one_part_not_transposed",
     "  q = torch.cat([q.transpose(1, 2), m], dim=2)\n"
     "  return sdpa(q, k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)\n",
     "`query` does not come straight from a transpose (here)"},
    {"copy_that_is_stored_to",
     "  q = q.transpose(1, 2).contiguous()\n  q[:, :, 0] = 0.0\n"
     "  return sdpa(q, k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)\n",
     "`query` is a copy of what is written to later (here)"},
    {"one_head_read",
     "  q = q.transpose(1, 2)\n"
     "  return sdpa(q, k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2), q[:, 0]\n",
     "4"},
    {"scaled_by_a_vector_of_unknown_rank",
     "  q = q.transpose(1, 2) * m\n"
     "  return sdpa(q, k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)\n",
     "`query` does not come straight from a transpose (here)"},
    {"also_returned",
     "  k = k.transpose(1, 2)\n"
     "  return sdpa(q.transpose(1, 2), k, v.transpose(1, 2)).transpose(1, 2), k\n",
     "`key` is also read as it is (here reads it)"},
    {"also_given_away",
     "  k = k.transpose(1, 2)\n  c.append(k)\n"
     "  return sdpa(q.transpose(1, 2), k, v.transpose(1, 2)).transpose(1, 2)\n",
     "`key` is also read as it is (here reads it)"},
    {"not_transposed_back",
     "  return sdpa(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))\n",
     "the result is used as it is"},
    {"transposed_back_and_read",
     "  x = sdpa(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))\n"
     "  return x.transpose(1, 2) + x.sum()\n",
     "the result is not only transposed back (here reads it)"},
    {"other_axes_back",
     "  x = sdpa(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))\n"
     "  return x.transpose(2, 3)\n",
     "the result is not only transposed back (here reads it)"},
    {"sliced_behind_an_ellipsis",
     "  k = k.view(2, 3, 4, 8).transpose(1, 2)[..., -c:, :]\n"
     "  return sdpa(q.transpose(1, 2), k, v.transpose(1, 2)).transpose(1, 2)\n",
     "4"},
    {"vector_along_a_moved_axis",
     "  q = q.view(2, 3, 4, 8).transpose(1, 2)\n  (n,) = m.shape\n  c.use(n)\n"
     "  x = (q[..., 0] + m).transpose(1, 2)\n"
     "  return sdpa(q, k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2), x\n",
     "`query` does not come straight from a transpose (here)"},
    {"strides_asked_for",
     "  q = q.transpose(1, 2).contiguous(memory_format=torch.channels_last)\n"
     "  return sdpa(q, k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)\n",
     "`query` does not come straight from a transpose (here)"},
    {"random_numbers_between",
     "  x = F.dropout(sdpa(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)), 0.1)\n"
     "  return x.transpose(1, 2)\n",
     "the result does not come straight from a transpose (here)"},
    {"permutation_of_what_changes_to_what_changes",
     "  q = q.view(2, 3, 4, 8).transpose(1, 2)\n  k = q.permute(0, 1, 2, 3)\n"
     "  return sdpa(q, k, v.transpose(1, 2)).transpose(1, 2)\n",
     "`query` is also read as it is (here reads it)"},
    {"part_read_in_vain",
     "  q, k, v = q.view(2, 3, 3, 4, 8).permute(2, 0, 3, 1, 4).unbind(0)\n"
     "  v = v.expand(-1, 4, -1, -1)\n"
     "  return sdpa(q, k, k).transpose(1, 2)\n",
     "`key` is also read as it is (here reads it)"},
    {"rotated_along_its_axis",
     "  q = apply_rotary_emb(q.transpose(1, 2), m)\n"
     "  k = apply_rotary_emb(k.transpose(1, 2), m, sequence_dim=2)\n"
     "  return sdpa(q, k, v.transpose(1, 2)).transpose(1, 2)\n",
     "4"},
    {"rotated_by_a_table_that_knows_no_axis",
     "  q = apply_rotary_emb(q.transpose(1, 2), m, use_real=False)\n"
     "  return sdpa(q, k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)\n",
     "`query` does not come straight from a transpose (here)"},
    {"through_a_layer_over_the_last_axis",
     "  q = m.over_last(q.transpose(1, 2))\n  k = k.transpose(1, 2)\n"
     "  if m.over_last is not None:\n    k = m.over_last(k)\n"
     "  return m.over_last(sdpa(q, k, v.transpose(1, 2))).transpose(1, 2)\n",
     "4"},
    {"through_another_layer",
     "  q = m.over_two(q.transpose(1, 2))\n"
     "  return sdpa(q, k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)\n",
     "`query` does not come straight from a transpose (here)"},
    {"through_a_layer_over_an_axis_that_moves",
     "  x = sdpa(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))\n"
     "  return x.transpose(1, 2), m.over_last(x[..., 0])\n",
     "the result does not come straight from a transpose (here)"},
    {"axis_not_literal",
     "  return sdpa(q.transpose(1, c), k.transpose(1, 2), v.transpose(1, 2)).transpose(1, 2)\n",
     "`query` does not come straight from a transpose (here)"},
};

INSTANTIATE_TEST_SUITE_P(Layout, Absorb, testing::ValuesIn(kLayouts), RowName());

// Rank of the value that f returns: a number, or "-".
class Rank : public testing::TestWithParam<Row> {};

TEST_P(Rank, AsTheCodeShows) {
  const Lowered lowered(std::string(kHead) + "def f(q, k, v, m, c):\n" + GetParam().body);
  const Graph& g = lowered.graph();
  const auto rank = rank_of(g, g.results.front());
  EXPECT_EQ(rank ? std::to_string(*rank) : "-", GetParam().expected);
}

const Row kRanks[] = {
    {"permuted_by_all_axes", "  return q.permute(0, 2, 1, 3)\n", "4"},
    {"read_by_a_permutation", "  k = q.permute(0, 2, 1)\n  return q\n", "3"},
    {"read_by_a_callee_of_one_rank",
     "  if c:\n    q[:, :, 2:] = apply_rotary_emb(q[:, :, 2:], m)\n  return q\n", "4"},
    {"of_attention_as_its_query", "  return sdpa(q.view(1, 2, 3, 4), k, v)\n", "4"},
    {"nothing", "  return q\n", "-"},
    {"view", "  return q.view(2, -1, m, 8)\n", "4"},
    {"view_of_a_tuple", "  return q.view((2, -1, m))\n", "3"},
    {"view_of_an_unknown_shape", "  return q.view(m)\n", "-"},
    {"view_with_a_splat", "  return q.view(*q.shape[:-1], 2, -1)\n", "-"},
    {"reshape", "  return torch.reshape(q, (2, 3))\n", "2"},
    {"unpacked_shape", "  b, n, h, d = q.shape\n  m.use(b, n, h, d)\n  return q\n", "4"},
    {"unpacked_size", "  b, n, _ = q.size()\n  m.use(b)\n  return q\n", "3"},
    {"unpacked_and_read", "  b, n, h, d = q.shape\n  return q * b\n", "4"},
    {"transposed", "  return q.view(1, 2, 3, 4).transpose(1, 2)\n", "4"},
    {"permuted", "  return q.permute(0, 2, 3, 1)\n", "4"},
    {"cast", "  return q.view(1, 2, 3).float()\n", "3"},
    {"unflattened", "  return q.view(1, 2, 3).unflatten(-1, (4, -1))\n", "4"},
    {"unbound", "  a, b = q.view(1, 2, 3, 4, 5).unbind(2)\n  return a\n", "4"},
    {"split_in_two", "  a, b = q.view(1, 2, 3, 4).chunk(2, dim=-1)\n  return b\n", "4"},
    {"indexed", "  return q.view(1, 2, 3, 4)[0]\n", "3"},
    {"indexed_with_none", "  return q.view(1, 2)[:, None, None, :]\n", "4"},
    {"indexed_by_a_variable", "  return q.view(1, 2, 3)[m]\n", "-"},
    {"joined", "  return torch.cat([q, k.view(1, 2, 3, 4)], dim=1)\n", "4"},
    {"sum_of_known", "  return q.view(1, 2, 3) + k.view(2, 3)\n", "3"},
    {"sum_of_one_known", "  return q.view(1, 2, 3) + k\n", "-"},
    {"branches_agree",
     "  if c:\n    x = q.view(1, 2, 3)\n  else:\n    x = k.view(3, 2, 1)\n  return x\n", "3"},
    {"branches_differ",
     "  if c:\n    x = q.view(1, 2, 3)\n  else:\n    x = k.view(3, 2)\n  return x\n", "-"},
    {"sibling_branch_speaks", "  if c:\n    x = q.view(1, 2, 3)\n  else:\n    x = m\n  return x\n",
     "3"},
    {"flattened", "  return q.view(1, 2, 3, 4, 5).flatten(2, 3)\n", "4"},
    {"flattened_to_the_end", "  return q.view(1, 2, 3, 4, 5).flatten(-3)\n", "3"},
    {"flattened_whole", "  return torch.flatten(q.view(1, 2, 3))\n", "1"},
    {"flattened_from_a_variable", "  return q.view(1, 2, 3).flatten(m)\n", "-"},
    {"regrouped",
     "  q = q.permute(0, 2, 3, 4, 1).flatten(2, 3).flatten(0, 1)\n"
     "  return q.unflatten(2, (m, -1)).transpose(1, 2)\n",
     "4"},
};

INSTANTIATE_TEST_SUITE_P(Facts, Rank, testing::ValuesIn(kRanks), RowName());

// Whether the value that f returns is zero at inference.
class ZeroAtInference : public testing::TestWithParam<Row> {};

TEST_P(ZeroAtInference, AsTheCodeShows) {
  const Lowered lowered(std::string("def f(self, p):\n") + GetParam().body);
  const Graph& g = lowered.graph();
  EXPECT_EQ(zero_at_inference(g, g.results.front()) ? "yes" : "no", GetParam().expected);
}

const Row kZeros[] = {
    {"zero", "  return 0\n", "yes"},
    {"real_zero", "  return 0.0\n", "yes"},
    {"none", "  return None\n", "no"},
    {"half", "  return 0.5\n", "no"},
    {"variable", "  return p\n", "no"},
    {"training_only", "  return p if self.training else 0.0\n", "yes"},
    {"inference_only", "  return 0.0 if not self.training else p\n", "yes"},
    {"training_only_wrong_way", "  return 0.0 if self.training else p\n", "no"},
    {"statement", "  if self.training:\n    x = p\n  else:\n    x = 0\n  return x\n", "yes"},
    {"other_condition", "  return p if self.enabled else 0.0\n", "no"},
    {"zero_either_way", "  return 0 if self.enabled else 0.0\n", "yes"},
};

INSTANTIATE_TEST_SUITE_P(Facts, ZeroAtInference, testing::ValuesIn(kZeros), RowName());

}  // namespace
}  // namespace refit
