// See harness.hpp.
#include "tests/fuzz/harness.hpp"

#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "rewriter/cli/languages.hpp"
#include "rewriter/plan/compiled.hpp"
#include "rewriter/plan/prefilter.hpp"
#include "rewriter/plan/run.hpp"

namespace refit::fuzz {

namespace fs = std::filesystem;

uint64_t reached = 0;

void fail(std::string_view what, std::string_view input) {
  std::fprintf(stderr, "%.*s\n--- the input ---\n%.*s\n", static_cast<int>(what.size()),
               what.data(), static_cast<int>(input.size()), input.data());
  std::abort();
}

Scratch::Scratch() {
  const fs::path memory = "/dev/shm";  // where there is one, no disk waits for what is thrown away
  const fs::path in = fs::is_directory(memory) ? memory : fs::temp_directory_path();
  std::string name = (in / "refit-fuzz-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) fail("no scratch folder", name);
  root_ = name;
}

Scratch::~Scratch() {
  std::error_code error;
  fs::remove_all(root_, error);
}

std::string Scratch::put(const std::string& name, std::string_view bytes) const {
  std::string path = root_ + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::size_t Scratch::files() const {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(root_), fs::directory_iterator()));
}

struct Engine::Ready {
  explicit Ready(RuleSet set) : rules(std::move(set)) {}
  RuleSet rules;
  ShippedLanguages languages{REFIT_RULES_DIR};
  Isomorphisms isomorphisms;
  CompiledRules compiled;
  std::unique_ptr<Prefilter> prefilter;
};

Engine::Engine() {
  const std::string folder = REFIT_RULES_DIR;
  auto rules = RuleSet::load({folder}, folder + "/catalogue");
  if (!rules) fail(rules.error().message, {});
  ready_ = std::make_unique<Ready>(std::move(*rules));
  const Catalogue& catalogue = ready_->rules.catalogue();
  const auto bare = ready_->languages.rules(catalogue, nullptr);
  auto spellings = Isomorphisms::load({folder + "/isomorphisms.yaml"}, catalogue,
                                      [&](std::string_view code) { return bare->pattern(code); });
  if (!spellings) fail(spellings.error().message, {});
  ready_->isomorphisms = std::move(*spellings);
  const auto patterns = ready_->languages.rules(catalogue, &ready_->isomorphisms);
  auto compiled = compile(ready_->rules, *patterns);
  if (!compiled) fail(compiled.error().message, {});
  ready_->compiled = std::move(*compiled);
  ready_->prefilter = std::make_unique<Prefilter>(ready_->compiled, catalogue);
}

Engine::~Engine() = default;

RunResult Engine::run(const Scratch& scratch, const std::string& name) const {
  Input input;
  input.root = scratch.root();
  input.files.push_back({scratch.root() + "/" + name, name});
  input.module_roots.push_back("");
  EngineOptions options;
  options.jobs = 1;
  options.rules_folder = REFIT_RULES_DIR;
  return Run(ready_->rules, ready_->compiled, input, options, ready_->languages,
             ready_->isomorphisms, *ready_->prefilter)
      .go({});
}

std::string migrate_twice(const Engine& engine, const Scratch& scratch, const std::string& name,
                          std::string_view text, bool once) {
  scratch.put(name, text);
  const RunResult first = engine.run(scratch, name);
  if (!first.findings.empty()) ++reached;
  if (first.changed.empty()) return {};
  std::string after = *first.changed.front().new_bytes;
  // A text that read `torch` and bound it nowhere means something else with the import.
  const std::string_view import = "import torch\n";
  const bool bound = text.find(import) != text.npos || after.find(import) == after.npos;
  scratch.put(name, after);
  const RunResult second = engine.run(scratch, name);
  if (!second.problems.empty()) fail("the new text: " + second.problems.front().message, text);
  if (once && bound && !second.changed.empty()) fail("a second run changes the new text", text);
  return after;
}

}  // namespace refit::fuzz
