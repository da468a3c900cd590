// What can be told of a template text ("mindiesd.RMSNorm($dim, eps=$eps)") without parsing it: its
// holes and the functions it calls. The engine compiles it in full; this is for load-time checks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace refit {

// A name as Python and C++ have it, in ASCII.
bool is_identifier(std::string_view text);

// The names after `$`, each once, in order. A `$` before anything but a name gives an empty name.
std::vector<std::string> holes(std::string_view text);

struct TemplateCall {
  std::string name;                   // dotted, as written
  std::vector<std::string> keywords;  // names of its keyword arguments
};

// The calls of dotted names; a method of a hole or of another call ($x.to(...)) is none.
std::vector<TemplateCall> calls(std::string_view text);

}  // namespace refit
