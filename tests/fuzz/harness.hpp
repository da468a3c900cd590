// What the fuzz targets share: a scratch folder, and the engine with the rules that ship.
// A target is LLVMFuzzerTestOneInput, as libFuzzer wants it; drive.cpp runs it without libFuzzer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rewriter/plan/finding.hpp"
#include "rewriter/rule/rule.hpp"

namespace refit::fuzz {

// Executions in which a rule had a site; a target that has none in mind leaves it.
extern uint64_t reached;

// Ends the process, which is how a target says that it found something.
[[noreturn]] void fail(std::string_view what, std::string_view input);

class Scratch {
 public:
  Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();
  const std::string& root() const { return root_; }
  std::string put(const std::string& name, std::string_view bytes) const;  // its path
  std::size_t files() const;                                               // how many there are

 private:
  std::string root_;
};

// Runs of one file each, for which rules are compiled once.
class Engine {
 public:
  Engine();
  ~Engine();
  // What a run over that one file of the scratch folder finds and would write.
  RunResult run(const Scratch& scratch, const std::string& name) const;

 private:
  struct Ready;
  std::unique_ptr<Ready> ready_;
};

// Migrates a text and checks that the new one parses; `once`: and that a second run finds nothing
// to do. Gives the new text; empty where nothing changes or where it was withheld.
std::string migrate_twice(const Engine& engine, const Scratch& scratch, const std::string& name,
                          std::string_view text, bool once = true);

}  // namespace refit::fuzz
