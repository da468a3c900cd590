// Other names that the files of a run give to known callees (`from torch.nn.functional import
// scaled_dot_product_attention as attention`). A file that imports such a name holds no text that
// a rule looks for, so it is found by the name and the module that it comes from.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace refit {

struct Alias {
  std::string name;
  std::string callee;  // last part of the callee's name
};

// The names that a file's text gives to `callees` (last parts of qualified names).
std::vector<Alias> aliases_in(std::string_view text, const std::set<std::string>& callees);

// A place that gives a callee's name another meaning: `F.callee = mine`,
// `setattr(F, "callee", mine)`, `nn.Callee.forward = mine`; or only for a while:
// `patch.object(F, "callee")`.
struct Replacement {
  std::string callee;
  size_t line = 0;
  bool lasting = true;
};
std::vector<Replacement> replacements_in(std::string_view text,
                                         const std::set<std::string>& callees);

// The last part of the name of the module that a file is.
std::string last_module(std::string_view file);

// Whether a module hands on what it imports: a package's __init__, or one with a star import.
bool hands_on(std::string_view file, std::string_view text);

// Texts one of which a file holds that imports from a module with this last name.
std::vector<std::string> mentions_of(const std::string& module);

}  // namespace refit
