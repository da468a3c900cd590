// A site's name that stays while lines above it come and go. Entry point: fingerprint.
#pragma once

#include <string>

#include "rewriter/plan/finding.hpp"

namespace refit {

// 16 hexadecimal digits, made of the rule, the file, the qualified function and the site's text
// without regard to white space. Sites that agree in all of these have one fingerprint.
std::string fingerprint(const Finding& finding);

}  // namespace refit
