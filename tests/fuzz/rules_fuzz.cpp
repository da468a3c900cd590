// Fuzz target: a rule file. It loads, and its patterns compile, or its mistakes are said.
// Entry point: LLVMFuzzerTestOneInput.
#include "rewriter/cli/languages.hpp"
#include "rewriter/plan/compiled.hpp"
#include "tests/fuzz/harness.hpp"
#include "tests/fuzz/mutate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace refit;
  static const fuzz::Scratch scratch;
  static const std::string catalogue = std::string(REFIT_RULES_DIR) + "/catalogue";
  static const ShippedLanguages languages(REFIT_RULES_DIR);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto rules = RuleSet::load({scratch.put("rules.yaml", text)}, catalogue);
  if (!rules) {
    if (rules.error().message.empty()) fuzz::fail("a mistake without a message", text);
    return 0;
  }
  ++fuzz::reached;
  const auto compiled = compile(*rules, *languages.rules(rules->catalogue(), nullptr));
  if (!compiled && compiled.error().message.empty()) fuzz::fail("a mistake without words", text);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  return refit::fuzz::mutate_lines(data, size, most, seed);
}
