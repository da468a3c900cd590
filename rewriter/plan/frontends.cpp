// Making the front ends: see frontends.hpp.
#include "rewriter/plan/frontends.hpp"

#include "rewriter/frontend/cpp/frontend.hpp"
#include "rewriter/frontend/python/frontend.hpp"

namespace refit {

Frontends::Frontends(const Input& input, const EngineOptions& options, const Catalogue& catalogue,
                     const Isomorphisms& isomorphisms)
    : input_(input), options_(options), catalogue_(catalogue), isomorphisms_(isomorphisms) {
  std::vector<python::Project::File> files;
  for (const InputFile& file : input.files) {
    const LanguageFacts* language = language_of(file.relative);
    if (language != nullptr && language->language == Language::python) {
      files.push_back({file.path, file.relative});
    }
  }
  python_ = std::make_unique<python::PythonFrontend>(input.root, files, input.module_roots,
                                                     catalogue, &isomorphisms);
}

Frontends::~Frontends() = default;

Frontend& Frontends::of(Language language) {
  if (language == Language::python) return *python_;
  std::call_once(cpp_once_, [this] {
    cpp_ = std::make_unique<cpp::CppFrontend>(cpp::Settings{input_.root, options_.cpp_catalogue},
                                              catalogue_, isomorphisms_);
  });
  return *cpp_;
}

}  // namespace refit
