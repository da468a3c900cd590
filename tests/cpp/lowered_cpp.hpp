// C++ text lowered with the shipped catalogue.
// Entry point: LoweredCpp.
#pragma once

#include "rewriter/cpp/frontend.hpp"
#include "rewriter/cpp/unit.hpp"
#include "tests/python/lowered.hpp"

namespace refit {

inline Frontend& cpp_frontend() {
  static cpp::CppFrontend frontend({".", std::string(REFIT_RULES_DIR) + "/catalogue/cpp"},
                                   Shipped::get().catalogue, Shipped::get().isomorphisms);
  return frontend;
}

// One file, torch's header included.
class LoweredCpp {
 public:
  explicit LoweredCpp(const std::string& body) {
    auto source = must(Source::decode("m.cpp", "#include <torch/torch.h>\n" + body));
    loaded_ = must(cpp_frontend().load(std::move(source), "m.cpp"));
    unit = static_cast<const cpp::CppUnit*>(loaded_.get());
  }

  // What the last function that is no lambda returns, its `return`s in source order.
  std::string returned() const {
    std::string out;
    size_t last = unit->functions.size() - 1;
    while (last > 0 && unit->functions[last].name == "operator()") --last;
    const Graph& graph = unit->functions[last].graph;
    for (ValueId id : graph.results) {
      if (!out.empty()) out += " | ";
      out += dump(graph, id);
    }
    return out;
  }

  const cpp::CppUnit* unit;

 private:
  std::unique_ptr<Unit> loaded_;
};

}  // namespace refit
