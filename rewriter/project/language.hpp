// The source languages of the files that a run looks at, told by a file's suffix. Discovery takes
// the files, the engine gives each to its language's front end.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace refit {

enum class Language { python, cpp };

struct LanguageFacts {
  Language language;
  std::string_view name;                     // for messages
  std::array<std::string_view, 8> suffixes;  // of file names; empty ones are unused
  // One of these stands in every file of the language that could concern a rule; none: any file
  // could.
  std::array<std::string_view, 2> words;
};

inline constexpr std::array<LanguageFacts, 2> kLanguages{{
    {Language::python, "Python", {".py"}, {}},
    {Language::cpp,
     "C++",
     {".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx", ".h", ".ipp"},
     {"torch::", "at::"}},
}};

// The language of a file by its name; nothing where it is no source file.
inline const LanguageFacts* language_of(std::string_view path) {
  for (const LanguageFacts& facts : kLanguages) {
    for (std::string_view suffix : facts.suffixes) {
      if (!suffix.empty() && path.size() > suffix.size() && path.ends_with(suffix)) return &facts;
    }
  }
  return nullptr;
}

// Whether a file of that language could concern a rule at all.
inline bool may_concern(const LanguageFacts& facts, std::string_view text) {
  bool any = false;
  for (std::string_view word : facts.words) {
    if (word.empty()) continue;
    if (text.find(word) != std::string_view::npos) return true;
    any = true;
  }
  return !any;
}

}  // namespace refit
