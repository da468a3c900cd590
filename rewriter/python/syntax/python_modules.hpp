// The modules that come with Python.
#pragma once

#include <string_view>

namespace refit::python {

// Whether a package, `os` of `os.path`, is one of those; private ones are not.
bool is_python_module(std::string_view package);

// Whether it has nothing but types and what serves annotations, so that `from MODULE import *`
// gives no function of Python's own or of a library another meaning.
bool has_types_only(std::string_view module);

}  // namespace refit::python
