// Python text lowered with the shipped catalogue and isomorphisms, for the tests of the front end,
// the graph and the planner. Entry point: Lowered.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "rewriter/frontend/python/frontend.hpp"
#include "rewriter/graph/isomorphisms.hpp"

namespace refit {

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
    auto catalogue = Catalogue::load(rules + "/catalogue");
    if (!catalogue) throw std::runtime_error(catalogue.error().message);
    out->catalogue = std::move(*catalogue);
    python::PythonFrontend bare(".", {}, {}, out->catalogue, nullptr);
    auto isomorphisms =
        Isomorphisms::load(rules + "/isomorphisms.yaml", out->catalogue,
                           [&](std::string_view code) { return bare.pattern(code); });
    if (!isomorphisms) throw std::runtime_error(isomorphisms.error().message);
    out->isomorphisms = std::move(*isomorphisms);
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
    auto source = Source::decode(name, text);
    if (!source) throw std::runtime_error(source.error().message);
    auto loaded = frontend.load(std::move(*source), name);
    if (!loaded) throw std::runtime_error(loaded.error().message);
    unit = std::move(*loaded);
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
  const graph::Graph& graph(std::string_view name = "f") const { return function(name).graph; }

  // What a function returns, its `return`s in source order: "add(a, b) | c".
  std::string returned(std::string_view name = "f") const {
    std::string out;
    for (graph::ValueId id : graph(name).results) {
      if (!out.empty()) out += " | ";
      out += dump(graph(name), id);
    }
    return out;
  }

  python::PythonFrontend frontend;
  std::unique_ptr<Unit> unit;
};

}  // namespace refit
