// See languages.hpp.
#include "rewriter/cli/languages.hpp"

#include <vector>

#include "rewriter/cpp/frontend.hpp"
#include "rewriter/python/frontend.hpp"

namespace refit {

std::unique_ptr<RuleLanguage> ShippedLanguages::rules(const Catalogue& catalogue,
                                                      const Isomorphisms* isomorphisms) const {
  // A pattern stands in no project: its names are those of the catalogue.
  return std::make_unique<python::PythonFrontend>(".", std::vector<python::Project::File>{},
                                                  std::vector<std::string>{}, catalogue,
                                                  isomorphisms);
}

std::unique_ptr<Frontend> ShippedLanguages::frontend(Language language, const Input& input,
                                                     const Catalogue& catalogue,
                                                     const Isomorphisms& isomorphisms) const {
  if (language == Language::cpp) {
    cpp::Settings settings{input.root, cpp_catalogue_};
    settings.defines = defines_;
    for (const InputFile& file : input.files) settings.files.push_back(file.relative);
    return std::make_unique<cpp::CppFrontend>(settings, catalogue, isomorphisms);
  }
  std::vector<python::Project::File> files;
  for (const InputFile& file : input.files) {
    const LanguageFacts* facts = language_of(file.relative);
    if (facts != nullptr && facts->language == Language::python) {
      files.push_back({file.path, file.relative, file.bytes.get()});
    }
  }
  return std::make_unique<python::PythonFrontend>(input.root, files, input.module_roots, catalogue,
                                                  &isomorphisms);
}

Expected<RunResult> run(const RuleSet& rules, const Input& input, const EngineOptions& options,
                        const Progress& progress) {
  return run(rules, ShippedLanguages(options.rules_folder, options.defines), input, options,
             progress);
}

}  // namespace refit
