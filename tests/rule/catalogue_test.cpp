// The catalogue that ships loads and answers; wrong catalogue files give exact messages.
#include "rewriter/rule/catalogue.hpp"

#include <gtest/gtest.h>

#include "tests/rule/scratch_folder.hpp"

namespace refit {
namespace {

TEST(Catalogue, OfThisProjectAnswers) {
  auto catalogue = Catalogue::load(REFIT_CATALOGUE_DIR);
  ASSERT_TRUE(catalogue) << catalogue.error().message;

  const Operation* transpose = catalogue->find("torch.transpose");
  ASSERT_NE(transpose, nullptr);
  EXPECT_EQ(catalogue->find("torch.swapaxes"), transpose);
  EXPECT_EQ(catalogue->method("transpose"), transpose);
  EXPECT_EQ(transpose->axes, AxisKind::transpose);
  EXPECT_EQ(transpose->library, "torch");
  EXPECT_TRUE(transpose->view);
  ASSERT_EQ(transpose->parameters.size(), 3u);
  EXPECT_EQ(transpose->parameters[1].also, std::vector<std::string>{"axis0"});

  const Operation* attention = catalogue->find("torch.nn.functional.scaled_dot_product_attention");
  ASSERT_NE(attention, nullptr);
  EXPECT_TRUE(attention->parameters[6].keyword_only);
  EXPECT_EQ(attention->parameters[4].default_value, parse_literal("0.0").value());

  // A file's `also` reaches every signature that has the parameter, overloads too.
  const Operation* mean = catalogue->find("torch.mean");
  ASSERT_NE(mean, nullptr);
  ASSERT_EQ(mean->overloads.size(), 1u);
  EXPECT_EQ(mean->overloads[0][2].also, std::vector<std::string>{"keepdims"});

  const Operation* add = catalogue->method("add_");
  ASSERT_NE(add, nullptr);
  EXPECT_TRUE(add->in_place);
  EXPECT_FALSE(add->pure);

  EXPECT_EQ(catalogue->find("flash_attn.flash_attn_func")->rank, 4);
  EXPECT_EQ(catalogue->find("mindiesd.ext.softmax")->targets, std::vector<std::string>{"cuda"});
  EXPECT_EQ(catalogue->find("no.such.name"), nullptr);
  EXPECT_EQ(catalogue->method("no_such_method"), nullptr);
  EXPECT_EQ(catalogue->nearest("torch.tranpose"), "torch.transpose");
  // The right name in the wrong module.
  EXPECT_EQ(catalogue->nearest("models.blocks.dispatch_attention_fn"),
            "diffusers.models.attention_dispatch.dispatch_attention_fn");
  EXPECT_EQ(catalogue->nearest("zzzzzzzz"), std::nullopt);
}

// `….scaled_dot_product_attention.default` is told by the operation's own name; by `default` alone
// every second file would seem to call it.
TEST(Catalogue, NameWordsAreThoseThatTell) {
  auto catalogue = Catalogue::load(REFIT_CATALOGUE_DIR);
  ASSERT_TRUE(catalogue) << catalogue.error().message;
  const Operation* attention = catalogue->find("torch.nn.functional.scaled_dot_product_attention");
  ASSERT_NE(attention, nullptr);
  EXPECT_EQ(name_words(*attention), std::vector<std::string>{"scaled_dot_product_attention"});
  Operation other;
  other.id = "a.one";
  other.names = {"a.two", "a.one.of", "one"};
  EXPECT_EQ(name_words(other), (std::vector<std::string>{"one", "two"}));

  Operation own;  // a module and its function of one name; two names, each inside the other
  own.id = "library.norm.norm";
  EXPECT_EQ(name_words(own), std::vector<std::string>{"norm"});
  own.id = "library.one.two";
  own.names = {"library.two.one"};
  EXPECT_EQ(name_words(own), std::vector<std::string>{"one"});
}

TEST(Catalogue, EveryAxisKindHasItsParameters) {
  auto catalogue = Catalogue::load(REFIT_CATALOGUE_DIR);
  ASSERT_TRUE(catalogue) << catalogue.error().message;
  auto has = [](const Operation& operation, std::initializer_list<const char*> names) {
    auto in = [&](const std::vector<Parameter>& parameters) {
      for (const char* name : names) {
        bool found = false;
        for (const Parameter& parameter : parameters) found = found || parameter.name == name;
        if (found) return true;
      }
      return false;
    };
    bool any = in(operation.parameters);
    for (const auto& overload : operation.overloads) any = any || in(overload);
    return any;
  };
  for (const auto& operation : catalogue->operations()) {
    switch (operation->axes) {
      case AxisKind::transpose:
        EXPECT_TRUE(has(*operation, {"dim0"}) && has(*operation, {"dim1"})) << operation->id;
        break;
      case AxisKind::permute:
        EXPECT_TRUE(has(*operation, {"dims"})) << operation->id;
        break;
      case AxisKind::reduce:
      case AxisKind::concat:
      case AxisKind::split:
      case AxisKind::unflatten:
        EXPECT_TRUE(has(*operation, {"dim"})) << operation->id;
        break;
      case AxisKind::view:
        EXPECT_TRUE(has(*operation, {"shape", "size"})) << operation->id;
        break;
      case AxisKind::flatten:
        EXPECT_TRUE(has(*operation, {"start_dim"}) && has(*operation, {"end_dim"}))
            << operation->id;
        break;
      default:
        break;
    }
    EXPECT_FALSE(operation->in_place && operation->pure) << operation->id;
  }
}

TEST(Catalogue, ReportsMistakesWithTheirPlace) {
  struct Row {
    const char* text;
    const char* message;
  };
  const Row table[] = {
      {"",
       "a.yaml:1:1: expected a catalogue file (a mapping with the keys library, targets, also, "
       "operations), found nothing"},
      {"library: x\n", "a.yaml:1:1: a catalogue file needs the key `operations`"},
      {"library: x\noperation: []\n",
       "a.yaml:2:1: unknown key `operation`; did you mean `operations`?"},
      {"library: x\noperations: 3\n", "a.yaml:2:13: expected a list of operations"},
      {"library: x\noperations:\n  - a\n",
       "a.yaml:3:5: expected an operation (a mapping with the keys id, names, methods, signature, "
       "also, axes, rank, strides, told_strides, superset, reads_strides, strides_vary, vectors, "
       "one_rank, "
       "result_rank, pure, commutative, view, in_place, "
       "is_class, "
       "targets, "
       "axis, axis_if, autocast, bodies, casts, forward, joins, one_of, broadcasts, repeats, "
       "trusted), found `a`"},
      {"library: x\noperations:\n  - id: a.b\n    signatur: '()'\n",
       "a.yaml:4:5: unknown key `signatur`; did you mean `signature`?"},
      {"library: x\noperations:\n  - id: a.b\n    signature: '(a'\n",
       "a.yaml:4:16: signature: expected a signature in parentheses such as `(input, dim=-1)`, "
       "found `(a`"},
      {"library: x\noperations:\n  - id: a.b\n    signature: '()'\n    axes: transposed\n",
       "a.yaml:5:11: unknown axes `transposed`; did you mean `transpose`?"},
      {"library: x\noperations:\n  - id: a.b\n    signature: '()'\n    forward: [a.c, self.d]\n",
       "a.yaml:5:14: `forward` says what a class calls that casts, and there is no `casts`"},
      {"library: x\noperations:\n  - id: a.b\n    signature: '()'\n    rank: four\n",
       "a.yaml:5:11: expected a whole number for `rank`, found `four`"},
      {"library: x\noperations:\n  - id: a.b\n    signature: '()'\n    rank: 400\n",
       "a.yaml:5:11: expected a rank between 0 and 64, found 400"},
      {"library: x\noperations:\n  - id: a.b\n    signature: '()'\n    view: yes\n",
       "a.yaml:5:11: expected true or false for `view`, found `yes`"},
      {"library: x\noperations:\n  - id: a.b\n    signature: '()'\n    also: {axis: dim}\n",
       "a.yaml:5:11: `also` names the parameter `dim`, which the signature does not have"},
      {"library: x\ntargets: [cpu]\noperations: []\n",
       "a.yaml:2:10: unknown target `cpu`; the targets are cuda, ascend"},
      {"library: x\noperations:\n  - id: a.b\n    signature: '()'\n    names: [c, a.b]\n",
       "a.yaml:3:5: the name `a.b` is already taken by a.yaml:3:5"},
      {"library: x\noperations:\n  - {id: a.b, signature: '()', methods: m}\n"
       "  - {id: a.c, signature: '()', methods: m}\n",
       "a.yaml:4:5: the method `m` is already taken by a.yaml:3:5"},
      {"library: x\noperations: [\n", "a.yaml:3:1: not valid YAML: end of sequence flow not found"},
      {"library: \"x\noperations: []\n", "a.yaml:1:1: a catalogue file needs the key `operations`"},
      {"library: x\n# \xC3\xA9 \xFF\n", "a.yaml:2:5: not valid YAML: a byte that is no UTF-8"},
      {"library: &x x\noperations: [*x, [*y]]\n",
       "a.yaml:2:19: not valid YAML: the referenced anchor is not defined"},
      {"library: &x x\noperations: [*x]\n",
       "a.yaml:1:10: expected an operation (a mapping with the keys id, names, methods, signature, "
       "also, axes, rank, strides, told_strides, superset, reads_strides, strides_vary, vectors, "
       "one_rank, "
       "result_rank, pure, commutative, view, in_place, "
       "is_class, "
       "targets, "
       "axis, axis_if, autocast, bodies, casts, forward, joins, one_of, broadcasts, repeats, "
       "trusted), found `x`"},
      // Columns count characters, not bytes.
      {"library: \"\xC3\xA9\"\noperations: [{id: \"\xC3\xA9\", sig: ''}]\n",
       "a.yaml:2:14: an operation needs the key `signature`\n"
       "a.yaml:2:24: unknown key `sig`; the keys of an operation are id, names, methods, "
       "signature, "
       "also, axes, rank, strides, told_strides, superset, reads_strides, strides_vary, vectors, "
       "one_rank, "
       "result_rank, pure, commutative, view, in_place, "
       "is_class, "
       "targets, axis, "
       "axis_if, autocast, bodies, casts, forward, joins, one_of, broadcasts, repeats, trusted"},
      {"library: x\noperations:\n  - {id: a.b, signature: '(x, dim=1)', axis: dim, axis_if: "
       "flag}\n",
       "a.yaml:3:60: `axis_if` names the parameter `flag`, which the signature does not have"},
      {"library: x\noperations:\n  - {id: a.b, signature: '(x, flag=True)', axis_if: flag}\n",
       "a.yaml:3:53: `axis_if` says when `axis` is heeded, and there is no `axis`"},
  };
  for (const Row& row : table) {
    ScratchFolder folder;
    folder.put("a.yaml", row.text);
    auto catalogue = Catalogue::load(folder.path());
    ASSERT_FALSE(catalogue) << row.text;
    EXPECT_EQ(folder.without_path(catalogue.error().message), row.message) << row.text;
  }
}

TEST(Catalogue, ReportsEveryFileAndEveryMistake) {
  ScratchFolder folder;
  folder.put("a.yaml",
             "library: x\noperations:\n  - id: a.b\n    signature: '('\n    views: true\n");
  folder.put("b.yaml", "library: x\noperations:\n  - signature: '()'\n");
  auto catalogue = Catalogue::load(folder.path());
  ASSERT_FALSE(catalogue);
  EXPECT_EQ(
      folder.without_path(catalogue.error().message),
      "a.yaml:4:16: signature: expected a signature in parentheses such as `(input, dim=-1)`, "
      "found `(`\n"
      "a.yaml:5:5: unknown key `views`; did you mean `view`?\n"
      "b.yaml:3:5: an operation needs the key `id`");
}

TEST(Catalogue, NamesOneOperationInTwoFiles) {
  ScratchFolder folder;
  folder.put("a.yaml", "library: x\noperations: [{id: a.b, signature: '()'}]\n");
  folder.put("b.yaml", "library: x\noperations: [{id: a.b, signature: '()'}]\n");
  auto catalogue = Catalogue::load(folder.path());
  ASSERT_FALSE(catalogue);
  EXPECT_EQ(folder.without_path(catalogue.error().message),
            "b.yaml:2:14: the name `a.b` is already taken by a.yaml:2:14");
}

TEST(Catalogue, SaysWhenThereIsNoFolderOrNoFile) {
  ScratchFolder folder;
  auto empty = Catalogue::load(folder.path());
  ASSERT_FALSE(empty);
  EXPECT_EQ(folder.without_path(empty.error().message),
            "FOLDER: expected catalogue files (*.yaml), found none");
  auto missing = Catalogue::load(folder.path("none"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(folder.without_path(missing.error().message),
            "none: cannot list the folder: No such file or directory");
}

}  // namespace
}  // namespace refit
