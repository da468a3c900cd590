// The index of names over texts that stand for the files of a project.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rewriter/python/names/index.hpp"
#include "rewriter/python/syntax/syntax.hpp"

namespace refit::python {

inline FileFacts facts_of(const std::string& text, bool test = false) {
  return file_facts(Tree(text).root(), text, "pkg.helpers", false, test);
}

// The texts outlive it. Their words are all taken for names of known classes and of modules.
inline std::unique_ptr<NamesIndex> indexed(const std::vector<std::string>& files,
                                           bool test = false) {
  auto index = std::make_unique<NamesIndex>(
      files.size(), [&files, test](uint32_t file) { return facts_of(files[file], test); });
  for (uint32_t file = 0; file < files.size(); ++file) {
    KnownNames known;
    visit_words(files[file], [&](uint64_t hash, size_t, size_t) {
      known.modules.insert(hash);
      known.classes.insert(hash);
    });
    index->note(file, read_mentions(files[file], "pkg.helpers", false, known));
  }
  return index;
}

}  // namespace refit::python
