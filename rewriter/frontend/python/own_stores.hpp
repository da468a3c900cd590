// Which attributes of its object a method may store, by its text: what class_facts.hpp reads of it
// with a parser, and perhaps more. Entry point: own_stores.
#pragma once

#include <string_view>
#include <vector>

#include "rewriter/frontend/python/outline.hpp"

namespace refit::python {

struct OwnStores {
  std::vector<std::string_view> names;
  bool any = false;  // by a name that is computed
};
OwnStores own_stores(std::string_view text, const Outline& outline,
                     const OutlinedDefinition& method);

}  // namespace refit::python
