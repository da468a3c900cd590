// See replaced.hpp.
#include "rewriter/frontend/python/replaced.hpp"

#include <algorithm>
#include <array>

#include "rewriter/frontend/python/lines.hpp"

namespace refit::python {

namespace {

bool plain_chain(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return name_char(c) || c == '.'; });
}

std::string_view last_component(std::string_view dotted) {
  return dotted.substr(dotted.rfind('.') + 1);
}

// The text in the quotes that open at or after blanks from `at`.
std::string_view quoted_after(std::string_view text, size_t at) {
  at = text.find_first_not_of(" \t\r\n", at);
  if (at == std::string_view::npos || (text[at] != '"' && text[at] != '\'')) return {};
  size_t end = text.find(text[at], at + 1);
  return end == std::string_view::npos ? std::string_view{} : text.substr(at + 1, end - at - 1);
}

// The module that `sys.modules["…"]` or `import_module("…")` finds, "*" where its name is computed;
// empty where no module is looked for.
std::string_view module_found(std::string_view object) {
  for (std::string_view way : {"modules[", "import_module(", "__import__("}) {
    size_t at = object.find(way);
    if (at == std::string_view::npos) continue;
    std::string_view name = quoted_after(object, at + way.size());
    return name.empty() ? "*" : name;
  }
  return {};
}

// Whether what an entry gives is called at once: `[name](…)`, which changes no entry.
bool entry_called(std::string_view behind) {
  constexpr size_t kFar = 256;
  behind = behind.substr(0, kFar);
  size_t depth = 0;
  for (size_t at = 0; at < behind.size(); ++at) {
    const char c = behind[at];
    if (c == '"' || c == '\'') {
      at = behind.find(c, at + 1);
      if (at == std::string_view::npos) return false;
    } else if (c == '[') {
      ++depth;
    } else if (c == ']' && --depth == 0) {
      return behind.substr(at + 1).starts_with("(");
    } else if (c == '#' || c == '\\') {
      return false;
    }
  }
  return false;
}

// Where what follows a table of names may name what it changes: behind `[` and the like; 0 where it
// changes nothing.
size_t changed_at(std::string_view behind) {
  if (behind.starts_with("[") && entry_called(behind)) return 0;
  for (std::string_view way : {"[", ".setdefault(", ".__setitem__("}) {
    if (behind.starts_with(way)) return way.size();
  }
  for (std::string_view way : {".update(", " |="}) {
    if (behind.starts_with(way)) return behind.size();
  }
  return 0;
}

// Whether what stands in [begin, end) is all that a name is given in its line.
bool given_a_name(std::string_view text, size_t begin, size_t end) {
  size_t line = begin;
  while (line > 0 && text[line - 1] != '\n') --line;
  const std::string_view head = trimmed(text.substr(line, begin - line));
  return head.ends_with('=') && plain_chain(trimmed(head.substr(0, head.size() - 1))) &&
         (end == text.size() || text[end] == '\n' || text[end] == '\r');
}

// The key of a name as it is written: `OBJECT.NAME` or another text.
uint64_t key_of(std::string_view name) {
  size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot != name.rfind('.')) return name_hash(name);
  return paired(name_hash(name.substr(0, dot)), name_hash(name.substr(dot + 1)));
}

}  // namespace

bool test_file(std::string_view relative) {
  std::string_view name = relative.substr(relative.rfind('/') + 1);
  if (name.starts_with("test_") || name.ends_with("_test.py") || name == "conftest.py") return true;
  std::string path = "/" + std::string(relative);
  return path.find("/tests/") != std::string::npos || path.find("/test/") != std::string::npos;
}

// Whether a line of the text imports something by that name.
bool ReplacedReader::imports(std::string_view name) {
  if (!imported_) {
    imported_.emplace();
    for (auto word : {NotedPlaces::kImport, NotedPlaces::kFrom}) {
      for (size_t at : places_.of(word)) {
        size_t line = at;
        while (line > 0 && text_[line - 1] != '\n') {
          if (!space(text_[line - 1]) && text_[line - 1] != '\\') break;
          --line;
        }
        if (line > 0 && text_[line - 1] != '\n') continue;  // it does not begin its line
        if (word == NotedPlaces::kImport && !text_.substr(at).starts_with("import ")) continue;
        size_t end = std::min(text_.find('\n', at), text_.size());
        end = std::min(text_.substr(0, end).find(';', at), end);
        while (at < end) {
          std::string_view part = first_word(text_.substr(at, end - at));
          if (!part.empty()) imported_->insert(part);
          at += std::max<size_t>(part.size(), 1);
        }
      }
    }
  }
  return imported_->contains(name);
}

// Calls found(place behind it) for each place of a word that begins as one.
template <typename Found>
void ReplacedReader::each(NotedPlaces::Word word, Found found) const {
  for (size_t at : places_.of(word)) {
    if ((at == 0 || !name_char(text_[at - 1])) && !in_comment(text_, at))
      found(at + NotedPlaces::text_of(word).size());
  }
}

void ReplacedReader::add(uint64_t key, std::string_view name) {
  out_.replaced.push_back({key, static_cast<uint32_t>(name.data() - text_.data())});
}

void ReplacedReader::store(std::string_view object, std::string_view name) {
  object = trimmed(object);
  if (object == "self" || object == "cls" || object.starts_with("self.")) return;
  bool certain = true;
  if (!plain_chain(object)) {
    object = module_found(object);
    if (object.empty()) return add(key_of(name), name);
    certain = object != "*";
  } else {
    std::string_view root = object.substr(0, object.find('.'));
    certain = imports(root);
    if (root.size() == object.size()) object = renamed_.of(object);
  }
  add(paired(name_hash(last_component(object)), name_hash(name)), name);
  if (!certain) add(key_of(name), name);
}

void ReplacedReader::store_any(std::string_view object) {
  object = trimmed(object);
  if (test_ || !plain_chain(object) || !imports(object.substr(0, object.find('.')))) return;
  const std::string_view last = last_component(object);
  const std::string_view name =
      object.find('.') == std::string_view::npos ? renamed_.of(object) : last;
  add(paired(name_hash(last_component(name)), name_hash("*")), last);
}

void ReplacedReader::note_text() {
  if (test_) return;
  auto dotted = [&](std::string_view written) {  // "package.module.NAME"
    size_t dot = written.rfind('.');
    if (dot == std::string_view::npos || !plain_chain(written)) return;
    std::string_view object = last_component(written.substr(0, dot));
    add(paired(name_hash(object), name_hash(written.substr(dot + 1))), written);
  };
  each(NotedPlaces::kPatch, [&](size_t at) { dotted(quoted_after(text_, at)); });
  each(NotedPlaces::kPatchObject, [&](size_t at) {
    size_t comma = text_.find(',', at);
    if (comma == std::string_view::npos) return;
    std::string_view name = quoted_after(text_, comma + 1);
    if (!name.empty()) store(text_.substr(at, comma - at), name);
  });
  note_modules();
  for (size_t at : places_.of(NotedPlaces::kDict)) {
    const size_t open = at + NotedPlaces::text_of(NotedPlaces::kDict).size();
    const std::string_view behind = text_.substr(open);
    size_t named = changed_at(behind);
    size_t begin = at;
    while (begin > 0 && (name_char(text_[begin - 1]) || text_[begin - 1] == '.')) --begin;
    if (named == 0 && given_a_name(text_, begin, open)) named = behind.size();
    if (named == 0) continue;
    const std::string_view name = quoted_after(text_, open + named);
    const std::string_view object = text_.substr(begin, at - begin);
    if (in_comment(text_, at)) continue;
    if (!name.empty()) {
      store(object, name);
    } else {
      store_any(object);
    }
  }
  each(NotedPlaces::kVars, [&](size_t at) {
    size_t close = text_.find(')', at);
    if (close == std::string_view::npos) return;
    const std::string_view object = text_.substr(at, close - at), behind = text_.substr(close + 1);
    size_t named = changed_at(behind);
    if (named == 0 &&
        given_a_name(text_, at - NotedPlaces::text_of(NotedPlaces::kVars).size(), close + 1))
      named = behind.size();
    if (named == 0) return;
    std::string_view name = quoted_after(text_, close + 1 + named);
    if (!name.empty()) return store(object, name);
    store_any(object);
  });
}

void ReplacedNames::add(uint32_t file, const TextNotes& notes) {
  for (const auto& n : notes.replaced) names_.emplace(n.name, Place{file, n.offset});
  static const uint64_t itself = name_hash(kItself), loads = name_hash(kLoadsItself);
  for (const auto& m : notes.modules) {
    const Place place{file, m.offset};
    if (m.name != itself && m.name != loads) {
      modules_.emplace(m.name, place);
    } else if (const auto own = own_.emplace(file, Own{place, m.name == loads}).first;
               m.name == itself) {
      own->second.loads = false;
    }
  }
}

const ReplacedNames::Place* ReplacedNames::of_module(std::string_view module, std::string_view name,
                                                     bool imported) const {
  auto at = [&](uint64_t key) {
    auto found = names_.find(key);
    return found == names_.end() ? nullptr : &found->second;
  };
  static const std::array<uint64_t, 3> any{name_hash("module"), name_hash("mod"), name_hash("*")};
  const uint64_t hash = name_hash(name);
  if (imported) {
    if (const Place* place = at(hash)) return place;
  }
  if (const Place* place = at(paired(name_hash(last_component(module)), hash))) return place;
  for (uint64_t object : any) {
    if (const Place* place = at(paired(object, hash))) return place;
  }
  return at(paired(name_hash(last_component(module)), any.back()));
}

const ReplacedNames::Place* ReplacedNames::of_whole(std::string_view module) const {
  if (modules_.empty()) return nullptr;
  auto found = modules_.find(name_hash(module));
  if (found == modules_.end()) {
    found = modules_.find(paired(name_hash("*"), name_hash(last_component(module))));
  }
  return found == modules_.end() ? nullptr : &found->second;
}

const ReplacedNames::Place* ReplacedNames::by_itself(uint32_t file, bool package) const {
  auto found = own_.find(file);
  if (found == own_.end() || (package && found->second.loads)) return nullptr;
  return &found->second.place;
}

const ReplacedNames::Place* ReplacedNames::of_library(std::string_view qualified) const {
  for (size_t dot = qualified.find('.');; dot = qualified.find('.', dot + 1)) {
    std::string_view prefix = qualified.substr(0, dot);
    if (const Place* place = of_whole(prefix)) return place;
    size_t last = prefix.rfind('.');
    if (last != std::string_view::npos) {
      size_t before = prefix.rfind('.', last - 1);
      std::string_view pair = before == std::string_view::npos ? prefix : prefix.substr(before + 1);
      auto known = names_.find(key_of(pair));
      if (known != names_.end()) return &known->second;
    }
    if (dot == std::string_view::npos) return nullptr;
  }
}

}  // namespace refit::python
