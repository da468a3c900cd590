// What the prefilter leaves out could not have held a site: over the whole corpus a run that looks
// into every function finds what the run that does not finds.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "rewriter/plan/engine.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

std::string shown(const Finding& f) {
  return f.file + ":" + std::to_string(f.line) + ":" + std::to_string(f.column) + " " + f.rule +
         " " + (f.outcome == Outcome::rewritten ? "rewritten " : "refused ") + f.code + " " +
         f.through.value_or("") + " " + f.message;
}

// A folder that says what the tool does not do yet.
bool is_gap(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("expect")) continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("gap:")) return true;
    }
  }
  return false;
}

TEST(Focus, LeavesNoSiteOut) {
  const std::string rules_folder = REFIT_RULES_DIR;
  const auto rules = RuleSet::load({rules_folder}, rules_folder + "/catalogue");
  ASSERT_TRUE(rules) << rules.error().message;
  size_t findings = 0, parsed = 0, files = 0;
  for (const auto& folder : fs::directory_iterator(REFIT_CORPUS_DIR)) {
    if (!folder.is_directory() || is_gap(folder)) continue;
    std::set<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".py") paths.insert(entry.path().string());
    }
    Input input{folder.path().string(), {}, {""}};
    for (const std::string& path : paths) {
      input.files.push_back({path, fs::relative(path, folder).generic_string()});
    }
    std::set<std::string> found[2];
    for (const bool prefilter : {false, true}) {
      EngineOptions options;
      options.isomorphisms = rules_folder + "/isomorphisms.yaml";
      options.prefilter = prefilter;
      const auto result = run(*rules, input, options, nullptr);
      ASSERT_TRUE(result) << result.error().message;
      for (const Finding& f : result->findings) found[prefilter].insert(shown(f));
      for (const FileResult& f : result->changed) found[prefilter].insert(f.file + *f.new_bytes);
      if (prefilter) parsed += result->files_parsed;
    }
    files += paths.size();
    EXPECT_EQ(found[true], found[false]) << folder.path();
    findings += found[true].size();
  }
  EXPECT_GT(findings, 100U);
  EXPECT_LT(parsed, files);
}

struct Looked {
  uint64_t parsed = 0, lowered = 0;  // files and functions
};

// How much of a file of this text is looked into. What is left out of it holds no site.
Looked looked_into(const RuleSet& rules, const std::string& text, bool site) {
  const fs::path folder = fs::temp_directory_path() / ("refit_focus_" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "a.py", std::ios::binary) << text;
  const Input input{folder.string(), {{(folder / "a.py").string(), "a.py"}}, {""}};
  std::set<std::string> found[2];
  Looked out;
  for (const bool prefilter : {false, true}) {
    EngineOptions options;
    options.isomorphisms = std::string(REFIT_RULES_DIR) + "/isomorphisms.yaml";
    options.prefilter = prefilter;
    const auto result = run(rules, input, options, nullptr);
    if (!result) {
      ADD_FAILURE() << result.error().message;
      return {};
    }
    for (const Finding& f : result->findings) found[prefilter].insert(shown(f));
    if (prefilter) out = {result->files_parsed, result->functions_lowered};
  }
  EXPECT_EQ(found[true], found[false]) << text;
  EXPECT_EQ(!found[false].empty(), site) << text;
  fs::remove_all(folder);
  return out;
}

// Texts that share words with a pattern and cannot be a site need not be parsed; those that say the
// same in another way are.
TEST(Focus, AsksForArguments) {
  const std::string rules_folder = REFIT_RULES_DIR;
  const auto rules = RuleSet::load({rules_folder}, rules_folder + "/catalogue");
  ASSERT_TRUE(rules) << rules.error().message;
  const std::string rotation = "(a * c - b * s, b * c + a * s)";
  struct Row {
    std::string body;
    bool site;
  };
  const Row rows[] = {
      {"a, b = x.chunk(2)\n    return torch.cat([a, b], dim=-1)\n", false},
      {"a, b = x.chunk(2, dim=-1)\n    return torch.cat([a, b])\n", false},
      {"a, b = x.chunk(2, dim=-1)\n    return torch.cat([a] * 2)\n", false},
      {"a, b = x.chunk(3, dim=-1)\n    return torch.cat([a, b], -1)\n", false},
      {"a, b = x.chunk(2, dim=-1)  # to concatenate later, cat(a, b)\n    return a + b\n", false},
      {"y = g(x.mean(-1, keepdim=True), **c)\n    return y * y\n", false},
      {"y = x.mean(-1, keepdim=True) ** 0.5  # https://a.b\n    return y * y\n", false},
      {"y = x[..., : x.shape[-1] // 4]\n    return torch.cat([y, y], dim=-1)\n", false},
      {"a, b = x.chunk(2, dim=-1)\n    return torch.cat(" + rotation + ", dim=-1)\n", true},
      {"a, b = x.chunk(2, -1)\n    return torch.cat(" + rotation + ", axis=-1)\n", true},
      {"a, b = torch.chunk(x, chunks=2, dim=-1)\n    return torch.cat(dim=-1, tensors=" + rotation +
           ")\n",
       true},
      {"d = -1\n    a, b = x.chunk(2, dim=d)\n    return torch.cat(" + rotation + ", dim=d)\n",
       true},
      {"a, b = x.chunk(2,  # halves, (\n        dim=-1)\n    return torch.cat(" + rotation +
           ", dim=(-1))\n",
       true},
      {"j = torch.cat\n    a, b = x.chunk(2.0, dim=-1)\n    return j(" + rotation + ", -1)\n",
       true},
      {"return x * (\n        (x * x).mean(-1, keepdim=True)  # {\n        ** -0.5)\n", true},
      {"y = x * x  # mean\n    return x * (y.sum(-1, keepdim=True) / y.size(-1)) ** - 0.5\n", true},
  };
  const std::string head = "import torch\n\n\ndef f(x, c, s):\n    ";
  size_t passed_over = 0;
  for (const Row& row : rows) {
    passed_over += looked_into(*rules, head + row.body, row.site).parsed == 0;
  }
  EXPECT_GE(passed_over, 3U);  // the more spellings the rules know, the fewer
  // Neighbours are (-1, 2), and neither (2, -1) nor (-1, 1, 2).
  const std::string joined = "return torch.cat((y[..., 0] * c - s, y[..., 0] * s + c), dim=-1)\n";
  EXPECT_EQ(
      looked_into(*rules, head + "y = x.view(x.shape[0], 2, -1)\n    " + joined, false).parsed, 0U);
  EXPECT_EQ(
      looked_into(*rules, head + "y = x.view(x.shape[0], -1, 2)\n    " + joined, false).parsed, 1U);
}

// A word tells of an operation where it may name it, a sign of arithmetic between two operands.
TEST(Focus, AsksWhatNamesMean) {
  const std::string rules_folder = REFIT_RULES_DIR;
  const auto rules = RuleSet::load({rules_folder}, rules_folder + "/catalogue");
  ASSERT_TRUE(rules) << rules.error().message;
  const std::string head =
      "import math\nimport operator\n\nimport numpy as np\nimport torch\n"
      "import torch.nn.functional as F\nfrom numpy import concatenate as cat\n\n\n";
  const std::string rest = "x * torch.rsqrt(m + 1e-6)\n";
  struct Row {
    std::string body;
    bool site;
  };
  const Row rows[] = {
      // Another library's functions, a local function, a method that no tensor has.
      {"def f(x):\n    m = np.mean(x * x, -1, keepdims=True)\n    return x / np.sqrt(m + 1e-6)\n",
       false},
      {"def f(x, c):\n    return c.processor.normalize(x, dim=-1) * 2.0\n", false},
      {"def f(x, normalize):\n    return normalize(x, dim=-1) * 2.0\n", false},
      {"def f(x, c, s):\n    a, b = np.split(x, 2, -1)\n"
       "    return cat((a * c - b * s, b * c + a * s), -1)\n",
       false},
      // No products in what is joined.
      {"def f(x, c, s):\n    a, b = x.chunk(2, dim=-1)\n"
       "    return torch.cat((a + c, b - s), dim=-1)\n",
       false},
      {"def f(x, *c, **s):\n    a, b = x.chunk(2, dim=-1)\n"
       "    return torch.cat((-a, *c, g(x, *c, k=-1e-5)), dim=-1)\n",
       false},
      // What the engine sees through.
      {"def f(x):\n    m = (x * x).mean(-1, keepdim=True)\n    return " + rest, true},
      {"def f(np):\n    m = np.mul(np).mean(-1, keepdim=True)\n"
       "    return np * torch.rsqrt(m + 1e-6)\n",
       true},
      {"def f(x):\n    m = operator.mul(x, x).mean(-1, keepdim=True)\n"
       "    return operator.mul(x, torch.rsqrt(operator.add(m, 1e-6)))\n",
       true},
      {"def f(x):\n    t = torch\n    m = t.mean(x * x, -1, keepdim=True)\n"
       "    return x * t.rsqrt(m + 1e-6)\n",
       true},
      {"def f(x):\n    import torch as t\n    m = t.mean(x * x, -1, keepdim=True)\n"
       "    return x * t.rsqrt(m + 1e-6)\n",
       true},
      {"def f(x):\n    from torch import mean, rsqrt as inverse\n"
       "    m = mean(x * x, -1, keepdim=True)\n    return x * inverse(m + 1e-6)\n",
       true},
      {"def f(x):\n    g = F\n    return g.normalize(x, dim=-1) * 2.0\n", true},
      {"def f(x):\n    g = torch.nn.functional\n    return g.normalize(x, dim=-1) * 2.0\n", true},
      {"def f(x):\n    return (F).normalize(x, dim=-1) * 2.0\n", true},
      {"def f(x):\n    return F . normalize(x, dim=-1) * 2.0\n", true},
      {"def f(x):\n    return F.normalize(x, dim=-1).mul(2.0)\n", true},
      {"normalize = F.normalize\n\n\ndef f(x):\n    return normalize(x, dim=-1) * 2.0\n", true},
      {"def f(x, c, s):\n    a, b = x.chunk(2, dim=-1)\n"
       "    return torch.cat((a * c -\n        b * s, b * c  # and (\n        + a * s), dim=-1)\n",
       true},
      {"def f(x, c, s):\n    a, b = x.chunk(2, dim=-1)\n    c1 = a * c\n    c1 -= b * s\n"
       "    s1 = b * c\n    s1 += a * s\n    return torch.cat((c1, s1), dim=-1)\n",
       true},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(looked_into(*rules, head + row.body, row.site).lowered != 0, row.site) << row.body;
  }
}

// Attention by hand is two products around a softmax: a decorator's sign is none.
TEST(Focus, AsksForProducts) {
  const std::string rules_folder = REFIT_RULES_DIR;
  const auto rules = RuleSet::load({rules_folder}, rules_folder + "/catalogue");
  ASSERT_TRUE(rules) << rules.error().message;
  // The file has all the words, in another function.
  const std::string head =
      "import torch\nfrom torch import nn\n\n\n"
      "def words(x):\n    return torch.matmul(x, x).transpose(1, 2)\n\n\n";
  struct Row {
    std::string body;
    bool site;
  };
  const Row rows[] = {
      {"def f(q, k, v):\n    return torch.softmax(q @ k.transpose(-2, -1), -1) @ v\n", true},
      {"def f(q, k, v):\n    s = (q\n         @k.mT)\n    s = s.softmax(-1)\n    return (\n"
       "        s\n        # over the keys\n        @v)\n",
       true},
      {"def f(q, k, v):\n    soft = nn.Softmax(dim=-1)\n    return soft(q @ k.mT) @ v\n", true},
      {"def f(q, k, v):\n    s = torch.einsum('bqd,bkd->bqk', q, k).softmax(-1)\n"
       "    return torch.bmm(s, v)\n",
       true},
      {"@torch.no_grad()\n@other  # a @ b\n\ndef f(q, k, v):\n    return q.softmax(-1)\n", false},
      {"class A:\n    @staticmethod\n    # said twice\n    def f(q):\n        return "
       "q.softmax(-1)\n",
       false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(looked_into(*rules, head + row.body, row.site).lowered != 0, row.site) << row.body;
  }
}

// Which layer an attribute holds and what a number is added to are asked of the text: a file that
// says LayerNorm is not parsed for that alone.
TEST(Focus, AsksForLayersAndSums) {
  const std::string rules_folder = REFIT_RULES_DIR;
  const auto rules = RuleSet::load({rules_folder}, rules_folder + "/catalogue");
  ASSERT_TRUE(rules) << rules.error().message;
  const std::string head =
      "from torch import nn\nfrom torch.nn import LayerNorm as Normal\n\n\n"
      "def made(x, one):\n    return x * (one + x)\n\n\nclass Block(nn.Module):\n";
  const std::string make = "    def __init__(self, n):\n        super().__init__()\n        ";
  const std::string norm = make + "self.norm = nn.LayerNorm(n)\n\n";
  const std::string call = "    def forward(self, x, scale, shift):\n        ";
  struct Row {
    std::string body;
    bool site, parsed;
  };
  const Row rows[] = {
      {norm + call + "return self.other(x)  # 1 + 1\n", false, false},
      {norm + call + "return self.other(x[..., 1 + 1 :])\n", false, false},
      {norm + call + "for i in range(1 + len(x)):\n            x = self.other(x, 1)\n", false,
       false},
      {norm + call + "\"\"\"x * (1 + scale)\"\"\"\n        return self.other(x, dim=1)\n", false,
       false},
      {norm + call + "self.norm.weight, y = x, self.norm.eps\n        return y\n", false, false},
      {norm + call + "return self.norm(x)\n", true, true},
      {norm + call + "layer = self.norm\n        return layer(x)\n", true, true},
      {norm + call + "return self. \\\n            norm(x)\n", true, true},
      {make + "self.norm = (  # a layer\n            None if n is None else Normal(n))\n\n" + call +
           "return self.norm(x)\n",
       true, true},
      {make + "from torch.nn import LayerNorm as L\n        self.norm: nn.Module = L(n)\n\n" +
           call + "return self.norm(x)\n",
       true, true},
      {"    norm = nn.LayerNorm(8)\n\n" + call + "return self.norm(x)\n", true, true},
      {norm + call + "return self.other(x) * (1 + scale) + shift\n", true, true},
      {norm + call + "one = 1.0\n        return self.other(x) * (one + scale) + shift\n", true,
       true},
      {norm + call +
           "scale = scale + \\\n            1\n        return self.other(x) * scale + shift\n",
       true, true},
      {norm + call + "return torch.addcmul(shift, self.other(x), 1 + scale)\n", false, true},
      {norm + call + "scale = 1 + scale\n        x = self.other(x)\n        x = x * scale\n" +
           "        return x + shift\n",
       true, true},
      {norm + call + "a, b = 1 + scale, 1 + shift\n        return self.other(x) * a + b\n", true,
       true},
      {norm + call + "one, two = 1, 2\n        return self.other(x) * (one + scale) + two\n", true,
       true},
      {norm + call + "return made(self.other(x), 1) + shift\n", true, true},
      {norm + call + "if x is None: scale = 1 + scale\n        return self.other(x) * scale + 2\n",
       false, true},
      {norm + call +
           "n = len(x) + 1\n        for i in range(n):\n            x = self.other(x, n)\n" +
           "        return x[:, n:] if n > 2 else x\n",
       false, false},
      {norm + call + "x = self.other(x)\n        return x / (x.mean() + 1e-5)\n", false, false},
      {norm + call + "n = list(int(k) for k in x)[-1] + 1\n        return self.other(x, n)\n",
       false, false},
      {norm + call + "return self.other([x] * (1 + len(x)))\n", false, false},
      {norm + call +
           "x = self.other(x, **x.all)\n        return x if (len(x) + 1) / 2 > 1 else x\n",
       false, false},
      {norm + call + "shape = [1] * len(x)\n        return self.other(x).view(shape)\n", false,
       false},
      {norm + call + "x.scale = 1 + scale\n        x[0] += 1\n        return self.other(x)\n",
       false, false},
  };
  for (const Row& row : rows) {
    const Looked looked = looked_into(*rules, head + row.body, row.site);
    EXPECT_EQ(looked.parsed != 0, row.parsed) << row.body;
  }
}

// What is not parsed is read all the same where it decides about an import, and stands where it
// stood whatever bytes it holds.
TEST(Focus, WhatIsNotParsedCounts) {
  const std::string rules_folder = REFIT_RULES_DIR;
  const auto rules = RuleSet::load({rules_folder}, rules_folder + "/catalogue");
  ASSERT_TRUE(rules) << rules.error().message;
  const std::string head = "import torch.nn.functional as F\n\n\n";
  const std::string site =
      "def attend(q, k, v):\n    return F.scaled_dot_product_attention(q, k, v)\n";
  struct Row {
    std::string other;
    bool import_stays;
  };
  const Row rows[] = {
      {"def other(x):\n    y = x + 1\n    return F.relu(y)\n\n\n", true},
      {"class Other:\n    def other(self, x):\n        return self.first(F.relu(x))\n\n\n", true},
      {"def other(x):\n    y = x.F + 1\n    return g(y, F=2)\n\n\n", false},
      {"def other(x):\n    # F here, \u00e9\u6f22\U0001f600\n    return x + 1\n\n\n", false},
      {"def other(x):\n    return x + '\x01'\n\n\n", false},
      {"def other(x):\n    return 'Optional[F]'\n\n\n", true},
      {"def other(x):\n    global F\n    F = None\n    return 1\n\n\n", true},
      {"def other():\n    import F\n    return 1 + 1 + 1\n\n\n", true},
  };
  const fs::path folder = fs::temp_directory_path() / ("refit_focus_" + std::to_string(getpid()));
  fs::create_directories(folder);
  for (const Row& row : rows) {
    for (const bool first : {true, false}) {
      const std::string text =
          head + (first ? row.other : "") + site + (first ? "" : "\n\n" + row.other);
      std::ofstream(folder / "a.py", std::ios::binary) << text;
      const Input input{folder.string(), {{(folder / "a.py").string(), "a.py"}}, {""}};
      std::string made[2];
      for (const bool prefilter : {false, true}) {
        EngineOptions options;
        options.isomorphisms = rules_folder + "/isomorphisms.yaml";
        options.prefilter = prefilter;
        const auto result = run(*rules, input, options, nullptr);
        ASSERT_TRUE(result) << result.error().message;
        if (!result->changed.empty()) made[prefilter] = *result->changed[0].new_bytes;
      }
      EXPECT_EQ(made[true], made[false]) << text;
      if (made[true].empty()) continue;
      EXPECT_EQ(made[true].find("import torch.nn.functional as F") != std::string::npos,
                row.import_stays)
          << made[true];
    }
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace refit
