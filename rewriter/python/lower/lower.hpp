// Lowers the functions of a Python module to value graphs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rewriter/graph/isomorphisms.hpp"
#include "rewriter/python/lower/unit.hpp"
#include "rewriter/python/names/scope.hpp"

namespace refit::python {

class OtherClasses;
class OtherFunctions;

struct LoweringContext {
  Project& project;
  const Catalogue& catalogue;
  const Isomorphisms* isomorphisms = nullptr;  // null while the isomorphisms themselves load
  bool pattern = false;                        // identifiers with the hole prefix are holes
  OtherClasses* others = nullptr;              // null for patterns
  OtherFunctions* functions = nullptr;         // null for patterns
};

inline constexpr std::string_view kHolePrefix = "refit_hole_";

// What imports of libraries mean in a module, whose folder may have its own under that name.
void find_own_libraries(Names& names, const std::string& module, const LoweringContext& context);
std::string own_library(const std::string& qualified, const std::string& module,
                        const LoweringContext& context);

// The facts of a file's classes, none of them added yet; names resolve as they do in that file.
std::unique_ptr<ClassFacts> class_facts(std::string_view text, const Module& module,
                                        const LoweringContext& context);

// Fills unit.functions and project_calls.
void lower_unit(PythonUnit& unit, const LoweringContext& context);

}  // namespace refit::python
