// The languages that refit reads: Python by tree-sitter, C++ by clang, rules in Python.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rewriter/language/languages.hpp"
#include "rewriter/plan/engine.hpp"

namespace refit {

class ShippedLanguages : public Languages {
 public:
  // catalogue/cpp of that folder says what is known of C++ libraries: names.yaml and include/.
  // `defines`: names that C++ is compiled with.
  explicit ShippedLanguages(const std::string& rules_folder, std::vector<std::string> defines = {})
      : cpp_catalogue_(rules_folder + "/catalogue/cpp"), defines_(std::move(defines)) {}
  std::unique_ptr<RuleLanguage> rules(const Catalogue& catalogue,
                                      const Isomorphisms* isomorphisms) const override;
  std::unique_ptr<Frontend> frontend(Language language, const Input& input,
                                     const Catalogue& catalogue,
                                     const Isomorphisms& isomorphisms) const override;

 private:
  std::string cpp_catalogue_;
  std::vector<std::string> defines_;
};

// As run() of plan/engine.hpp, with these languages.
Expected<RunResult> run(const RuleSet& rules, const Input& input, const EngineOptions& options,
                        const Progress& progress);

}  // namespace refit
