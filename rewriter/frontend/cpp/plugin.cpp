// Finding and loading the shared object of the C++ front end: see plugin.hpp.
#include "rewriter/frontend/cpp/plugin.hpp"

#include <dlfcn.h>

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace refit::cpp {

Expected<std::unique_ptr<Frontend>> load_frontend(const Settings& settings,
                                                  const Catalogue& catalogue,
                                                  const Isomorphisms& isomorphisms) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path file;
  if (const char* named = std::getenv("REFIT_CPP_FRONTEND"); named != nullptr && *named != '\0') {
    file = named;
  } else {
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    file = program.parent_path().parent_path() / "lib" / "refit_cpp.so";
  }
  if (!fs::exists(file, error)) {
    return failure(
        fmt::format("this installation cannot read C++, because {} is not there; install "
                    "libclang-19-dev, llvm-19-dev and libzstd-dev (./dev setup does) and build "
                    "refit again",
                    file.string()));
  }
  // Never closed: what it made lives to the end of the process.
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return failure(fmt::format("the C++ front end cannot be loaded: {}", dlerror()));
  }
  auto* version = reinterpret_cast<Version*>(dlsym(library, kVersionSymbol));
  auto* make = reinterpret_cast<Make*>(dlsym(library, kMakeSymbol));
  if (version == nullptr || make == nullptr || std::string_view(version()) != REFIT_VERSION) {
    return failure(
        fmt::format("{} belongs to another build of refit ({} is wanted); build both "
                    "together",
                    file.string(), REFIT_VERSION));
  }
  return std::unique_ptr<Frontend>(make(settings, catalogue, isomorphisms));
}

}  // namespace refit::cpp
