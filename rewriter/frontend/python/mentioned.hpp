// Which names of a file stand where in its text: those of its definitions and those by which it
// calls something of another name. Found in one pass. Entry point: Mentioned::in.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rewriter/frontend/python/outline.hpp"
#include "rewriter/project/literals.hpp"

namespace refit::python {

class Mentioned {
 public:
  // The same pass adds where literals stand outside remarks.
  Mentioned(std::string_view text, const Outline& outline, const Literals& literals,
            std::vector<Literals::Place>& places);

  // A name of a definition, by number; `own`: as a member of `self`.
  struct Name {
    uint32_t name = 0;
    bool own = false;
    bool annotates = false;  // behind a colon or a quote: it may say what class something is of
  };
  // Names in a part of the text, each once or twice, and which of the aliases stand there.
  struct Part {
    std::vector<Name> names;
    std::vector<uint32_t> aliases;
  };
  Part in(uint32_t begin, uint32_t end) const;

  size_t names() const { return by_name_.size(); }
  // The number of a definition's name; SIZE_MAX where none has it.
  size_t number(std::string_view name) const;
  // The definitions of a name.
  const std::vector<size_t>& definitions(size_t name) const { return by_name_[name]; }
  // What a call through an alias may mean.
  const std::vector<std::string_view>& meanings(size_t alias) const { return meanings_[alias]; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Word {
    uint32_t name = kNone, alias = kNone;
  };
  struct Place {
    uint32_t at = 0;
    Word word;
    bool member = false, own = false, annotates = false;
  };
  void add_alias(std::string_view local, std::string_view meaning);
  void note(std::string_view text, size_t begin, size_t end);

  std::unordered_map<std::string_view, Word> words_;
  std::vector<std::vector<size_t>> by_name_;
  std::vector<std::vector<std::string_view>> meanings_;
  std::vector<Place> places_;
  WordSet filter_;  // those of words_
};

}  // namespace refit::python
