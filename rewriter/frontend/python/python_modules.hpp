// The modules that come with Python.
#pragma once

#include <string_view>

namespace refit::python {

// Whether a package, `os` of `os.path`, is one of those; private ones are not.
bool is_python_module(std::string_view package);

}  // namespace refit::python
