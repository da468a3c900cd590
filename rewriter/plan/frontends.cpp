// Making the front ends: see frontends.hpp.
#include "rewriter/plan/frontends.hpp"

#include "rewriter/frontend/cpp/plugin.hpp"
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

Frontend* Frontends::of(Language language) {
  if (language == Language::python) return python_.get();
  std::call_once(cpp_once_, [this] {
    auto made =
        cpp::load_frontend({input_.root, options_.cpp_catalogue}, catalogue_, isomorphisms_);
    if (made) {
      cpp_ = std::move(*made);
    } else {
      why_no_cpp_ = made.error().message;
    }
  });
  return cpp_.get();
}

const std::string& Frontends::why_not(Language) const { return why_no_cpp_; }

}  // namespace refit
