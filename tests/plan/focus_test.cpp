// What the prefilter leaves out could not have held a site: over the whole corpus a run that looks
// into every function finds what the run that does not finds.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "rewriter/cli/languages.hpp"

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
      options.rules_folder = rules_folder;
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
    options.rules_folder = REFIT_RULES_DIR;
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

// What a function sees decides whether it is lowered: its own words, those of short functions that
// it names, and what the file gives the names that it reads.
TEST(Focus, LowersWhatCanSeeTheWords) {
  const std::string rules_folder = REFIT_RULES_DIR;
  const auto rules = RuleSet::load({rules_folder}, rules_folder + "/catalogue");
  ASSERT_TRUE(rules) << rules.error().message;
  const std::string imports =
      "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n";
  const std::string norm = "(x * x).mean(-1, keepdim=True)";
  struct Row {
    std::string name, text;
    uint64_t lowered;  // functions
    bool site;
  };
  std::string longer;
  for (int i = 0; i < 9; ++i) longer += "    y = y + " + std::to_string(i) + "\n";
  const Row rows[] = {
      {"its own words", "def f(x):\n    return x * torch.rsqrt(" + norm + ")\n", 1, true},
      {"over lines and without blanks",
       "def f(x):\n    return x*torch . rsqrt(\n        (x*x) . mean(  # {\n            -1,\n"
       "            keepdim=True))\n",
       1, true},
      {"by another operator", "def f(x):\n    return x * " + norm + "**-0.5\n", 1, true},
      {"another axis", "def f(x):\n    return x * (x * x).mean(0)\n", 0, false},
      {"a comment's words", "def f(x):\n    return x  # rsqrt, mean(-1)\n", 0, false},
      {"a docstring's", "def f(x):\n    \"\"\"rsqrt of mean(-1)\"\"\"\n    return x\n", 0, false},
      {"of a short helper",
       "def h(x):\n    return " + norm + "\n\n\ndef f(x):\n    return x * torch.rsqrt(h(x))\n", 2,
       true},
      {"of a helper that is too long",
       "def h(y):\n" + longer +
           "    return (y * y).mean(-1, keepdim=True)\n\n\n"
           "def f(x):\n    return x * torch.rsqrt(h(x))\n",
       0, false},
      {"of a private method",
       "class A:\n    def _h(self, x):\n        return " + norm +
           "\n\n    def f(self, x):\n        return x * torch.rsqrt(self._h(x))\n",
       1, true},
      {"what an attribute is given",
       "class A(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
       "        self.norm = nn.LayerNorm(d)\n\n    def forward(self, x):\n"
       "        return self.norm(x)\n\n    def other(self, x):\n        return self.act(x)\n",
       2, true},  // once more in the rewritten text
      {"what a class inherits from",
       "class Norm(nn.LayerNorm):\n    pass\n\n\nclass A(nn.Module):\n"
       "    def __init__(self, d):\n        super().__init__()\n        self.n = Norm(d)\n\n"
       "    def forward(self, x):\n        return self.n(x)\n",
       1, false},
      {"a name of the module",
       "root = torch.rsqrt\n\n\ndef f(x):\n    return x * root(" + norm + ")\n", 1, true},
      {"an import's other name",
       "from torch import rsqrt as root\n\n\ndef f(x):\n    return x * root(" + norm + ")\n", 1,
       true},
      {"a function's import's other name, given to an attribute",
       "class A(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
       "        from torch.nn import LayerNorm as Norm\n        self.n = Norm(d)\n\n"
       "    def forward(self, x):\n        return self.n(x)\n",
       3, true},  // the constructor, too, which names what the import gives
      {"an import's other name in another function",
       "def g(x):\n    from torch import rsqrt as root\n    return root(x)\n\n\n"
       "def f(x, root):\n    return x * root(" +
           norm + ")\n",
       0, false},
      {"the module's own statements",
       "x = torch.ones(1, 2, 3, 4)\ny = F.scaled_dot_product_attention(x, x, x)\n\n\n"
       "def f(x):\n    return x\n",
       0, true},
      {"a statement of a class under a condition",
       "class A:\n    if torch:\n        y = F.scaled_dot_product_attention(x, x, x)\n", 0, true},
      {"a default", "def f(x, y=F.scaled_dot_product_attention(x, x, x)):\n    return x\n", 1,
       true},
      {"a matrix product without blanks",
       "def f(q, k, v):\n    w = F.softmax(q@k.transpose(-1, -2), dim=-1)\n    return w@v\n", 1,
       true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(looked_into(*rules, imports + row.text, row.site).lowered, row.lowered) << row.text;
  }
}

// A helper whose result a site uses is lowered for its rank.
TEST(Focus, LowersHelpersOfWhatIsWanted) {
  const std::string rules_folder = REFIT_RULES_DIR;
  const auto rules = RuleSet::load({rules_folder}, rules_folder + "/catalogue");
  ASSERT_TRUE(rules) << rules.error().message;
  const std::string site =
      "\n\ndef f(x, v):\n    q = h(x)\n"
      "    return torch.nn.functional.scaled_dot_product_attention(q, q, v)\n";
  struct Row {
    std::string helper;
    uint64_t lowered;
  };
  const Row rows[] = {
      {"def h(x):\n    return x.view(1, 2, 3, 4)\n", 2},
      {"def h(x):\n    return x, x\n", 1},
      {"def h(x):\n    if x:\n        return x\n    return None\n", 1},
      {"def h(x):\n    print(x)\n", 1},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(looked_into(*rules, "import torch\n\n\n" + row.helper + site, true).lowered,
              row.lowered)
        << row.helper;
  }
}

// What is not lowered is read all the same where it decides about an import, and stands where it
// stood whatever bytes it holds.
TEST(Focus, WhatIsNotLoweredCounts) {
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
        options.rules_folder = rules_folder;
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
