// Chooses the functions of a file that a Focus wants lowered, on the file's tree. A function sees
// the words of its own text, of the short functions of the file that it names, and of what the file
// gives the names that it reads: `self.norm = nn.LayerNorm(d)`, `act = F.gelu`, `import f as g`.
// The statements of the module and of its classes are chosen as one more function, all or none.
// Entry point: choose.
#pragma once

#include <string_view>
#include <vector>

#include "rewriter/language/focus.hpp"
#include "rewriter/language/frontend.hpp"
#include "rewriter/python/syntax/syntax.hpp"

namespace refit::python {

// A call of a longer function of the file is not seen through.
inline constexpr size_t kSeenStatements = 8;

struct Choice {
  bool nothing = false;           // no function is wanted, nor are the file's own statements
  std::vector<LeftOut> left_out;  // what is not wanted, in textual order
};
Choice choose(TSNode module, std::string_view text, const Focus& focus);

}  // namespace refit::python
