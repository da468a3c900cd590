// Which functions of a file are worth lowering: a function none of whose texts could make a site is
// left out. The engine knows the texts, a front end knows what a function can see. See
// Frontend::load.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/project/literals.hpp"
#include "rewriter/text/source.hpp"

namespace refit {

class EditSet;
class Unit;

// A literal that no text holds: a function sees it where the front end finds that it may do this.
struct Shown {
  enum class What : uint8_t {
    object,   // call an object, of a class of one of these names, that the file gives an attribute
    addition  // add one to something and multiply by the sum; these functions can be part of it
  };
  What what = What::object;
  std::vector<std::string> names;   // last components
  std::vector<std::string> adders;  // of those that take the number
  uint32_t literal = 0;
};

struct Focus {
  const Literals* literals = nullptr;  // those of interest
  // Whether to lower a function that stands at `where` and can see those literals: in its own text,
  // in functions of the file that it names, in what an alias of the file stands for. What is wanted
  // for some literals is wanted for more.
  std::function<bool(ByteRange where, const LiteralBits&)> wanted;
  const std::vector<Shown>* shown = nullptr;
  // Whether functions whose results what is wanted may use are wanted, too.
  bool helpers = false;
  // The unit whose text became this one by edits.
  const Unit* before = nullptr;
  // Those edits.
  const EditSet* edits = nullptr;
  // With `before`: what those wrote. A function that sees nothing of it is what it was.
  std::vector<ByteRange> changed;
};

}  // namespace refit
