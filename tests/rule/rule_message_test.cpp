// Wrong rule files and the exact message of each. A row's text replaces one line of a good rule, so
// that each message has its mistake alone to thank.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "rewriter/rule/rule.hpp"
#include "tests/rule/scratch_folder.hpp"

namespace refit {
namespace {

const std::string kCatalogue = std::string(REFIT_RULES_DIR) + "/catalogue";

// Lines 1 to 5 of a good rule, by what they are called in the rows below.
const char* const kLines[] = {
    "id: good",
    "summary: s",
    "subject: attention",
    "match: {call: torch.nn.functional.scaled_dot_product_attention}",
    "rewrite: mindiesd.attention_forward($query, $key, $value, scale=$scale)",
};

struct Row {
  int line;  // that `text` replaces; 0: `text` is the whole file; 6: it is added
  const char* text;
  const char* message;
};

std::string file_of(const Row& row) {
  if (row.line == 0) return row.text;
  std::string text;
  for (int i = 1; i <= 5; ++i) {
    text += (i == row.line ? row.text : kLines[i - 1]) + std::string("\n");
  }
  return row.line == 6 ? text + row.text + "\n" : text;
}

void expect_messages(std::initializer_list<Row> table) {
  for (const Row& row : table) {
    ScratchFolder folder;
    folder.put("r.yaml", file_of(row));
    auto set = RuleSet::load({folder.path("r.yaml")}, kCatalogue);
    ASSERT_FALSE(set) << file_of(row);
    EXPECT_EQ(folder.without_path(set.error().message), row.message) << file_of(row);
  }
}

TEST(RuleMessages, TheGoodRuleLoads) {
  ScratchFolder folder;
  folder.put("r.yaml", file_of({7, "", ""}));
  auto set = RuleSet::load({folder.path("r.yaml")}, kCatalogue);
  ASSERT_TRUE(set) << set.error().message;
}

TEST(RuleMessages, OfFiles) {
  expect_messages({
      {0, "", "r.yaml:1:1: expected a rule, found an empty file"},
      {0, "# nothing\n", "r.yaml:1:1: expected a rule, found an empty file"},
      {0, "- id: a\n", "r.yaml:1:1: expected a rule, or several under `rules:`"},
      {0, "rules: []\n", "r.yaml:1:8: expected a list of rules under `rules`"},
      {0, "rules:\n  - 3\n",
       "r.yaml:2:5: expected a rule (a mapping with the keys id, summary, subject, attention, "
       "match, "
       "anchor, anchors, where, shared, joint, layout, drops, rewrite, rewrites, triggers, "
       "in_file, "
       "tests), found "
       "`3`"},
      {0, "rules: [{id: a, summary: s, subject: t, match: {pattern: x}, rewrite: y}]\nid: a\n",
       "r.yaml:2:1: unknown key `id`; the keys of a file of rules are rules"},
      {0, "id: a\n  b: c\n", "r.yaml:2:4: not valid YAML: illegal map value"},
      {0, "id: *a\n", "r.yaml:1:5: not valid YAML: the referenced anchor is not defined"},
      {0, "id: a\n---\nid: b\n",
       "r.yaml:3:1: expected one YAML document, found 2; put several rules under `rules:`"},
  });
}

TEST(RuleMessages, OfKeys) {
  expect_messages({
      {5, "rewrit: f($query)", "r.yaml:5:1: unknown key `rewrit`; did you mean `rewrite`?"},
      {2, "sumary: s", "r.yaml:2:1: unknown key `sumary`; did you mean `summary`?"},
      {6, "colour: red",
       "r.yaml:6:1: unknown key `colour`; the keys of a rule are id, summary, subject, attention, "
       "match, anchor, anchors, where, shared, joint, layout, drops, rewrite, rewrites, triggers, "
       "in_file, tests"},
      {1, "", "r.yaml:2:1: a rule needs the key `id`"},
      {2, "", "r.yaml:1:1: a rule needs the key `summary`"},
      {3, "", "r.yaml:1:1: a rule needs the key `subject`"},
      {4, "", "r.yaml:1:1: a rule needs the key `match`"},
      {5, "", "r.yaml:1:1: expected `rewrite` or `rewrites` in a rule, found neither"},
      {6, "rewrites: [{with: f()}]",
       "r.yaml:1:1: expected `rewrite` or `rewrites` in a rule, found both"},
      {6, "summary: t", "r.yaml:6:1: `summary` is given twice; the first is at r.yaml:2:1"},
      {6, "[a]: t", "r.yaml:6:1: expected a key of a rule, found a list"},
  });
}

TEST(RuleMessages, OfTypes) {
  expect_messages({
      {1, "id: [a]", "r.yaml:1:5: expected text for `id`, found a list"},
      {1, "id: Good Rule",
       "r.yaml:1:5: expected small letters, digits and hyphens for `id`, found `Good Rule`"},
      {1, "id: a--b",
       "r.yaml:1:5: expected small letters, digits and hyphens for `id`, found `a--b`"},
      {2, "summary: ' '", "r.yaml:2:10: expected text for `summary`, found an empty one"},
      {2, "summary:", "r.yaml:2:1: expected text for `summary`, found nothing"},
      {6, "attention: yes", "r.yaml:6:12: expected true or false for `attention`, found `yes`"},
      {6, "attention: 'true'", "r.yaml:6:12: expected true or false for `attention`, found `true`"},
      {6, "where: {rank: 4}",
       "r.yaml:6:8: expected a list of clauses for `where`, each led by a hyphen"},
      {6, "triggers: word", "r.yaml:6:11: expected a list of lists of texts for `triggers`"},
      {6, "triggers: [[]]", "r.yaml:6:12: expected at least one entry in `triggers`, found none"},
      {6, "triggers: [{a: b}]",
       "r.yaml:6:12: expected text or a list of texts for `triggers`, found a mapping"},
      {6, "tests: before", "r.yaml:6:8: expected a list of tests for `tests`"},
      {5, "rewrites: f($query)", "r.yaml:5:11: expected a list of rewrites"},
      {5, "rewrites: []", "r.yaml:5:11: expected a list of rewrites"},
  });
}

TEST(RuleMessages, OfMatch) {
  expect_messages({
      {4, "match: {call: torch.nn.functional.scaled_dot_product_atention}",
       "r.yaml:4:15: unknown callee `torch.nn.functional.scaled_dot_product_atention`: the "
       "catalogue "
       "has no such name; did you mean `torch.nn.functional.scaled_dot_product_attention`?"},
      {4, "match: {call: [torch.rms_norm, dispatch_attention_fn]}",
       "r.yaml:4:32: unknown callee `dispatch_attention_fn`: the catalogue has no such name; did "
       "you "
       "mean `diffusers.models.attention_dispatch.dispatch_attention_fn`?\n"
       "r.yaml:5:10: nothing binds the hole `$query`: `torch.nn.functional.rms_norm` has no such "
       "parameter\n"
       "r.yaml:5:10: nothing binds the hole `$key`: `torch.nn.functional.rms_norm` has no such "
       "parameter\n"
       "r.yaml:5:10: nothing binds the hole `$value`: `torch.nn.functional.rms_norm` has no such "
       "parameter\n"
       "r.yaml:5:10: nothing binds the hole `$scale`: `torch.nn.functional.rms_norm` has no such "
       "parameter"},
      {4, "match: {construct: torch.nn.functional.rms_norm}",
       "r.yaml:4:20: expected a class for `construct`, but `torch.nn.functional.rms_norm` is a "
       "function in the catalogue; use `call`"},
      {4, "match: {}",
       "r.yaml:4:8: expected exactly one of `call`, `construct` and `pattern` (or `patterns`) in "
       "`match`"},
      {4, "match: {cal: a}", "r.yaml:4:9: unknown key `cal`; did you mean `call`?"},
      {4, "match: {call: torch.nn.functional.scaled_dot_product_attention, pattern: return 1}",
       "r.yaml:4:8: expected exactly one of `call`, `construct` and `pattern` (or `patterns`) in "
       "`match`"},
      {4, "match: {call: []}", "r.yaml:4:15: expected at least one entry in `call`, found none"},
      {4, "match: {pattern: return $x, patterns: [return $x]}",
       "r.yaml:4:9: expected `pattern` or `patterns`, found both"},
      {4, "match: {patterns: return $x}",
       "r.yaml:4:19: expected a list of patterns for `patterns`"},
      {4, "match: {patterns: [{set: {a: b}}]}", "r.yaml:4:20: a pattern needs the key `code`"},
      {4, "match: {patterns: [{code: return $x, set: {$a: b}}]}",
       "r.yaml:4:44: expected a name without `$` in `set`, found `$a`"},
      {4, "match: {pattern: return $x, choices: {$a: [b]}}",
       "r.yaml:4:39: expected a hole's name without `$`, found `$a`"},
      {4, "match: {pattern: return $x, choices: {a: b}}",
       "r.yaml:4:42: expected a list of patterns for `choices`"},
      {4, "match: {pattern: return f($x), bypass: {x: y}}",
       "r.yaml:4:41: expected a hole with `choices` in `bypass`, found `x`"},
      {6, "anchor: {pattern: return $x}", "r.yaml:6:9: `anchor` needs the key `says`"},
      {6, "anchors: []", "r.yaml:6:10: expected a list of anchors for `anchors`"},
      {6, "anchor: {operation: torch.softmax, says: why}",
       "r.yaml:6:9: expected `operation` and `fed_by` together in an anchor"},
      {6, "anchor: {operation: torch.softmx, fed_by: torch.amax, says: why}",
       "r.yaml:6:21: unknown operation `torch.softmx`: the catalogue has no such name; did you "
       "mean `torch.softmax`?"},
      {6, "shared: Mine",
       "r.yaml:6:9: expected small letters, digits and hyphens for `shared`, found `Mine`"},
      {6, "anchor: {says: why}", "r.yaml:6:9: expected `pattern` or `patterns`, found neither"},
      {6, "anchor: {patern: return $x, says: why}",
       "r.yaml:6:10: unknown key `patern`; did you mean `pattern`?"},
  });
}

TEST(RuleMessages, OfWhere) {
  expect_messages({
      {6, "where: [{rnk: {of: query, is: 4}, code: c, says: s}]",
       "r.yaml:6:10: unknown key `rnk`; did you mean `rank`?"},
      {6, "where: [{zeros: dropout_p, code: c, says: s}]",
       "r.yaml:6:9: a clause of `where` needs a kind, such as `is` or `absent`\n"
       "r.yaml:6:10: unknown key `zeros`; the keys of a clause of `where` are is, is_not, rank, "
       "dtype, inference_zero, absent, present, simple, literal, last_dim, attribute, "
       "number, scalar, over_last_axis, one_size, not_sequence, tensor_or_none, no_object, "
       "not_cast, called, part_of_call, named, plain, spelt, instance, instance_anywhere, "
       "computed_from, "
       "training_flag, "
       "may_be_floating, not_within, "
       "not_passed_to, outside, unread, unpacked, not_in_tree, code, says, or_assume"},
      {6, "where: [{absent: scale, present: scale, code: c, says: s}]",
       "r.yaml:6:25: expected one kind in a clause, found `absent` and `present`"},
      {6, "where: [{absent: scale, says: s}]",
       "r.yaml:6:9: a clause of `where` needs the key `code`"},
      {6, "where: [{not_in_tree: autocast(, code: c, says: s}]",
       "r.yaml:6:23: `not_in_tree`: expected a word (`softmax`, `.backward`, `onnx.export`), a "
       "call "
       "(`mean()`, `cat(-1)`), a glob (`*_emb`), a sign (`@`, `**`, `//`, `::`, `1 +`), `given "
       "WORD`, `read WORD` or `code WORD`, found `autocast(`"},
      {6, "where: [{absent: scale, code: c}]",
       "r.yaml:6:9: a clause of `where` needs the key `says`"},
      {6, "where: [{absent: [], code: c, says: s}]",
       "r.yaml:6:18: expected at least one entry in `absent`, found none"},
      {6, "where: [{absent: $scale, code: c, says: s}]",
       "r.yaml:6:18: expected the name of an argument or a hole without `$` for `absent`, found "
       "`$scale`"},
      {6, "where: [{absent: [scale, scales], code: c, says: s}]",
       "r.yaml:6:26: `torch.nn.functional.scaled_dot_product_attention` has no parameter `scales`; "
       "did you mean `scale`?"},
      {6, "where: [{rank: {of: query}, code: c, says: s}]",
       "r.yaml:6:16: `rank` needs the key `is`"},
      {6, "where: [{rank: {of: query, is: four}, code: c, says: s}]",
       "r.yaml:6:32: expected a whole number for `is`, found `four`"},
      {6, "where: [{dtype: {of: query, is: 32}, code: c, says: s}]",
       "r.yaml:6:33: expected an element type such as torch.float32 for `is`, found 32"},
      {6, "where: [{is: {of: scale}, code: c, says: s}]",
       "r.yaml:6:14: expected `value` or `values` in `is`, found neither"},
      {6, "where: [{is: {of: scale, value: 1, values: [1]}, code: c, says: s}]",
       "r.yaml:6:14: expected `value` or `values` in `is`, found both"},
      {6, "where: [{is: {of: scale, values: 1}, code: c, says: s}]",
       "r.yaml:6:34: expected a list of literals for `values`"},
      {6, "where: [{is: {of: scale, value: '(-1, -1)'}, code: c, says: s}]",
       "r.yaml:6:33: expected a tuple of `value` as a list such as [-1, -1], found the string "
       "\"(-1, -1)\""},
      {6, "where: [{is: {of: scale, value: f(x)}, code: c, says: s}]",
       "r.yaml:6:33: `value`: expected the end of the literal, found `(x)`"},
      {6, "where: [{unread: {except: -1}, code: c, says: s}]",
       "r.yaml:6:27: expected a result's number, from 0, for `except`"},
      {6, "where: [{unpacked: {into: 2, first: 3}, code: c, says: s}]",
       "r.yaml:6:37: expected how many of the results may be read, from 1 to `into`, for `first`"},
  });
}

TEST(RuleMessages, OfLayout) {
  expect_messages({
      {6, "layout: {operands: {query: BNSD}, result: BNSD}",
       "r.yaml:6:9: `layout` needs the key `target`"},
      {6, "layout: {operands: {query: BNSH}, result: BNSD, target: BSND}",
       "r.yaml:6:28: expected the axes of `target`, BSND, in some order for `query`, found `BNSH`"},
      {6, "layout: {operands: {query: BNSD}, result: bnsd, target: BSND}",
       "r.yaml:6:43: expected axes as distinct capital letters, such as BNSD, for `result`, found "
       "`bnsd`"},
      {6, "layout: {operands: {q: BNSD}, result: BNSD, target: BSND}",
       "r.yaml:6:21: `torch.nn.functional.scaled_dot_product_attention` has no parameter `q`"},
      {6, "layout: {operands: {query: BNSD}, result: BNSD, target: BSND, otherwize: {a: 1}}",
       "r.yaml:6:63: unknown key `otherwize`; did you mean `otherwise`?"},
  });
}

TEST(RuleMessages, OfRewrites) {
  expect_messages({
      {5, "rewrite: mindiesd.attention_forward($query, $key, $valu)",
       "r.yaml:5:10: nothing binds the hole `$valu`: "
       "`torch.nn.functional.scaled_dot_product_attention` has no such parameter; did you mean "
       "`value`?"},
      {5, "rewrite: mindiesd.attention_forward($query, $, $value)",
       "r.yaml:5:10: expected a name after `$` in a rewrite"},
      {5, "rewrite: mindiesd.attention_foward($query, $key, $value)",
       "r.yaml:5:10: the rewrite calls `mindiesd.attention_foward`, which the catalogue does not "
       "have; did you mean `mindiesd.attention_forward`?"},
      {5, "rewrite: minddiesd.attention_forward($query, $key, $value)",
       "r.yaml:5:10: the rewrite calls `minddiesd.attention_forward`, which the catalogue does not "
       "have; did you mean `mindiesd.attention_forward`?"},
      {5, "rewrite: os.system($query)",
       "r.yaml:5:10: the rewrite calls `os.system`, which the catalogue does not have"},
      {5, "rewrite: mindiesd.attention_forward($query, $key, $value, is_causal=$is_causal)",
       "r.yaml:5:10: `mindiesd.attention_forward` has no parameter `is_causal`"},
      {5, "rewrite: mindiesd.ext.attention_forward($query, $key, $value)",
       "r.yaml:5:10: `mindiesd.ext.attention_forward` is not offered on the target ascend; give "
       "this "
       "rewrite another `target`"},
      {5, "rewrites: [{target: ascend, with: mindiesd.ext.softmax($query)}]",
       "r.yaml:5:35: `mindiesd.ext.softmax` is not offered on the target ascend; give this rewrite "
       "another `target`"},
      {5, "rewrites: [{target: ascent, with: f($query)}]",
       "r.yaml:5:21: unknown target `ascent`; did you mean `ascend`?"},
      {5, "rewrites: [{target: [cuda, metal], with: f($query)}]",
       "r.yaml:5:28: unknown target `metal`; the targets are cuda, ascend"},
      {5, "rewrites: [{target: [], with: f($query)}]",
       "r.yaml:5:21: expected at least one entry in `target`, found none"},
      {5, "rewrites: [{target: cuda}]", "r.yaml:5:12: a rewrite needs the key `with`"},
      {5, "rewrites: [{with: f($query)}, {target: cuda, with: f($key)}]",
       "r.yaml:5:31: this rewrite is never taken: the one at line 5 takes every site, because it "
       "has "
       "no `where`"},
      {5,
       "rewrites: [{target: cuda, with: f($query)}, {target: ascend, with: f($key)},"
       " {target: ascend, where: [{absent: scale}], with: f($key)}]",
       "r.yaml:5:78: this rewrite is never taken: the one at line 5 takes every site, because it "
       "has "
       "no `where`"},
  });
}

TEST(RuleMessages, OfTests) {
  expect_messages({
      {6, "tests: [{name: a, before: b}]",
       "r.yaml:6:9: expected `after` or `refused` in a test, found neither"},
      {6, "tests: [{name: a, before: b, after: c, refused: d}]",
       "r.yaml:6:9: expected `after` or `refused` in a test, found both"},
      {6, "tests: [{name: a, before: b, refuse: d}]",
       "r.yaml:6:30: unknown key `refuse`; did you mean `refused`?"},
      {6, "tests: [{before: b, after: c}]", "r.yaml:6:9: a test needs the key `name`"},
      {6, "tests: [{name: a, after: c}]", "r.yaml:6:9: a test needs the key `before`"},
      {6, "tests: [{name: a, before: b, after: c}, {name: a, before: b, after: c}]",
       "r.yaml:6:48: the test `a` exists already, at line 6"},
      {6, "tests: [{name: a, before: b, after: c, target: gpu}]",
       "r.yaml:6:48: unknown target `gpu`; the targets are cuda, ascend"},
  });
}

std::string rule(const std::string& id) {
  return "id: " + id +
         "\nsummary: s\nsubject: norm\nmatch: {call: torch.rms_norm}\nrewrite: f($input)\n";
}

TEST(RuleMessages, OfTwoRulesWithOneId) {
  ScratchFolder folder;
  folder.put("a.yaml", rule("twin"));
  folder.put("b.yaml", "# a comment\n" + rule("twin"));
  auto set = RuleSet::load({folder.path()}, kCatalogue);
  ASSERT_FALSE(set);
  EXPECT_EQ(
      folder.without_path(set.error().message),
      "b.yaml:2:5: the rule `twin` exists already, at a.yaml:1:5; give one of them another id");
}

TEST(RuleMessages, OfSeveralFilesComeTogether) {
  ScratchFolder folder;
  folder.put("a.yaml",
             "id: A\nsummary: s\nsubject: norm\nmatch: {call: torch.rms_nrm}\nrewrte: f()\n");
  folder.put("b.yaml", "{");
  folder.put("c.yaml", rule("fine"));
  auto set = RuleSet::load({folder.path(), folder.path("none")}, kCatalogue);
  ASSERT_FALSE(set);
  EXPECT_EQ(
      folder.without_path(set.error().message),
      "none: expected a rule file or a folder of them, found nothing there\n"
      "a.yaml:1:5: expected small letters, digits and hyphens for `id`, found `A`\n"
      "a.yaml:4:15: unknown callee `torch.rms_nrm`: the catalogue has no such name; did you mean "
      "`torch.rms_norm`?\n"
      "a.yaml:5:1: unknown key `rewrte`; did you mean `rewrite`?\n"
      "b.yaml:1:1: not valid YAML: end of map flow not found");
}

TEST(RuleMessages, OfFoldersAndCatalogues) {
  ScratchFolder folder;
  auto empty = RuleSet::load({folder.path()}, kCatalogue);
  ASSERT_FALSE(empty);
  EXPECT_EQ(folder.without_path(empty.error().message),
            "FOLDER: expected rule files (*.yaml) in the folder, found none");
  auto none = RuleSet::load({}, kCatalogue);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "expected at least one rule, found none");
  folder.put("r.yaml", rule("r"));
  auto no_catalogue = RuleSet::load({folder.path("r.yaml")}, folder.path("missing"));
  ASSERT_FALSE(no_catalogue);
  EXPECT_EQ(folder.without_path(no_catalogue.error().message),
            "missing: cannot list the folder: No such file or directory");
}

// Whatever a file holds, loading it answers: it neither throws nor crashes. The sample with every
// key is damaged in one to four places, the same ones on every run.
TEST(RuleMessages, ComeForAnyDamage) {
  ScratchFolder folder;
  folder.put("catalogue/a.yaml", "library: x\noperations: [{id: x.f, signature: '(query)'}]\n");
  std::ifstream in(std::string(REFIT_TEST_DATA_DIR) + "/every_key.yaml");
  const std::string sample{std::istreambuf_iterator<char>(in), {}};
  ASSERT_FALSE(sample.empty());
  std::mt19937 random(20260601);
  auto below = [&](size_t limit) { return random() % limit; };
  const std::string bytes = std::string("[]{}:,-#&*!|>'\"%@`$\n\t \xC3?x0") + '\0';
  for (int round = 0; round < 300; ++round) {
    std::string text = sample;
    for (size_t cuts = 1 + below(4); cuts > 0; --cuts) {
      const size_t at = below(text.size());
      switch (below(3)) {
        case 0:
          text[at] = bytes[below(bytes.size())];
          break;
        case 1:
          text.erase(at, 1 + below(20));
          break;
        default:
          text.insert(at, 1, bytes[below(bytes.size())]);
      }
      if (text.empty()) text = "x";
    }
    folder.put("r.yaml", text);
    ASSERT_NO_THROW({
      auto set = RuleSet::load({folder.path("r.yaml")}, folder.path("catalogue"));
      if (!set) {
        EXPECT_TRUE(set.error().message.starts_with(folder.path("r.yaml") + ":")) << text;
      }
    }) << text;
  }
}

}  // namespace
}  // namespace refit
