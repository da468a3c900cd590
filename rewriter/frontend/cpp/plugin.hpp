// The door to the C++ front end. It is a shared object of its own, because clang inside the tool
// would make every start slower and every build need clang; it is loaded when the first C++ file
// asks for it. Entry point: load_frontend.
#pragma once

#include <memory>
#include <string>

#include "rewriter/frontend/frontend.hpp"
#include "rewriter/graph/isomorphisms.hpp"
#include "rewriter/text/bounds.hpp"

namespace refit::cpp {

struct Settings {
  std::string root;       // of the repository; its compile_commands.json is looked for there
  std::string catalogue;  // folder of names.yaml and include/: what is known of C++ libraries
  void (*reached)(Bound,
                  uint32_t) = refit::reached;  // counts in the program what is reached in here
};

// The front end from `../lib/refit_cpp.so` beside the program's folder, or from the file that
// REFIT_CPP_FRONTEND names. Fails where there is none or it is of another build.
Expected<std::unique_ptr<Frontend>> load_frontend(const Settings& settings,
                                                  const Catalogue& catalogue,
                                                  const Isomorphisms& isomorphisms);

// What the shared object exports.
inline constexpr const char* kMakeSymbol = "refit_cpp_make_frontend";
inline constexpr const char* kVersionSymbol = "refit_cpp_version";
using Make = Frontend*(const Settings&, const Catalogue&, const Isomorphisms&);
using Version = const char*();

}  // namespace refit::cpp
