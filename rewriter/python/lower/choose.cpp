// What each part of a file sees, as a fixed point over the names that parts mention. See
// choose.hpp.
#include "rewriter/python/lower/choose.hpp"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "rewriter/python/lower/parts.hpp"

namespace refit::python {

namespace {

class Chooser {
 public:
  Chooser(TSNode module, std::string_view text, const Focus& focus)
      : text_(text), focus_(focus), vocabulary_(*focus.vocabulary), all_(parts_of(module, text)) {}

  Choice run() {
    scan();
    for (const Part& part : parts()) {
      seen_.push_back(held_in(part));
      changed_.push_back(was_changed(part));
      named_.push_back(names_in(part));
    }
    spread();
    std::vector<bool> wanted(parts().size(), false);
    bool any = false;
    for (size_t i = 0; i < parts().size(); ++i) {
      const Part& part = parts()[i];
      if (!part.is_lowered()) continue;
      wanted[i] =
          (focus_.changed.empty() || changed_[i]) && focus_.wanted(part.definition, seen_[i]);
      any = any || wanted[i];
    }
    if (focus_.helpers) add_helpers(wanted);
    Choice out;
    out.nothing = !any && focus_.before == nullptr;
    for (size_t i = 0; i < parts().size(); ++i) {
      const Part& part = parts()[i];
      if (!part.is_lowered() || wanted[i]) continue;
      LeftOut left{part.definition, {}};
      // A module's text is full of names in comments and docstrings, which call nothing.
      const bool module = part.kind == Part::Kind::module;
      each_word(part, [&](const Word& word) {
        if (module && (in_remark(word.begin) || in_comment(text_, word.begin))) return;
        left.words.push_back(word.hash);
      });
      std::ranges::sort(left.words);
      left.words.erase(std::unique(left.words.begin(), left.words.end()), left.words.end());
      left.words.shrink_to_fit();
      out.left_out.push_back(std::move(left));
    }
    return out;
  }

 private:
  struct Word {
    uint64_t hash;
    uint32_t begin, end;
  };
  struct Hit {
    uint32_t at, entry;
  };

  const std::vector<Part>& parts() const { return all_.parts; }

  // One pass over the text: its words, and where entries of the vocabulary stand in code.
  void scan() {
    vocabulary_.scan(
        text_, true, [](uint32_t) { return false; },
        [&](uint32_t entry, size_t at) { hits_.push_back({static_cast<uint32_t>(at), entry}); },
        [&](uint64_t hash, size_t begin, size_t end) {
          words_.push_back({hash, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
        });
    std::ranges::sort(hits_, [](const Hit& a, const Hit& b) { return a.at < b.at; });
    std::erase_if(hits_, [&](const Hit& hit) { return in_remark(hit.at); });
    for (size_t i = 1; i < parts().size(); ++i) by_name_[hash_of(parts()[i].name)].push_back(i);
  }

  // Whether a place is in a string that is a statement, text about the code.
  bool in_remark(uint32_t at) const {
    const auto after = std::ranges::upper_bound(all_.remarks, at, {}, &ByteRange::begin);
    return after != all_.remarks.begin() && at < std::prev(after)->end;
  }

  // The texts that a part is made of.
  std::span<const ByteRange> texts_of(const Part& part) const {
    if (part.kind == Part::Kind::module) return all_.own;
    return {&part.range, 1};
  }

  template <typename Visit>
  void each_word(const Part& part, Visit visit) const {
    for (const ByteRange range : texts_of(part)) {
      auto word = std::ranges::lower_bound(words_, range.begin, {}, &Word::begin);
      for (; word != words_.end() && word->begin < range.end; ++word) visit(*word);
    }
  }

  EntrySet held_in(const Part& part) const {
    EntrySet out = vocabulary_.none();
    for (const ByteRange range : texts_of(part)) {
      auto hit = std::ranges::lower_bound(hits_, range.begin, {}, &Hit::at);
      for (; hit != hits_.end() && hit->at < range.end; ++hit) out.set(hit->entry);
    }
    return out;
  }

  bool was_changed(const Part& part) const {
    return std::ranges::any_of(focus_.changed, [&](ByteRange changed) {
      return std::ranges::any_of(texts_of(part), [&](ByteRange range) {
        return changed.begin <= range.end && range.begin <= changed.end;
      });
    });
  }

  // Whether a place of a part is where an attribute, a keyword or a name is given something.
  bool is_given(const Word& word) const {
    size_t at = word.end;
    while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t')) ++at;
    return at + 1 < text_.size() && text_[at] == '=' && text_[at + 1] != '=';
  }

  // The other parts that a part's text names, each once.
  std::vector<size_t> names_in(const Part& part) const {
    std::vector<size_t> out;
    each_word(part, [&](const Word& word) {
      const auto named = by_name_.find(word.hash);
      if (named == by_name_.end() || is_given(word)) return;
      const bool dotted = word.begin > 0 && text_[word.begin - 1] == '.';
      for (const size_t n : named->second) {
        // Names in a class's lists of names, `_no_split_modules = ["norm"]`, read no attribute.
        const bool listed =
            part.kind == Part::Kind::module && !dotted && parts()[n].kind == Part::Kind::attribute;
        if (&parts()[n] != &part && !listed && names(word, dotted, parts()[n])) out.push_back(n);
      }
    });
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  bool names(const Word& word, bool dotted, const Part& part) const {
    const bool apart =
        part.scope.end != 0 && (word.begin < part.scope.begin || word.begin >= part.scope.end);
    if (apart || part.name != text_.substr(word.begin, word.end - word.begin)) return false;
    switch (part.kind) {
      case Part::Kind::function:
      case Part::Kind::value:
        return !dotted;
      case Part::Kind::method:
        return dotted && !part.name.starts_with("__");
      default:
        return true;
    }
  }

  // What a named part sees reaches whoever names it, but not out of a function that is too long to
  // be seen through; that it was changed does.
  void spread() {
    std::vector<std::vector<size_t>> naming(parts().size());
    for (size_t i = 0; i < parts().size(); ++i) {
      for (const size_t n : named_[i]) naming[n].push_back(i);
    }
    std::vector<size_t> work(parts().size());
    for (size_t i = 0; i < work.size(); ++i) work[i] = i;
    std::vector<bool> waiting(parts().size(), true);
    while (!work.empty()) {
      const size_t i = work.back();
      work.pop_back();
      waiting[i] = false;
      const Part& part = parts()[i];
      const bool reaches = !part.is_function() || part.statements <= kSeenStatements;
      const bool gives = part.kind == Part::Kind::value || part.kind == Part::Kind::attribute;
      const EntrySet given = gives ? vocabulary_.given(seen_[i]) : vocabulary_.none();
      for (const size_t n : naming[i]) {
        bool fresh = reaches && seen_[n].add(seen_[i]);
        fresh = seen_[n].add(given) || fresh;
        if (changed_[i] && !changed_[n]) fresh = changed_[n] = true;
        if (fresh && !waiting[n]) {
          waiting[n] = true;
          work.push_back(n);
        }
      }
    }
  }

  // Functions of the module that something wanted names and that may give a tensor: the rank of a
  // helper's result is seen where it is called.
  void add_helpers(std::vector<bool>& wanted) const {
    std::vector<size_t> work;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i]) work.push_back(i);
    }
    while (!work.empty()) {
      const size_t i = work.back();
      work.pop_back();
      for (const size_t n : named_[i]) {
        const Part& part = parts()[n];
        if (wanted[n] || part.kind != Part::Kind::function || !part.gives_one) continue;
        wanted[n] = true;
        work.push_back(n);
      }
    }
  }

  std::string_view text_;
  const Focus& focus_;
  const Vocabulary& vocabulary_;
  Parts all_;
  std::vector<Word> words_;
  std::vector<Hit> hits_;
  std::unordered_map<uint64_t, std::vector<size_t>> by_name_;
  std::vector<EntrySet> seen_;              // by part
  std::vector<bool> changed_;               // by part
  std::vector<std::vector<size_t>> named_;  // by part
};

}  // namespace

Choice choose(TSNode module, std::string_view text, const Focus& focus) {
  return Chooser(module, text, focus).run();
}

}  // namespace refit::python
