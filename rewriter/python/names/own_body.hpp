// The body of a definition in one line of tokens, whatever its comments, annotations, line breaks
// and own name, and a number that tells one body from another. With it stand the functions, classes
// and values of the file that it names, and theirs, and where other names of it are imported from.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "rewriter/python/names/module.hpp"

namespace refit::python {

// nullopt where the file binds the name to anything but one function or class, or a part of it does
// not parse. `names`: what the file binds.
std::optional<std::string> normal_body(TSNode root, std::string_view text, const Names& names,
                                       std::string_view name);
// Sixteen hexadecimal digits (FNV-1a) of what normal_body gives.
std::string digest_of(std::string_view body);

}  // namespace refit::python
