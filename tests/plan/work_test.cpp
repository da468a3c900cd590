// How often a run opens files: each once, and again only those that may hold a name it follows.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "rewriter/cli/languages.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

// A tree in which one file gives a callee another name, a second calls it by that, a third defines
// a rotation that a fourth calls; and 200 that hold words of rules, but none of those names.
TEST(Work, FilesAreReadOnceAndFewAgain) {
  const fs::path folder = fs::temp_directory_path() / ("refit_work_" + std::to_string(getpid()));
  fs::create_directories(folder);
  Input input{folder.string(), {}, {""}};
  uint64_t bytes = 0;
  auto add = [&](const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << text;
    input.files.push_back({(folder / name).string(), name});
    bytes += text.size();
  };
  add("named.py",
      "from torch.nn.functional import scaled_dot_product_attention as renamed_attention\n");
  add("calling.py",
      "from named import renamed_attention\n\n\n"
      "def attend(q, k, v):\n    return renamed_attention(q, k, v)\n");
  add("rotating.py",
      "import torch\n\n\n"
      "def turn_pairs(x):\n    a, b = x.chunk(2, dim=-1)\n    return torch.cat((-b, a), dim=-1)\n"
      "\n\n"
      "def turn(x, cos, sin):\n    return x * cos + turn_pairs(x) * sin\n");
  add("turning.py",
      "from rotating import turn\n\n\n"
      "def both(q, k, cos, sin):\n    return turn(q, cos, sin), turn(k, cos, sin)\n");
  for (int i = 0; i < 200; ++i) {
    add("other" + std::to_string(i) + ".py",
        "import torch\nfrom torch import nn\n\n\n"
        "class Layer(nn.Module):\n    def forward(self, x, mask=None):\n"
        "        out = torch.stack([x, x.transpose(1, 2)]).mean(-1)\n"
        "        return out.chunk(2, dim=-1)[0]\n");
  }
  const std::string rules_folder = REFIT_RULES_DIR;
  const auto rules = RuleSet::load({rules_folder}, rules_folder + "/catalogue");
  ASSERT_TRUE(rules) << rules.error().message;
  EngineOptions options;
  options.rules_folder = rules_folder;
  for (unsigned jobs : {1u, 3u}) {
    options.jobs = jobs;
    const auto result = run(*rules, input, options, nullptr);
    ASSERT_TRUE(result) << result.error().message;
    std::set<std::string> found;
    for (const Finding& f : result->findings) found.insert(f.file);
    EXPECT_TRUE(found.contains("calling.py"));
    EXPECT_TRUE(found.contains("turning.py"));
    EXPECT_EQ(result->files_scanned, 204u);
    EXPECT_LE(result->files_read, 204u + 8u);
    EXPECT_LE(result->bytes_read, bytes + 2000u);
    EXPECT_LE(result->files_parsed, 4u);
  }
  fs::remove_all(folder);
}

// A layer whose class the tree defines itself is none of the catalogue's.
TEST(Work, CallsOfTheTreesOwnLayersAreNoSites) {
  const std::string rules_folder = REFIT_RULES_DIR;
  const auto rules = RuleSet::load({rules_folder}, rules_folder + "/catalogue");
  ASSERT_TRUE(rules) << rules.error().message;
  EngineOptions options;
  options.rules_folder = rules_folder;
  for (const bool own : {false, true}) {
    const fs::path folder = fs::temp_directory_path() / ("refit_own_" + std::to_string(getpid()));
    fs::create_directories(folder / "torch" / "nn");
    Input input{folder.string(), {}, {""}};
    auto add = [&](const std::string& name, const std::string& text) {
      std::ofstream(folder / name) << text;
      input.files.push_back({(folder / name).string(), name});
    };
    add("model.py",
        "from torch import nn\n\n\n"
        "class Block(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n"
        "        self.norm = nn.LayerNorm(dim)\n\n"
        "    def forward(self, x):\n        return self.norm(x)\n");
    if (own) {
      add("torch/__init__.py", "");
      add("torch/nn/__init__.py",
          "class Module:\n    pass\n\n\n"
          "class LayerNorm(Module):\n    def forward(self, x):\n        return x + 1\n");
    }
    const auto result = run(*rules, input, options, nullptr);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->findings.size(), own ? 0u : 1u);
    fs::remove_all(folder);
  }
}

}  // namespace
}  // namespace refit
