// See replaced.hpp.
#include "rewriter/frontend/python/replaced.hpp"

#include <algorithm>
#include <array>

#include "rewriter/project/literals.hpp"

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

// Whether a line of the text imports something by that name.
bool imports(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    if ((at > 0 && name_char(text[at - 1])) || (end < text.size() && name_char(text[end]))) {
      continue;
    }
    size_t line = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    std::string_view head =
        trimmed(text.substr(line == std::string_view::npos ? 0 : line + 1, 200));
    if (head.starts_with("import ") || head.starts_with("from ")) return true;
  }
  return false;
}

// The modules that a variable holds of which the text does nothing but `v = a.b` with an imported
// `a`, `v = None`, `v.c` and `v is …`; nothing where it does anything else, too.
std::vector<std::string_view> only_holds(std::string_view text, std::string_view variable) {
  std::vector<std::string_view> out;
  for (size_t at = text.find(variable); at != std::string_view::npos;
       at = text.find(variable, at + 1)) {
    const size_t end = at + variable.size();
    if (at > 0 && (name_char(text[at - 1]) || text[at - 1] == '.')) continue;
    if (end < text.size() && name_char(text[end])) continue;
    const size_t line = text.rfind('\n', at);
    const std::string_view before =
        trimmed(text.substr(line == std::string_view::npos ? 0 : line + 1,
                            at - (line == std::string_view::npos ? 0 : line + 1)));
    std::string_view behind = text.substr(end, text.find('\n', end) - end);
    behind.remove_prefix(std::min(behind.find_first_not_of(" \t"), behind.size()));
    if (behind.starts_with(".") || behind.starts_with("is ")) {
      if (before == "for" || before.ends_with(" for") || before.ends_with(" as")) return {};
      continue;
    }
    if (!before.empty() || !behind.starts_with("=") || behind.starts_with("==")) return {};
    std::string_view held = trimmed(behind.substr(1));
    if (held == "None") continue;
    if (!plain_chain(held) || !imports(text, held.substr(0, held.find('.')))) return {};
    out.push_back(held);
  }
  return out;
}

// What note_text looks for in every file of a project, and where aliases stand, in one pass.
constexpr std::array<std::string_view, 6> kWords{Renamed::kAs,   "patch(",     "patch.object(",
                                                 "sys.modules[", ".__dict__[", "vars("};
enum Word : size_t { kAs, kPatch, kPatchObject, kModules, kDict, kVars };

const Literals& words() {
  static const Literals made = [] {
    Literals out;
    for (std::string_view word : kWords) out.add(word, false);
    out.build();
    return out;
  }();
  return made;
}

}  // namespace

bool test_file(std::string_view relative) {
  std::string_view name = relative.substr(relative.rfind('/') + 1);
  if (name.starts_with("test_") || name.ends_with("_test.py") || name == "conftest.py") return true;
  std::string path = "/" + std::string(relative);
  return path.find("/tests/") != std::string::npos || path.find("/test/") != std::string::npos;
}

void ReplacedNames::begin(uint32_t file, std::string_view text, bool test) {
  file_ = file;
  text_ = text;
  test_ = test;
  renamed_.reset();
  places_ = words().places(text);
}

// Calls found(place behind it) for each place of a word that begins as one.
template <typename Found>
void ReplacedNames::each(size_t word, Found found) const {
  for (size_t at : places_[word]) {
    if (at == 0 || !name_char(text_[at - 1])) found(at + kWords[word].size());
  }
}

void ReplacedNames::add(std::string key, std::string_view name) {
  names_.emplace(std::move(key), Place{file_, static_cast<uint32_t>(name.data() - text_.data())});
}

void ReplacedNames::store(std::string_view object, std::string_view name) {
  object = trimmed(object);
  if (object == "self" || object == "cls" || object.starts_with("self.")) return;
  bool certain = true;
  if (!plain_chain(object)) {
    object = module_found(object);
    if (object.empty()) return;
    certain = object != "*";
  } else {
    std::string_view root = object.substr(0, object.find('.'));
    certain = imports(text_, root);
    if (!certain && root.size() == object.size()) {
      auto held = only_holds(text_, root);
      for (std::string_view module : held) store(module, name);
      if (!held.empty()) return;
    }
    if (root.size() == object.size()) {
      if (!renamed_) renamed_.emplace(text_, places_[kAs]);
      object = renamed_->of(object);
    }
  }
  add(std::string(last_component(object)) + "." + std::string(name), name);
  if (!certain) add(std::string(name), name);
}

void ReplacedNames::note_text() {
  if (test_) return;
  auto dotted = [&](std::string_view written) {  // "package.module.NAME"
    size_t dot = written.rfind('.');
    if (dot == std::string_view::npos || !plain_chain(written)) return;
    std::string_view object = last_component(written.substr(0, dot));
    add(std::string(object) + std::string(written.substr(dot)), written);
  };
  each(kPatch, [&](size_t at) { dotted(quoted_after(text_, at)); });
  each(kPatchObject, [&](size_t at) {
    size_t comma = text_.find(',', at);
    if (comma == std::string_view::npos) return;
    std::string_view name = quoted_after(text_, comma + 1);
    if (!name.empty()) store(text_.substr(at, comma - at), name);
  });
  each(kModules, [&](size_t at) {
    std::string_view module = quoted_after(text_, at);
    if (module.empty()) return;
    size_t close = text_.find(']', at);
    if (close == std::string_view::npos) return;
    std::string_view behind = trimmed(text_.substr(close + 1, 8));
    if (!behind.starts_with("=") || behind.starts_with("==")) return;
    modules_.emplace(module, Place{file_, static_cast<uint32_t>(at)});
  });
  for (size_t at : places_[kDict]) {
    std::string_view name = quoted_after(text_, at + kWords[kDict].size());
    size_t begin = at;
    while (begin > 0 && (name_char(text_[begin - 1]) || text_[begin - 1] == '.')) --begin;
    if (!name.empty()) store(text_.substr(begin, at - begin), name);
  }
  each(kVars, [&](size_t at) {
    size_t close = text_.find(')', at);
    if (close == std::string_view::npos || !text_.substr(close).starts_with(")[")) return;
    std::string_view name = quoted_after(text_, close + 2);
    if (!name.empty()) store(text_.substr(at, close - at), name);
  });
}

const ReplacedNames::Place* ReplacedNames::of_module(std::string_view module, std::string_view name,
                                                     bool imported) const {
  auto at = [&](const std::string& key) {
    auto found = names_.find(key);
    return found == names_.end() ? nullptr : &found->second;
  };
  if (imported) {
    if (const Place* place = at(std::string(name))) return place;
  }
  for (std::string_view object : {last_component(module), std::string_view("module"),
                                  std::string_view("mod"), std::string_view("*")}) {
    if (const Place* place = at(std::string(object) + "." + std::string(name))) return place;
  }
  return nullptr;
}

const ReplacedNames::Place* ReplacedNames::of_library(std::string_view qualified) const {
  for (size_t dot = qualified.find('.');; dot = qualified.find('.', dot + 1)) {
    std::string_view prefix = qualified.substr(0, dot);
    if (!modules_.empty()) {
      auto module = modules_.find(std::string(prefix));
      if (module != modules_.end()) return &module->second;
    }
    size_t last = prefix.rfind('.');
    if (last != std::string_view::npos) {
      size_t before = prefix.rfind('.', last - 1);
      std::string_view pair = before == std::string_view::npos ? prefix : prefix.substr(before + 1);
      auto known = names_.find(std::string(pair));
      if (known != names_.end()) return &known->second;
    }
    if (dot == std::string_view::npos) return nullptr;
  }
}

}  // namespace refit::python
