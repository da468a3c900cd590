// Rules as data: what rules/*.yaml say, validated. Patterns and rewrite texts are kept as source
// text here; match/ and plan/ compile them when an engine is made, through the front end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rewriter/rule/catalogue.hpp"
#include "rewriter/text/expected.hpp"

namespace refit {

enum class Target { cuda, ascend };

struct RuleLocation {
  std::string file;
  int line = 0, column = 0;  // 1-based
};

// One clause of `where`. `kind` is one of the names in rule.schema.json:
//   is           every argument of `of` is provably one of `values`
//   is_not       no argument of `of` can be one of `values` as far as literals show
//   rank         every argument of `of` is shown to be a tensor of `number` dimensions
//   dtype        every argument of `of` is shown to have element type values[0] (a symbol)
//   inference_zero  zero, or zero whenever the module is not training
//   absent       no argument of `of` was passed
//   present      every argument of `of` was passed
//   simple       reading the argument twice costs and changes nothing (a name, an attribute chain)
//   outside      the call does not stand in the package named by values[0]
//   literal      the argument is written as a literal
//   last_dim     the argument denotes the last dimension
//   attribute    the argument is an attribute of an object (a module's parameter)
//   number       the argument is a number: a literal, an attribute, a parameter with such a default
//   scalar       the same, but an attribute only where its class shows it to be a number
//   one_size     the argument is a sequence of exactly one size
//   not_sequence the argument is not written as a tuple or a list
//   tensor_or_none  the argument is None or what an operation on tensors gives
//   no_object    nothing shows that a class or its factory made the argument
//   not_cast     the argument is not made by a change to a fixed element type
//   instance     the callee is an attribute whose class makes it an object of one of `values`
//   over_last_axis  the argument is an attribute, and its class makes it a layer over the last axis
//   computed_from  an operation of `values` is among those that the argument is computed by
//   training_flag  the argument is false at inference: `self.training`
//   may_be_floating  nothing shows the argument to hold booleans or integers
//   not_within   the site does not stand inside a `with` on a call of one of `values`
//   not_passed_to  the file does not hand the constructed class to one of `values`
//   unread       of the results, only the one numbered `number` is read
//   unpacked     the result is taken apart into `number` names, and none from number `values[0]` on
//                is read
//   not_in_tree  no file of the run contains one of the entries `values` (project/vocabulary.hpp)
struct Where {
  std::string kind;
  std::vector<std::string> of;
  std::vector<Literal> values;
  int number = 0;
  std::string code;                      // reason code of a refusal
  std::string says;                      // why, and what would make the site migratable
  std::optional<std::string> or_assume;  // instead of refusing: state this assumption
  RuleLocation at;
};

struct Pattern {
  std::string code;  // statements in Python with $holes, ending in `return EXPRESSION`
  std::map<std::string, std::string>
      set;  // names bound when this alternative matched: template text
  std::vector<Where> where;
  RuleLocation at;
};

struct Match {
  std::vector<std::string> call;       // qualified names; empty for pattern rules
  std::vector<std::string> construct;  // qualified names of classes whose instantiation is meant
  std::vector<Pattern> patterns;       // alternatives, tried in order
  // Alternatives for a hole of the patterns whose value may differ by branch.
  std::map<std::string, std::vector<Pattern>> choices;
  // What the new call gives, in its order: holes, which are computed no more, and one other name
  // for the pattern's own value. Empty: that value alone.
  std::vector<std::string> results;
  // Holes whose computation the new call takes over, each with the hole of what it is made from,
  // which takes its place in the text.
  std::map<std::string, std::string> bypass;
};

// A telltale that is weaker than the patterns: a value that meets it, and that no pattern of the
// rule explains, is reported as refused. Of several anchors the first that is met speaks.
struct Anchor {
  // Globs of function names: a call of a function of the project named so is reported too.
  std::vector<std::string> names;
  std::vector<Pattern> patterns;
  // Or an operation whose first operand comes, through what keeps its shape, from one of `fed_by`.
  std::vector<std::string> operation, fed_by;
  std::string code = "no-pattern";  // refusal code
  std::string says;
};

struct Layout {
  std::map<std::string, std::string> operands;  // argument -> axis letters, e.g. BNSD
  std::string result;
  std::string target;                            // layout that the rewritten call takes and gives
  std::map<std::string, std::string> otherwise;  // keyword -> literal, for the fallback
};

struct Rewrite {
  std::vector<Target> targets;  // empty: every target
  std::vector<Where> where;  // further clauses; the first rewrite whose clauses all hold is taken
  std::string with;          // expression with $holes
  std::vector<std::string> assumes;  // stated whenever this rewrite is taken
  RuleLocation at;
};

struct RuleTest {
  std::string name;
  std::string before;
  std::optional<std::string> after;  // absent: the site is refused
  std::string code;                  // the refusal's code
  Target target = Target::cuda;
  // Both texts are run and compared too; parameters with the Python expressions that give their
  // arguments. The others are drawn.
  std::optional<std::map<std::string, std::string>> numeric;
  RuleLocation at;
};

struct Rule {
  std::string id;
  std::string summary;
  std::string subject;     // attention | rotary | norm | softmax | ...: groups the summary
  bool attention = false;  // findings carry `absorbed`
  Match match;
  std::vector<Anchor> anchors;
  // Code of the refusal of a computation some part of which is read elsewhere too.
  std::string shared = "shared-value";
  // Sites that share a part are made together, where nothing else reads it.
  bool joint = false;
  std::vector<Where> where;
  std::optional<Layout> layout;
  // Holes of the patterns that no rewrite needs to write: their code goes.
  std::vector<std::string> drops;
  std::vector<Rewrite> rewrites;
  // A file is read further, and a function of it lowered, only if it holds one entry of every inner
  // list (project/vocabulary.hpp says what an entry is). For call and construct rules it follows
  // from the callee's last name component.
  std::vector<std::vector<std::string>> triggers;
  // The same of the file alone.
  std::vector<std::vector<std::string>> in_file;
  std::vector<RuleTest> tests;
  RuleLocation at;
};

class RuleSet {
 public:
  // Reads rule files and folders of them (*.yaml, recursively; catalogue/ and targets/ folders,
  // isomorphisms.yaml and package.yaml are not rules). A folder is a package (rule/package.hpp):
  // its catalogue/ is read beside the one given. A typo is an error that names file, line, column
  // and the nearest valid key; two rules of one id are an error that names both places.
  // `texts`: what rule files are taken to hold instead of what they hold on disk, by their path
  // without links.
  static Expected<RuleSet> load(const std::vector<std::string>& paths,
                                const std::string& catalogue_directory,
                                const std::map<std::string, std::string>& texts = {});

  const std::vector<Rule>& rules() const { return rules_; }
  const Catalogue& catalogue() const { return catalogue_; }
  // The files of spellings (isomorphisms.yaml) that packages bring along.
  const std::vector<std::string>& spellings() const { return spellings_; }
  // Keeps the rules whose id matches a selected glob (all when none) and no ignored one. A glob
  // that matches no rule is an error.
  Expected<void> select(const std::vector<std::string>& select,
                        const std::vector<std::string>& ignore);

 private:
  std::vector<Rule> rules_;
  Catalogue catalogue_;
  std::vector<std::string> spellings_;
};

}  // namespace refit
