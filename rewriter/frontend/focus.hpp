// Which functions of a file are worth lowering: a function none of whose texts could make a site is
// left out. The engine knows the texts, a front end knows what a function can see. See Frontend::load.
#pragma once

#include <functional>
#include <string_view>

#include "rewriter/project/literals.hpp"
#include "rewriter/text/source.hpp"

namespace refit {

struct Focus {
  // The literals of interest that stand in a text.
  std::function<LiteralBits(std::string_view)> seen;
  // Whether to lower a function that stands at `where` and can see those literals: in its own text,
  // in functions of the file that it names, in what an alias of the file stands for.
  std::function<bool(ByteRange where, const LiteralBits&)> wanted;
};

}  // namespace refit
