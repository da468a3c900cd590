// Python text lowered with the shipped catalogue and isomorphisms, for the tests of the front end,
// the graph and the planner. Entry point: Lowered.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "rewriter/graph/isomorphisms.hpp"
#include "rewriter/python/frontend.hpp"

namespace refit {

// The value, or an exception with the error's text, which ends the test.
template <typename T>
T must(Expected<T>&& result) {
  if (!result.has_value()) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

// What is expensive to load, once a process.
struct Shipped {
  Catalogue catalogue;
  Isomorphisms isomorphisms;

  static const Shipped& get() {
    static const std::unique_ptr<Shipped> shipped = load();
    return *shipped;
  }

 private:
  static std::unique_ptr<Shipped> load() {
    const std::string rules = REFIT_RULES_DIR;
    auto out = std::make_unique<Shipped>();
    out->catalogue = must(Catalogue::load(rules + "/catalogue"));
    python::PythonFrontend bare(".", {}, {}, out->catalogue, nullptr);
    out->isomorphisms =
        must(Isomorphisms::load({rules + "/isomorphisms.yaml"}, out->catalogue,
                                [&](std::string_view code) { return bare.pattern(code); }));
    return out;
  }
};

// One file of a project, parsed and lowered. `files` are the project's other files on disk.
class Lowered {
 public:
  explicit Lowered(const std::string& text, const std::string& name = "m.py",
                   const std::string& root = ".",
                   const std::vector<python::Project::File>& files = {})
      : frontend(root, files, {""}, Shipped::get().catalogue, &Shipped::get().isomorphisms) {
    unit = must(frontend.load(must(Source::decode(name, text)), name));
  }

  // The function of that name; the last one where several have it.
  const Function& function(std::string_view name = "f") const {
    const Function* found = nullptr;
    for (const Function& f : unit->functions) {
      if (f.name == name) found = &f;
    }
    if (found == nullptr) throw std::runtime_error("no function " + std::string(name));
    return *found;
  }
  const Graph& graph(std::string_view name = "f") const { return function(name).graph; }

  // What a function returns, its `return`s in source order: "add(a, b) | c".
  std::string returned(std::string_view name = "f") const {
    std::string out;
    for (ValueId id : graph(name).results) {
      if (!out.empty()) out += " | ";
      out += dump(graph(name), id);
    }
    return out;
  }

  python::PythonFrontend frontend;
  std::unique_ptr<Unit> unit;
};

}  // namespace refit
