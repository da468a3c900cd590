// Lowers the functions of a Python module to value graphs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rewriter/frontend/python/scope.hpp"
#include "rewriter/frontend/python/unit.hpp"
#include "rewriter/graph/isomorphisms.hpp"

namespace refit::python {

struct LoweringContext {
  Project& project;
  const Catalogue& catalogue;
  const Isomorphisms* isomorphisms = nullptr;  // null while the isomorphisms themselves load
  bool pattern = false;                        // identifiers with the hole prefix are holes
};

inline constexpr std::string_view kHolePrefix = "refit_hole_";

// The tokens of a Python operator that are rare enough to tell something; nullopt where the
// operation is no operator or has none.
std::optional<std::vector<std::string>> operator_spellings(std::string_view operation);

// What imports of libraries mean in a module, whose folder may have its own under that name.
void find_own_libraries(Names& names, const std::string& module, const LoweringContext& context);
std::string own_library(const std::string& qualified, const std::string& module,
                        const LoweringContext& context);

// What a dotted name of the module's top level stands for, where it is no other class of a known
// name.
std::optional<std::string> class_meaning(const PythonUnit& unit, const LoweringContext& context,
                                         std::string_view dotted);

// Fills unit.functions, project_calls and unresolved.
void lower_unit(PythonUnit& unit, const LoweringContext& context);

}  // namespace refit::python
