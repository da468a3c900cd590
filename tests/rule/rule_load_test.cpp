// What the sample with every key becomes in memory; which files a folder holds; what select keeps.
#include <gtest/gtest.h>

#include "rewriter/rule/rule.hpp"
#include "tests/rule/scratch_folder.hpp"

namespace refit {
namespace {

const std::string kCatalogue = std::string(REFIT_RULES_DIR) + "/catalogue";

Expected<RuleSet> load(const std::vector<std::string>& paths) {
  return RuleSet::load(paths, kCatalogue);
}

std::string values_of(const Where& where) {
  std::string text;
  for (const Literal& literal : where.values) text += to_string(literal) + " ";
  return text;
}

TEST(RuleSet, ReadsEveryKey) {
  auto set = load({std::string(REFIT_TEST_DATA_DIR) + "/every_key.yaml"});
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_EQ(set->rules().size(), 2u);
  EXPECT_NE(set->catalogue().find("torch.cat"), nullptr);

  const Rule& call = set->rules()[0];
  EXPECT_EQ(call.id, "call-with-everything");
  EXPECT_EQ(call.summary, "scaled_dot_product_attention becomes attention_forward");
  EXPECT_EQ(call.subject, "attention");
  EXPECT_TRUE(call.attention);
  EXPECT_EQ(call.at.line, 5);
  EXPECT_EQ(call.at.column, 9);
  EXPECT_EQ(call.match.call,
            std::vector<std::string>{"torch.nn.functional.scaled_dot_product_attention"});
  EXPECT_TRUE(call.match.construct.empty() && call.match.patterns.empty());

  ASSERT_EQ(call.where.size(), 8u);
  EXPECT_EQ(call.where[0].kind, "rank");
  EXPECT_EQ(call.where[0].of, (std::vector<std::string>{"query", "key", "value"}));
  EXPECT_EQ(call.where[0].number, 4);
  EXPECT_EQ(call.where[0].code, "rank-unknown");
  EXPECT_EQ(call.where[0].says, "The operands are not shown to be 4-D.");
  EXPECT_EQ(call.where[0].or_assume, std::nullopt);
  EXPECT_EQ(call.where[0].at.line, 12);
  EXPECT_EQ(call.where[1].kind, "inference_zero");
  EXPECT_EQ(call.where[1].or_assume, "dropout_p == 0 at inference");
  EXPECT_EQ(values_of(call.where[2]), "False ");
  EXPECT_EQ(values_of(call.where[3]), "None False 0 0.0 -1 ");
  EXPECT_EQ(values_of(call.where[4]), "\"auto\" (-1, -1) torch.float32 None ");
  EXPECT_EQ(values_of(call.where[5]), "torch.float32 ");
  EXPECT_EQ(call.where[6].of, std::vector<std::string>{"enable_gqa"});
  EXPECT_EQ(values_of(call.where[7]), "torch ");

  ASSERT_TRUE(call.layout);
  const Layout layout = call.layout.value_or(Layout{});
  EXPECT_EQ(layout.operands.at("key"), "BNSD");
  EXPECT_EQ(layout.result, "BNSD");
  EXPECT_EQ(layout.target, "BSND");
  EXPECT_EQ(layout.otherwise.at("head_first"), "True");

  ASSERT_EQ(call.rewrites.size(), 3u);
  EXPECT_EQ(call.rewrites[0].targets, std::vector<Target>{Target::ascend});
  ASSERT_EQ(call.rewrites[0].where.size(), 1u);
  EXPECT_EQ(call.rewrites[0].where[0].code, "");
  EXPECT_EQ(call.rewrites[0].assumes, std::vector<std::string>{"the mask is absent"});
  EXPECT_EQ(call.rewrites[1].targets, (std::vector<Target>{Target::cuda, Target::ascend}));
  EXPECT_EQ(call.rewrites[1].assumes.size(), 2u);
  EXPECT_EQ(call.rewrites[2].with,
            "mindiesd.ext.attention_forward($query, $key, $value, attn_mask=$attn_mask)");
  EXPECT_EQ(call.triggers, (std::vector<std::vector<std::string>>{{"scaled_dot_product_attention"},
                                                                  {"torch", "functional"}}));
  ASSERT_EQ(call.tests.size(), 2u);
  EXPECT_EQ(call.tests[0].target, Target::cuda);
  EXPECT_EQ(call.tests[0].after, "import mindiesd\nout = mindiesd.attention_forward(q, k, v)\n");
  EXPECT_EQ(call.tests[1].after, std::nullopt);
  EXPECT_EQ(call.tests[1].code, "unsupported-argument");
  EXPECT_EQ(call.tests[1].target, Target::ascend);

  const Rule& pattern = set->rules()[1];
  EXPECT_FALSE(pattern.attention);
  ASSERT_EQ(pattern.match.patterns.size(), 2u);
  EXPECT_EQ(pattern.match.patterns[0].code,
            "return $x * torch.rsqrt($x.pow(2).mean(-1, keepdim=True) + $eps)");
  EXPECT_EQ(pattern.match.patterns[1].set.at("result"), "\"promoted\"");
  ASSERT_EQ(pattern.match.patterns[1].where.size(), 5u);
  EXPECT_EQ(pattern.match.patterns[1].where[1].kind, "simple");
  ASSERT_EQ(pattern.match.choices.at("weight").size(), 3u);
  EXPECT_EQ(pattern.match.choices.at("weight")[0].code, "$given.float()");
  EXPECT_EQ(pattern.match.choices.at("weight")[2].code, "");
  EXPECT_EQ(pattern.match.choices.at("weight")[2].set.at("given"), "None");
  EXPECT_EQ(pattern.match.bypass.at("weight"), "given");
  ASSERT_EQ(pattern.anchors.size(), 2u);
  EXPECT_EQ(pattern.anchors[0].patterns.at(0).code, "return torch.rsqrt($any)");
  EXPECT_EQ(pattern.anchors[0].code, "no-pattern");
  EXPECT_EQ(pattern.anchors[1].operation.at(0), "torch.softmax");
  EXPECT_EQ(pattern.anchors[1].fed_by.at(1), "torch.amax");
  EXPECT_EQ(pattern.shared, "norm-shared");
  EXPECT_TRUE(pattern.joint);
  EXPECT_EQ(pattern.where[0].kind, "not_in_tree");
  EXPECT_EQ(pattern.where[0].values.at(0).text, "autocast()");
  EXPECT_EQ(pattern.where[1].kind, "unread");
  EXPECT_EQ(pattern.where[1].number, 0);
  EXPECT_EQ(pattern.where[2].kind, "unpacked");
  EXPECT_EQ(pattern.where[2].number, 3);
  EXPECT_EQ(pattern.where[2].values.at(0).integer, 2);
  ASSERT_EQ(pattern.rewrites.size(), 1u);
  EXPECT_TRUE(pattern.rewrites[0].targets.empty());
}

std::string rule(const std::string& id) {
  return "id: " + id +
         "\nsummary: s\nsubject: norm\nmatch: {call: torch.rms_norm}\n"
         "rewrite: f($input)\n";
}

std::string ids(const RuleSet& set) {
  std::string text;
  for (const Rule& item : set.rules()) text += (text.empty() ? "" : " ") + item.id;
  return text;
}

TEST(RuleSet, OfThisProjectLoads) {
  auto set = load({REFIT_RULES_DIR});
  // Nothing else may be wrong with the folder than that no rule has been written yet.
  if (!set) {
    EXPECT_EQ(set.error().message,
              REFIT_RULES_DIR ": expected rule files (*.yaml) in the folder, found none");
  }
}

TEST(RuleSet, DerivesTriggersFromTheCallee) {
  ScratchFolder folder;
  folder.put("a.yaml", rule("a"));
  folder.put("b.yaml",
             "id: b\nsummary: s\nsubject: shape\nmatch: {call: [torch.transpose, torch.permute]}\n"
             "rewrite: f($input)\n");
  folder.put("c.yaml",
             "id: c\nsummary: s\nsubject: norm\nmatch: {pattern: return $x}\nrewrite: f($x)\n");
  auto set = load({folder.path()});
  ASSERT_TRUE(set) << set.error().message;
  using Words = std::vector<std::vector<std::string>>;
  EXPECT_EQ(set->rules()[0].triggers, (Words{{"rms_norm"}}));
  EXPECT_EQ(set->rules()[1].triggers, (Words{{"transpose", "swapdims", "swapaxes", "permute"}}));
  EXPECT_EQ(set->rules()[2].triggers, Words{});
}

TEST(RuleSet, TakesTheRuleFilesOfAFolder) {
  ScratchFolder folder;
  folder.put("b.yaml", rule("b"));
  folder.put("a/z.yml", rule("z"));
  folder.put("a/deep/y.yaml", rule("y"));
  folder.put("catalogue/mine.yaml", "library: mine\noperations: []\n");
  folder.put("targets/cuda.yaml", "not: a rule\n");
  folder.put("isomorphisms.yaml", "not: a rule\n");
  folder.put("notes.txt", "not a rule\n");
  std::filesystem::create_directory_symlink(folder.path(), folder.path("a/loop"));
  auto set = load({folder.path()});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(ids(*set), "y z b");
  // A file named outright is read whatever it is called, and one file counts once.
  folder.put("other.txt", rule("other"));
  set = load({folder.path("other.txt"), folder.path("b.yaml"), folder.path()});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(ids(*set), "other b y z");
}

TEST(RuleSet, SelectsByGlob) {
  ScratchFolder folder;
  for (const char* id : {"attention-a", "attention-b", "norm"}) {
    folder.put(std::string(id) + ".yaml", rule(id));
  }
  struct Row {
    std::vector<std::string> select, ignore;
    std::string expected;
  };
  const Row table[] = {
      {{}, {}, "attention-a attention-b norm"},
      {{"attention-*"}, {}, "attention-a attention-b"},
      {{"attention-*", "norm"}, {"*-a"}, "attention-b norm"},
      {{}, {"attention-?"}, "norm"},
      {{"norm"}, {"norm"}, ""},
      {{"nrom"}, {"x*"}, "no rule matches `nrom`\nno rule matches `x*`"},
      {{"attention-c"}, {}, "no rule matches `attention-c`; did you mean `attention-a`?"},
  };
  for (const Row& row : table) {
    auto set = load({folder.path()});
    ASSERT_TRUE(set) << set.error().message;
    auto done = set->select(row.select, row.ignore);
    EXPECT_EQ(done ? ids(*set) : done.error().message, row.expected);
    // A failed selection changes nothing.
    if (!done) {
      EXPECT_EQ(set->rules().size(), 3u);
    }
  }
}

}  // namespace
}  // namespace refit
