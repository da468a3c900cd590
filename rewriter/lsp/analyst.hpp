// What the language server asks of the rest of refit. Entry point: Analyst.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rewriter/plan/finding.hpp"

namespace refit::lsp {

// What documents are analysed together.
struct Tree {
  std::string folder;    // as `refit migrate` takes it
  std::string settings;  // the project's configuration, as a path; "" where there is none
  friend auto operator<=>(const Tree&, const Tree&) = default;
};

struct OpenText {
  std::string path;  // without links
  std::string text;  // UTF-8
};

// A file that a run changes, as UTF-8.
struct NewText {
  std::string file;  // as in the findings
  std::string before, after;
};

struct Analysis {
  std::string error;  // why nothing could be analysed; else ""
  RunResult result;
  std::string root;   // absolute; names in the result are relative to it
  std::string pages;  // the folder of the rules' pages; "" where there is none
  std::vector<NewText> changed;

  std::string path_of(const std::string& file) const { return root + "/" + file; }
};

// Something that is wrong or doubtful in a rule file.
struct RuleRemark {
  uint32_t line = 1, column = 1;  // from 1; columns in characters
  std::string message;
  bool doubt = false;
};

class Analyst {
 public:
  virtual ~Analyst() = default;
  // `folders`: those of the work space.
  virtual Tree tree_of(const std::string& path, const std::vector<std::string>& folders) = 0;
  // As `refit migrate` of the tree with the open texts in place of their files.
  // `sites`: fingerprints of the only ones to rewrite; none: all.
  virtual Analysis analyse(const Tree& tree, const std::vector<OpenText>& open,
                           const std::vector<std::string>& sites) = 0;
  // Nothing where the text is that of no rule file. `others`: further open rule files.
  virtual std::optional<std::vector<RuleRemark>> check_rules(
      const Tree& tree, const OpenText& file, const std::vector<OpenText>& others) = 0;
};

}  // namespace refit::lsp
