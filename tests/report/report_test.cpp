// Counts, the terminal's lines and table, and the JSON report's values; its form is tested against
// the schema in test_schema.py. Entry point: GoogleTest's main.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "rewriter/report/json.hpp"
#include "rewriter/report/summary.hpp"
#include "rewriter/report/text.hpp"
#include "tests/report/samples.hpp"

namespace refit {
namespace {

TEST(Summary, EveryFindingIsCountedOnce) {
  const auto rules = summarise(sample_result().findings);
  ASSERT_EQ(rules.size(), 2u);
  EXPECT_EQ(rules[0].rule, "rotary");
  EXPECT_EQ(rules[0].through, 2u);
  EXPECT_EQ(rules[1].rule, "sdpa");
  for (const RuleSummary& rule : rules) {
    EXPECT_EQ(rule.found, rule.rewritten + rule.assumed + rule.through + rule.refused);
  }
  const RuleSummary sum = total(rules);
  EXPECT_EQ(sum.found, 8u);
  EXPECT_EQ(sum.rewritten, 1u);
  EXPECT_EQ(sum.assumed, 1u);
  EXPECT_EQ(sum.refused, 4u);
  EXPECT_EQ(sum.transposes_absorbed, 4u);
  EXPECT_EQ(sum.refused_by_code,
            (std::map<std::string, uint64_t>{{"rank-unknown", 3}, {"splatted-arguments", 1}}));
}

TEST(Text, Table) {
  EXPECT_EQ(summary_text(sample_result(), false),
            "rule    found  rewritten  assuming  through  refused  by code\n"
            "rotary      2          0         0        2        0\n"
            "sdpa        6          1         1        0        4  rank-unknown 3, "
            "splatted-arguments 1\n"
            "total       8          1         1        2        4  rank-unknown 3, "
            "splatted-arguments 1\n"
            "4 transposes absorbed\n");
  EXPECT_EQ(summary_text({}, false), "");
}

TEST(Text, Findings) {
  EXPECT_EQ(findings_text(sample_result(), {false, false}),
            "pkg/a.py:9:12: rewritten [sdpa] torch.nn.functional.scaled_dot_product_attention "
            "(assumes dropout_p == 0 at inference; parallel_config is None)\n"
            "pkg/b.py:40:12: refused [sdpa] rank-unknown: the rank of query is not shown; annotate "
            "it\n"
            "pkg/b.py:50:12: refused [sdpa] splatted-arguments: **kwargs hides the arguments\n"
            "pkg/b.py:60:12: refused [sdpa] rank-unknown: the rank of query is not shown; annotate "
            "it\n"
            "pkg/caf\xc3\xa9 \\x1b[31m.py:1:12: refused [sdpa] rank-unknown: a name with an escape "
            "in it\n"
            "pkg/a.py:30: rewritten [rotary] 2 calls through this definition\n");
  EXPECT_EQ(findings_text(sample_result(), {false, true})
                .find("pkg/a.py:3:12: rewritten [sdpa] "
                      "torch.nn.functional.scaled_dot_product_attention\n"),
            0u);
}

TEST(Text, SitesOfADefinitionRefusedForOneReason) {
  RunResult result = sample_result();
  for (Finding& finding : result.findings) finding.function = "pkg.b.Block.forward";
  const std::string text = findings_text(result, {false, false});
  EXPECT_NE(text.find("pkg/b.py:40:12: refused [sdpa] rank-unknown: the rank of query is not "
                      "shown; annotate it; 1 more in pkg.b.Block.forward, at line 60\n"),
            std::string::npos);
  EXPECT_EQ(text.find("pkg/b.py:60"), std::string::npos);
  EXPECT_NE(text.find("pkg/b.py:50:12"), std::string::npos) << "another reason";
}

TEST(Text, ProblemsAndNotes) {
  EXPECT_EQ(problems_text(sample_result(), false),
            "error: pkg/latin\\xe9.py: byte 0xE9 in line 2\n"
            "error: pkg/py2.py: line 3: does not parse\n"
            "error: pkg/c.py: a second run would change it\n");
  EXPECT_EQ(notes_text(sample_result()),
            "note: pkg/train.py: trains what is migrated (training-code)\n");
}

TEST(Text, NoEscapesWithoutColourAndNoneFromOutside) {
  const RunResult result = sample_result();
  EXPECT_EQ(findings_text(result, {false, true}).find('\x1b'), std::string::npos);
  EXPECT_EQ(summary_text(result, false).find('\x1b'), std::string::npos);
  EXPECT_NE(findings_text(result, {true, true}).find("\x1b[33mrefused\x1b[m"), std::string::npos);
  EXPECT_EQ(printable("a\x07\x7f\tb\r\nc"), "a\\x07\\x7f b  c");
  EXPECT_EQ(printable("a\tb\r\nc", Breaks::escaped), "a\\x09b\\x0d\\x0ac");
  EXPECT_EQ(printable("a\tb\r\nc", Breaks::kept), "a\\x09b\\x0d\nc");
  EXPECT_EQ(printable("\u202egpj.py \u2067 \u200b \u009b"),
            "\\u{202e}gpj.py \\u{2067} \\u{200b} \\u{9b}");
  EXPECT_EQ(printable("\xff\xed\xa0\x80\xc3"), "\\xff\\xed\\xa0\\x80\\xc3");
  EXPECT_EQ(printable("straße 模型 🙂"), "straße 模型 🙂");
}

TEST(Json, Values) {
  ReportContext context;
  context.version = "1.2.3";
  context.target = Target::ascend;
  context.strict = true;
  context.assume = {"no-overflow"};
  context.root = "/tree";
  context.written = {"pkg/a.py"};
  const auto report = nlohmann::json::parse(to_json(sample_result(), context));
  EXPECT_EQ(report["tool"]["version"], "1.2.3");
  EXPECT_EQ(report["target"], "ascend");
  EXPECT_EQ(report["strict"], true);
  EXPECT_EQ(report["assume"], (std::vector<std::string>{"no-overflow"}));
  EXPECT_EQ(report["files"]["changed"], (std::vector<std::string>{"pkg/a.py"}));
  EXPECT_EQ(report["files"]["seen"], 12);
  EXPECT_EQ(report["files"]["lowered_functions"], 21);
  EXPECT_EQ(report["summary"]["total"]["refused_by_code"]["rank-unknown"], 3);
  EXPECT_EQ(report["sites"].size(), 8u);
  EXPECT_EQ(report["sites"][0]["absorbed"], true);
  EXPECT_EQ(report["sites"][0]["through"], nullptr);
  EXPECT_EQ(report["sites"][2]["through"], "pkg/a.py:30");
  EXPECT_EQ(report["sites"][2]["absorbed"], nullptr);
  EXPECT_EQ(report["sites"][5]["message"], "**kwargs hides\nthe arguments");
  EXPECT_EQ(report["problems"][0]["file"], "pkg/latin\\xe9.py") << "not UTF-8";
}

}  // namespace
}  // namespace refit
