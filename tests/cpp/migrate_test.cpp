// C++ files through the whole engine with the rules that ship: the text that comes out, byte for
// byte, and the reasons of what stays.
#include <gtest/gtest.h>

#include "rewriter/cli/languages.hpp"
#include "tests/python/lowered.hpp"
#include "tests/python/row_name.hpp"
#include "tests/rule/scratch_folder.hpp"

namespace refit {
namespace {

// Files of a folder, by their names in it.
using Texts = std::vector<std::pair<std::string, std::string>>;

RunResult migrated(const Texts& texts) {
  static const RuleSet rules =
      must(RuleSet::load({REFIT_RULES_DIR}, std::string(REFIT_RULES_DIR) + "/catalogue"));
  const ScratchFolder folder;
  Input input{folder.path(), {}, {""}};
  for (const auto& [name, text] : texts) {
    folder.put(name, text);
    input.files.push_back({folder.path(name), name});
  }
  EngineOptions options;
  options.jobs = 1;
  options.rules_folder = REFIT_RULES_DIR;
  return must(run(rules, input, options, nullptr));
}

RunResult migrated(const std::string& text) { return migrated(Texts{{"m.cpp", text}}); }

std::string outcome(const RunResult& result) {
  std::string out;
  for (const Problem& p : result.problems) out += "problem: " + p.message + "\n";
  for (const Finding& f : result.findings) {
    out += f.outcome == Outcome::rewritten ? "rewritten" : f.code + ": " + f.message;
    out += "\n";
  }
  return out;
}

struct Row {
  const char* name;
  const char* before;
  const char* after;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class Body : public testing::TestWithParam<Row> {};

const std::string kParameters =
    "torch::Tensor f(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor m, double "
    "s,\n"
    "torch::Tensor cos, torch::Tensor sin) {\n";

TEST_P(Body, Becomes) {
  const std::string head = "#include <torch/torch.h>\n\n" + kParameters;
  const std::string new_head =
      "#include <mindiesd/functional.h>\n#include <torch/torch.h>\n\n" + kParameters;
  const RunResult result = migrated(head + GetParam().before + "}\n");
  ASSERT_EQ(result.changed.size(), 1U) << outcome(result);
  EXPECT_EQ(*result.changed.front().new_bytes, new_head + GetParam().after + "}\n");
  EXPECT_TRUE(result.problems.empty()) << outcome(result);
}

const Row kBodies[] = {
    {"positional", "  return torch::scaled_dot_product_attention(q, k, v);\n",
     "  return mindiesd::ext::attention_forward(q, k, v, {.head_first = true});\n"},
    {"local_name_of_the_runtime",
     "  double mindiesd = 2;\n  return torch::scaled_dot_product_attention(q, k, v) * mindiesd;\n",
     "  double mindiesd = 2;\n"
     "  return ::mindiesd::ext::attention_forward(q, k, v, {.head_first = true}) * mindiesd;\n"},
    {"mask_and_scale", "  return torch::scaled_dot_product_attention(q, k, v, m, 0.0, false, s);\n",
     "  return mindiesd::ext::attention_forward(q, k, v,\n"
     "                                          {.attn_mask = m, .scale = s, .head_first = "
     "true});\n"},
    {"a_finite_number_where_hidden",
     "  auto scores = torch::matmul(q, k.transpose(-2, -1)) * 0.25;\n"
     "  scores = scores.masked_fill(~m, -1e9);\n"
     "  return torch::matmul(torch::softmax(scores, -1), v);\n",
     "  return mindiesd::ext::attention_forward(\n      q,\n      k,\n      v,\n      {.attn_mask "
     "= m,\n"
     "       .scale = 0.25,\n       .head_first = true,\n       .strides = \"BNSD\",\n"
     "       .without_key = \"mean\"});\n"},
    {"in_a_lambda",
     "  auto g = [&](const torch::Tensor& x) {\n"
     "    return torch::scaled_dot_product_attention(x, k, v);\n  };\n  return g(q);\n",
     "  auto g = [&](const torch::Tensor& x) {\n"
     "    return mindiesd::ext::attention_forward(x, k, v, {.head_first = true});\n  };\n"
     "  return g(q);\n"},
    {"causal", "  return torch::scaled_dot_product_attention(q, k, v, {}, 0.0, true);\n",
     "  return mindiesd::ext::attention_forward(q, k, v, {.head_first = true, .is_causal = "
     "true});\n"},
    {"one_argument_a_line",
     "  return torch::scaled_dot_product_attention(\n      q,\n      k,  // keys\n      v,\n"
     "      m,\n      /*dropout_p=*/0.0);\n",
     "  return mindiesd::ext::attention_forward(\n      q,\n      k,  // keys\n      v,\n"
     "      {.attn_mask = m, .head_first = true});\n"},
    {"comments_behind_its_arguments",
     "  return torch::scaled_dot_product_attention(\n      q,    // queries\n      k,    // keys\n"
     "      v,    // values\n      m,    // mask\n      0.0,  // dropout\n"
     "      false  // not causal\n  );\n",
     "  return mindiesd::ext::attention_forward(\n      q,    // queries\n      k,    // keys\n"
     "      v,    // values\n      {.attn_mask = m,    // mask\n"
     "       .head_first = true});\n"},
    {"slashes_in_a_string",
     "  return torch::scaled_dot_product_attention(q[std::string(\"a//b\").size()], k,  // keys\n"
     "                                             v);\n",
     "  return mindiesd::ext::attention_forward(q[std::string(\"a//b\").size()], k,  // keys\n"
     "                                             v, {.head_first = true});\n"},
    {"comment_in_front_of_a_comma",
     "  return torch::scaled_dot_product_attention(\n      q\n      ,\n      k  // keys\n      ,\n"
     "      v);\n",
     "  return mindiesd::ext::attention_forward(\n      q,\n      k,  // keys\n      v, "
     "{.head_first = true});\n"},
    {"comment_behind_a_last_argument_that_goes",
     "  return torch::scaled_dot_product_attention(q, k, v,\n"
     "                                             {},    // mask\n"
     "                                             0.0);  // no dropout\n",
     "  return mindiesd::ext::attention_forward(q, k, v, {.head_first = true});  // no dropout\n"},
    {"written_out_with_a_divisor",
     "  auto p = torch::matmul(q, k.transpose(-2, -1)) / std::sqrt(q.size(-1));\n"
     "  return torch::matmul(torch::softmax(p, -1), v);\n",
     "  return mindiesd::ext::attention_forward(\n"
     "      q, k, v, {.scale = 1.0 / std::sqrt(q.size(-1)), .head_first = true, .strides = "
     "\"BNSD\"});\n"},
    {"written_out_with_a_number_of_the_function",
     "  const int64_t d = q.size(-1);\n"
     "  auto p = torch::matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(d));\n"
     "  p = p.softmax(-1);\n  return torch::matmul(p, v);\n",
     "  const int64_t d = q.size(-1);\n"
     "  return mindiesd::ext::attention_forward(\n      q, k, v,\n"
     "      {.scale = 1.0 / std::sqrt(static_cast<double>(d)), .head_first = true, .strides = "
     "\"BNSD\"});\n"},
    {"transposes_go_and_their_text_stays",
     "  auto a = q.view({1, 2, 3, 4}).transpose(1, 2);\n"
     "  k = k.view({1, 2, 3, 4}).permute({0, 2, 1, 3}).contiguous();\n"
     "  auto c = torch::transpose(v.reshape({1, 2, 3, 4}), 1, 2);\n"
     "  auto o = torch::scaled_dot_product_attention(a, k, c);\n"
     "  o = o.transpose(1, 2).contiguous().view({1, 2, 12});\n"
     "  return o;\n",
     "  auto a = q.view({1, 2, 3, 4});\n"
     "  k = k.view({1, 2, 3, 4});\n"
     "  auto c = v.reshape({1, 2, 3, 4});\n"
     "  auto o = mindiesd::attention_forward(a, k, c);\n"
     "  o = o.view({1, 2, 12});\n"
     "  return o;\n"},
    {"transposes_inside_the_call",
     "  q = q.view({1, 2, 3, 4});\n"
     "  return torch::scaled_dot_product_attention(q.transpose(1, 2), q.transpose(2, 1), "
     "q.transpose(1, 2))\n      .transpose(1, 2);\n",
     "  q = q.view({1, 2, 3, 4});\n"
     "  return mindiesd::attention_forward(q, q, q);\n"},
    {"statement_that_only_transposes_goes",
     "  q = q.view({1, 2, 3, 4});\n  q = q.transpose(1, 2);  // to heads\n"
     "  return torch::scaled_dot_product_attention(q, q, q).transpose(1, 2);\n",
     "  q = q.view({1, 2, 3, 4});\n  // to heads\n  return mindiesd::attention_forward(q, q, "
     "q);\n"},
    {"rotation",
     "  auto h = q.chunk(2, -1);\n  return q * cos + torch::cat({-h[1], h[0]}, -1) * sin;\n",
     "  return mindiesd::ext::rotary_position_embedding(\n"
     "      q, cos, sin, {.rotated_mode = \"rotated_chunks\", .result_type = \"promoted\"});\n"},
    {"comment_in_what_goes_stays",
     "  auto h = q.chunk(2, -1);  // halves\n"
     "  return q * cos + torch::cat({-h[1], h[0]}, -1) * sin;\n",
     "  // halves\n"
     "  return mindiesd::ext::rotary_position_embedding(\n"
     "      q, cos, sin, {.rotated_mode = \"rotated_chunks\", .result_type = \"promoted\"});\n"},
    {"what_is_read_elsewhere_stays",
     "  auto h = q.chunk(2, -1);\n"
     "  auto o = q * cos + torch::cat({-h[1], h[0]}, -1) * sin;\n  return o * h[0].size(-1);\n",
     "  auto h = q.chunk(2, -1);\n"
     "  auto o = mindiesd::ext::rotary_position_embedding(\n"
     "      q, cos, sin, {.rotated_mode = \"rotated_chunks\", .result_type = \"promoted\"});\n"
     "  return o * h[0].size(-1);\n"},
    {"declaration_moves_to_the_assignment",
     "  auto o = torch::matmul(q, k.transpose(-2, -1)) * 0.125;\n  o = torch::softmax(o, -1);\n"
     "  o = torch::matmul(o, v);\n  return o;\n",
     "  auto o = mindiesd::ext::attention_forward(\n"
     "      q, k, v, {.scale = 0.125, .head_first = true, .strides = \"BNSD\"});\n  return o;\n"},
    {"declared_type_is_kept",
     "  torch::Tensor o = torch::matmul(q, k.transpose(-2, -1));\n  o = torch::softmax(o, -1);\n"
     "  o = torch::matmul(o, v);\n  o = o + q;\n  return o;\n",
     "  torch::Tensor o = mindiesd::ext::attention_forward(\n"
     "      q, k, v, {.scale = 1.0, .head_first = true, .strides = \"BNSD\"});\n"
     "  o = o + q;\n  return o;\n"},
    {"skipped_code_behind_that_reads_nothing_of_it",
     "#ifdef USE_NPU\n  log(q);\n#endif\n"
     "  auto w = torch::softmax(torch::matmul(q, k.transpose(-2, -1)), -1);\n"
     "  auto o = torch::matmul(w, v);\n#ifdef USE_NPU\n  log(o);\n#endif\n  return o;\n",
     "#ifdef USE_NPU\n  log(q);\n#endif\n"
     "  auto o = mindiesd::ext::attention_forward(q, k, v,\n"
     "                                            {.scale = 1.0, .head_first = true, .strides = "
     "\"BNSD\"});\n"
     "#ifdef USE_NPU\n  log(o);\n#endif\n  return o;\n"},
};

INSTANTIATE_TEST_SUITE_P(Cpp, Body, testing::ValuesIn(kBodies), RowName{});

class Refused : public testing::TestWithParam<Row> {};

// The third column is part of what is said.
TEST_P(Refused, AndSaysWhy) {
  const RunResult result = migrated("#include <torch/torch.h>\n" + std::string(GetParam().before));
  EXPECT_TRUE(result.changed.empty()) << *result.changed.front().new_bytes;
  EXPECT_NE(outcome(result).find(GetParam().after), std::string::npos) << outcome(result);
}

const Row kRefused[] = {
    {"macro",
     "#define ATTEND(q, k, v) torch::scaled_dot_product_attention(q, k, v)\n"
     "torch::Tensor f(torch::Tensor q) { return ATTEND(q, q, q); }\n",
     "not-editable: it comes out of the macro ATTEND"},
    {"template_body",
     "template <typename T>\ntorch::Tensor f(torch::Tensor q, T t) {\n"
     "  return torch::scaled_dot_product_attention(q, q, q);\n}\n",
     "not-editable: it stands in a template"},
    {"template_argument",
     "template <typename T>\ntorch::Tensor f(T q) {\n"
     "  return torch::scaled_dot_product_attention(q, q, q);\n}\n",
     "depend on a parameter of a template"},
    {"unresolved",
     "torch::Tensor f(Thing q) { return torch::scaled_dot_product_attention(q, q, q); }\n",
     "unresolved-callee"},
    {"wrong_arguments",
     "torch::Tensor f(torch::Tensor q) { return torch::scaled_dot_product_attention(q); }\n",
     "unresolved-callee"},
    {"gradients",
     "torch::Tensor f(torch::Tensor q) {\n  torch::AutoGradMode on(true);\n"
     "  return torch::scaled_dot_product_attention(q, q, q);\n}\n",
     "training-code"},
    {"name_taken",
     "int mindiesd;\n"
     "torch::Tensor f(torch::Tensor q) { return torch::scaled_dot_product_attention(q, q, q); }\n",
     "name-taken"},
    {"namespace_taken",
     "namespace mindiesd { int count; }\n"
     "torch::Tensor f(torch::Tensor q) { return torch::scaled_dot_product_attention(q, q, q); }\n",
     "name-taken"},
    {"argument_from_macro",
     "#define CAUSAL true\ntorch::Tensor f(torch::Tensor q) {\n"
     "  return torch::scaled_dot_product_attention(q, q, q, {}, 0.0, CAUSAL);\n}\n",
     "not-editable"},
    {"braces_do_not_match",
     "namespace a {\ntorch::Tensor f(torch::Tensor q) {\n"
     "  return torch::scaled_dot_product_attention(q, q, q);\n}\n",
     "as C++"},
    {"divisor_that_changes_between",
     "torch::Tensor f(torch::Tensor q, torch::Tensor k, torch::Tensor v, int64_t d) {\n"
     "  auto p = torch::matmul(q, k.transpose(-2, -1)) / std::sqrt(d);\n  d = 3;\n"
     "  return torch::matmul(torch::softmax(p, -1), v) * d;\n}\n",
     "not-spellable"},
    {"root_of_somebodys_own",
     "struct Scale {};\ndouble sqrt(Scale& s);\n"
     "torch::Tensor f(torch::Tensor q, torch::Tensor k, torch::Tensor v, Scale s) {\n"
     "  auto p = torch::matmul(q, k.transpose(-2, -1)) / sqrt(s);\n"
     "  return torch::matmul(torch::softmax(p, -1), v);\n}\n",
     "not-spellable"},
    {"norm_over_written_input",
     "torch::Tensor f(torch::Tensor x, torch::Tensor w) {\n  auto h = x.to(torch::kFloat32);\n"
     "  auto s = torch::rsqrt(h.pow(2).mean(-1, true) + 1e-6);\n  x.mul_(2);\n"
     "  return w * (h * s).to(x.scalar_type());\n}\n",
     "rms-form"},
    {"declared_in_another_block",
     "torch::Tensor f(torch::Tensor q, torch::Tensor k, torch::Tensor v, bool b) {\n"
     "  auto o = torch::matmul(q, k.transpose(-2, -1));\n  o = torch::softmax(o, -1);\n"
     "  {\n    o = torch::matmul(o, v);\n  }\n  return o;\n}\n",
     "not-editable: `o` is declared where its first value would go"},
    {"read_in_skipped_code",
     "torch::Tensor f(torch::Tensor q, torch::Tensor k, torch::Tensor v) {\n"
     "  auto w = torch::softmax(torch::matmul(q, k.transpose(-2, -1)), -1);\n"
     "  auto o = torch::matmul(w, v);\n#ifdef USE_NPU\n  log(w);\n#endif\n  return o;\n}\n",
     "not-editable: which code is compiled behind line 5 "},
    {"skipped_code_between_the_parts",
     "torch::Tensor f(torch::Tensor q, torch::Tensor k, torch::Tensor v) {\n"
     "  auto w = torch::softmax(torch::matmul(q, k.transpose(-2, -1)), -1);\n"
     "#ifdef USE_NPU\n  q = v;\n#endif\n  return torch::matmul(w, v);\n}\n",
     "not-editable: which code is compiled behind line 4 "},
    {"other_branch_of_a_condition",
     "torch::Tensor f(torch::Tensor q, torch::Tensor k, torch::Tensor v) {\n"
     "#ifdef USE_NPU\n  auto w = npu(q, k);\n#else\n"
     "  auto w = torch::softmax(torch::matmul(q, k.transpose(-2, -1)), -1);\n#endif\n"
     "  return torch::matmul(w, v);\n}\n",
     "not-editable: which code is compiled behind line 3 "},
    {"transposed_operand_in_skipped_code",
     "torch::Tensor f(torch::Tensor q) {\n  q = q.view({1, 2, 3, 4});\n"
     "  auto t = q.transpose(1, 2);\n"
     "  auto o = torch::scaled_dot_product_attention(t, t, t).transpose(1, 2);\n"
     "#ifdef USE_NPU\n  log(t);\n#endif\n  return o;\n}\n",
     "not-editable: which code is compiled behind line 6 "},
    {"value_of_a_branch",
     "torch::Tensor f(torch::Tensor q, torch::Tensor k, torch::Tensor v) {\n"
     "  double s = 0.5;\n#ifndef USE_NPU\n  s = 0.25;\n#endif\n"
     "  auto w = torch::softmax(torch::matmul(q, k.transpose(-2, -1)) * s, -1);\n"
     "  return torch::matmul(w, v) * s;\n}\n",
     "not-editable: which code is compiled behind line 4 "},
    {"in_a_branch_that_is_left_out",
     "torch::Tensor f(torch::Tensor q) {\n"
     "#if USE_NPU > 1\n  return torch::silu(q);\n#else\n  return q;\n#endif\n}\n",
     "inactive-code: it is compiled under `USE_NPU > 1` alone"},
};

INSTANTIATE_TEST_SUITE_P(Cpp, Refused, testing::ValuesIn(kRefused), RowName{});

TEST(CppText, StaysWhereTheTreeHasTheRuntimesHeader) {
  const RunResult result =
      migrated({{"include/mindiesd/functional.h", "#pragma once\n"},
                {"m.cpp",
                 "#include <torch/torch.h>\ntorch::Tensor f(torch::Tensor q) { return "
                 "torch::scaled_dot_product_attention(q, q, q); }\n"}});
  EXPECT_TRUE(result.changed.empty());
  EXPECT_NE(outcome(result).find("name-taken: include/mindiesd/functional.h"), std::string::npos)
      << outcome(result);
}

TEST(CppIncludes, GoWhereAPersonPutsThem) {
  const std::string body =
      "torch::Tensor f(torch::Tensor q) { return torch::scaled_dot_product_attention(q, q, q); }\n";
  const struct {
    const char* before;
    const char* after;
  } rows[] = {
      {"#include <vector>\n\n#include <torch/torch.h>\n\n#include \"a.h\"\n",
       "#include <vector>\n\n#include <mindiesd/functional.h>\n#include "
       "<torch/torch.h>\n\n#include "
       "\"a.h\"\n"},
      {"#include <torch/torch.h>\n#include <cmath>\n",
       "#include <torch/torch.h>\n#include <cmath>\n#include <mindiesd/functional.h>\n"},
      {"#pragma once\n\n#include <ATen/ATen.h>\nnamespace torch = at;\n",
       "#pragma once\n\n#include <ATen/ATen.h>\n#include <mindiesd/functional.h>\nnamespace torch "
       "= "
       "at;\n"},
      {"#ifndef A_H\n#define A_H\n#include <torch/torch.h>\n#endif\n",
       "#ifndef A_H\n#define A_H\n#include <mindiesd/functional.h>\n#include "
       "<torch/torch.h>\n#endif\n"},
      {"#ifdef __linux__\n#include <torch/extension.h>\n#endif\n#include <torch/torch.h>\n",
       "#ifdef __linux__\n#include <torch/extension.h>\n#endif\n#include <mindiesd/functional.h>\n"
       "#include <torch/torch.h>\n"},
      {"#include <mindiesd/functional.h>\n#include <torch/torch.h>\n",
       "#include <mindiesd/functional.h>\n#include <torch/torch.h>\n"},
  };
  for (const auto& row : rows) {
    const RunResult result = migrated(row.before + body);
    ASSERT_EQ(result.changed.size(), 1U) << row.before << outcome(result);
    const std::string& text = *result.changed.front().new_bytes;
    EXPECT_EQ(text.substr(0, text.find("torch::Tensor f")), row.after);
  }
}

TEST(CppText, KeepsWindowsLineEndings) {
  const RunResult result = migrated(
      "#include <torch/torch.h>\r\ntorch::Tensor f(torch::Tensor q) {\r\n"
      "  return torch::scaled_dot_product_attention(q, q, q);\r\n}\r\n");
  ASSERT_EQ(result.changed.size(), 1U) << outcome(result);
  EXPECT_EQ(*result.changed.front().new_bytes,
            "#include <mindiesd/functional.h>\r\n#include <torch/torch.h>\r\n"
            "torch::Tensor f(torch::Tensor q) {\r\n"
            "  return mindiesd::ext::attention_forward(q, q, q, {.head_first = true});\r\n}\r\n");
}

}  // namespace
}  // namespace refit
