// What reads the result of a function, by the text of its file alone: a call of it may be seen
// through, or be a method's, and then no value of a graph tells. Entry point: result_viewed.
#pragma once

#include <string_view>

namespace refit::python {

// Whether `.view` or `.view_as` reads what a function of that name gives: behind a call, or through
// the name that a statement gives it, until that means something else. A function that gives the
// result on is asked about in its place, `calls` times at most.
bool result_viewed(std::string_view text, std::string_view function, int calls = 3);

}  // namespace refit::python
