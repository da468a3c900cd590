// Comprehensions that are unpacked at once, `q, k, v = (x.transpose(1, 2) for x in (q, k, v))`, and
// `map(lambda x: x.transpose(1, 2), (q, k, v))`: one text for several values. What such a text is
// made of, and whether an assignment is only of names to themselves once its transposes are gone.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "rewriter/python/lower/unit.hpp"
#include "rewriter/text/edit.hpp"

namespace refit::python {

struct Unrolled {
  TSNode node{};          // the comprehension, or the call of `map`
  TSNode name{}, body{};  // of `body for name in …`, `lambda name: body`
  TSNode over{};          // what is gone through
  NodeList items;         // its parts, where they are written out; else empty
};

// A generator or a list comprehension of one loop over one name without a condition, or a call of
// `map` with a lambda of one name. With a count only one whose parts, if they are written out, are
// that many.
std::optional<Unrolled> unrolled_by(TSNode node, std::string_view source, size_t count);
// The one whose body a node is.
std::optional<Unrolled> unrolled_around(TSNode body, std::string_view source);

// How many parts of an unpacking assignment name themselves, of how many.
struct UnpackedParts {
  size_t own = 0, all = 0;
};

enum class NamesItself {
  no,
  whole,  // the statement has nothing left to do: `x = x`
  turns,  // a comprehension that only hands on what it goes through
};

// What is left of the assignment in which `node` stands once only its part `kept` remains. Parts of
// `x, y = x, y` are counted in `parts`, one call a part.
NamesItself names_itself(const PythonUnit& unit, TSNode node, TSNode kept, UnpackedParts* parts);

// `a, b = (x for x in (q, k))` is `a, b = q, k`, and so is `map(lambda x: x, (q, k))`: the edits
// that leave what is gone through, on one line where that is as wide as the file's own. Fails where
// a comment would be lost.
Expected<void> take_out_turns(const PythonUnit& unit, TSNode body, EditSet& edits);

}  // namespace refit::python
