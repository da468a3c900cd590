// Who may call a definition: the files that import it, its module or everything from one, by the
// notes of Project::note. Entry points: Project::note, Project::callers_of.
#include <algorithm>
#include <functional>
#include <set>

#include "rewriter/python/names/attribute_reads.hpp"
#include "rewriter/python/names/project.hpp"
#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/text/byte_scan.hpp"
#include "rewriter/text/disk.hpp"

namespace refit::python {

namespace {

constexpr uint64_t kReadLimit = uint64_t{1} << 31;

uint64_t hash_of(std::string_view name) { return std::hash<std::string_view>{}(name) | 1; }

// Calls found(name, alias or "") for the names after `import`; "*" is one.
template <typename Found>
void each_imported(std::string_view bytes, size_t at, Found found) {
  bool bracket = false;
  std::string_view words[3];
  size_t count = 0;
  auto flush = [&] {
    if (count > 0) found(words[0], count == 3 && words[1] == "as" ? words[2] : "");
    count = 0;
  };
  while (at < bytes.size()) {
    char c = bytes[at];
    if (c == ')' || c == ';' || (c == '\n' && !bracket)) break;
    if (c == '#') {
      at = std::min(bytes.find('\n', at), bytes.size());
      continue;
    }
    if (c == '\\') {
      at += bytes.substr(at + 1).starts_with("\r\n") ? 3 : 2;
      continue;
    }
    if (name_char(c) || c == '.' || c == '*') {
      size_t end = at;
      while (end < bytes.size() &&
             (name_char(bytes[end]) || bytes[end] == '.' || bytes[end] == '*')) {
        ++end;
      }
      if (count < 3) words[count++] = bytes.substr(at, end - at);
      at = end;
      continue;
    }
    if (c == '(') bracket = true;
    if (c == ',') flush();
    ++at;
  }
  flush();
}

}  // namespace

void Project::note(std::string_view relative, std::string_view bytes, const NotedPlaces& places) {
  auto known = numbers_.find(relative);
  if (known == numbers_.end()) return;
  noted_[known->second] = 1;
  Notes& out = notes_[known->second];
  note_imports(relative, bytes, places.of(NotedPlaces::kImport), out);
  out.text = text_notes(bytes, places, test_file(relative));
  index_.note(known->second, bytes, module_names_[known->second]);
}

void Project::note_imports(std::string_view relative, std::string_view bytes,
                           const std::vector<size_t>& imports, Notes& out) const {
  constexpr std::string_view kImport = "import";
  auto note = [&](std::string_view component, uint64_t name) {
    auto found = components_.find(component);
    if (found == components_.end()) return false;
    out.imports.push_back({found->second, name});
    return true;
  };
  for (size_t word : imports) {
    const size_t at = word + kImport.size();
    std::string_view head = line_before(bytes, word);
    size_t from = head.rfind("from");
    if (from == std::string_view::npos) {
      each_imported(bytes, at, [&](std::string_view name, std::string_view alias) {
        std::string_view last = last_name(name);
        if (!alias.empty() && alias != last && components_.contains(last)) {
          out.aliases.emplace_back(last, alias);
        }
        while (!name.empty()) {
          size_t dot = name.find('.');
          note(name.substr(0, dot), kModule);
          name = dot == std::string_view::npos ? std::string_view{} : name.substr(dot + 1);
        }
      });
      continue;
    }
    std::string written;
    for (char c : head.substr(from + 4)) {
      if (name_char(c) || c == '.') written += c;
    }
    if (written.empty()) continue;
    if (written.find_first_not_of('.') == std::string::npos) {
      bool package = false;
      std::string module = module_of(relative, &package);
      written = absolute_module(written, module, package);
    }
    std::string_view component = last_name(written);
    each_imported(bytes, at, [&](std::string_view name, std::string_view alias) {
      // A folder without an __init__.py is no module of the project, but what lies in it is one.
      if (!note(component, name == "*" ? kStar : hash_of(name)) && !note(name, kModule)) return;
      if (!alias.empty() && alias != name) out.aliases.emplace_back(name, alias);
    });
  }
}

void Project::read_unnoted() {
  std::call_once(unnoted_once_, [this] {
    for (uint32_t file = 0; file < all_.size(); ++file) {
      if (noted_[file] != 0) continue;
      auto bytes = real_disk().read(std::string(all_[file].path), kReadLimit);
      if (!bytes) continue;
      const NotedPlaces::Places places = noted_places(*bytes);
      note(all_[file].relative, *bytes, NotedPlaces(places));
    }
  });
}

void Project::index_importers() {
  read_unnoted();
  std::unordered_map<uint64_t, uint32_t> by_hash;
  for (const auto& [name, number] : components_) by_hash.emplace(hash_of(name), number);
  auto whole = [&](uint32_t component, uint32_t file) {
    auto& files = module_importers_[component];
    if (files.empty() || files.back() != file) files.push_back(file);
  };
  for (uint32_t file = 0; file < all_.size(); ++file) {
    for (const ImportNote& note : notes_[file].imports) {
      if (note.name == kModule) {
        whole(note.component, file);
        continue;
      }
      importers_[note.component].push_back({file, note.name});
      auto named = by_hash.find(note.name);
      if (named != by_hash.end()) whole(named->second, file);
    }
  }
  // In the order of their modules' names, which are compared once a file.
  std::vector<std::pair<std::string_view, uint32_t>> by_name;
  for (uint32_t file = 0; file < all_.size(); ++file) {
    by_name.emplace_back(module_names_[file], file);
  }
  std::sort(by_name.begin(), by_name.end());
  std::vector<uint32_t> rank(all_.size(), 0);
  for (uint32_t i = 1; i < by_name.size(); ++i) {
    const uint32_t before = rank[by_name[i - 1].second];
    rank[by_name[i].second] = by_name[i].first == by_name[i - 1].first ? before : before + 1;
  }
  for (auto& [component, list] : importers_) {
    std::sort(list.begin(), list.end(),
              [&](const Importer& a, const Importer& b) { return rank[a.file] < rank[b.file]; });
  }
}

std::string Project::importer_of(const std::string& module_name, const std::string& name,
                                 const std::string& except) {
  std::call_once(importers_once_, [this] { index_importers(); });
  auto component = components_.find(last_name(module_name));
  if (component == components_.end()) return "";
  auto found = importers_.find(component->second);
  if (found == importers_.end()) return "";
  uint64_t wanted = hash_of(name);
  for (const Importer& importer : found->second) {
    if (importer.name != wanted && importer.name != kStar) continue;
    const std::string relative(all_[importer.file].relative);
    if (relative == except) continue;
    const Module* m = module(std::string(module_names_[importer.file]));
    if (m == nullptr) continue;
    for (const std::string& star : m->names.stars) {
      if (star == module_name) return relative;
    }
    if (m->inner_imports.contains(module_name + "." + name)) return relative;
  }
  return "";
}

std::string Project::attribute_reader_of(const std::string& module_name, const std::string& name,
                                         const std::string& except) {
  std::call_once(importers_once_, [this] { index_importers(); });
  const std::string last(last_name(module_name));
  // Whoever imports the module, or a package above it: `import pkg`, `pkg.layers.F`.
  std::set<uint32_t> files;
  for (std::string_view rest = module_name; !rest.empty();) {
    const size_t dot = rest.find('.');
    auto component = components_.find(rest.substr(0, dot));
    rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
    if (component == components_.end()) continue;
    auto found = module_importers_.find(component->second);
    if (found != module_importers_.end()) files.insert(found->second.begin(), found->second.end());
  }
  if (files.empty()) return "";
  std::vector<std::string> names{last};
  auto known = classes().known_as.find(last);
  if (known != classes().known_as.end()) {
    names.insert(names.end(), known->second.begin(), known->second.end());
  }
  for (uint32_t file : files) {
    if (all_[file].relative == except || !may_read_attribute(file, name)) continue;
    auto bytes = real_disk().read(std::string(all_[file].path), kReadLimit);
    if (bytes && AttributeReads(*bytes, names).any(name)) return std::string(all_[file].relative);
  }
  return "";
}

// By the file's words, which are kept: few files are asked, for many names.
bool Project::may_read_attribute(uint32_t file, std::string_view name) {
  {
    std::shared_lock lock(mutex_);
    auto known = attribute_words_.find(file);
    if (known != attribute_words_.end()) return known->second.may_read(name);
  }
  auto bytes = real_disk().read(std::string(all_[file].path), kReadLimit);
  AttributeWords words(bytes ? *bytes : std::string_view{});
  std::unique_lock lock(mutex_);
  return attribute_words_.emplace(file, std::move(words)).first->second.may_read(name);
}

Callers Project::callers_of(const std::vector<std::string>& definitions) {
  std::call_once(importers_once_, [this] { index_importers(); });
  Callers out;
  std::set<uint64_t> names;
  std::set<uint32_t> components;
  std::set<uint32_t> files;
  for (const std::string& qualified : definitions) {
    size_t dot = qualified.rfind('.');
    std::string last = qualified.substr(dot + 1);
    std::vector<std::string> words{last};
    std::string home = dot == std::string::npos ? "" : qualified.substr(0, dot);
    while (!home.empty() && !has_module(home)) {  // a method is called by its class
      words.emplace_back(last_name(home));
      size_t up = home.rfind('.');
      home = up == std::string::npos ? "" : home.substr(0, up);
    }
    for (const std::string& word : words) names.insert(hash_of(word));
    out.words.push_back(std::move(words));
    auto file = files_.find(home);
    if (file != files_.end()) files.insert(file->second.file);
    for (std::string_view rest = home; !rest.empty();) {
      size_t next = rest.find('.');
      std::string_view part = rest.substr(0, next);
      names.insert(hash_of(part));
      auto component = components_.find(part);
      if (component != components_.end()) components.insert(component->second);
      rest = next == std::string_view::npos ? std::string_view{} : rest.substr(next + 1);
    }
  }
  // Under another name, and that under yet another.
  for (bool more = true; more;) {
    more = false;
    for (const Notes& notes : notes_) {
      for (const auto& [name, alias] : notes.aliases) {
        for (size_t w = 0; w < out.words.size(); ++w) {
          auto at = std::find(out.words[w].begin(), out.words[w].end(), name);
          if (at == out.words[w].end()) continue;
          std::vector<std::string> renamed = out.words[w];
          renamed[static_cast<size_t>(at - out.words[w].begin())] = alias;
          if (std::find(out.words.begin(), out.words.end(), renamed) != out.words.end()) continue;
          names.insert(hash_of(alias));
          out.words.push_back(std::move(renamed));
          more = true;
        }
      }
    }
  }
  for (uint32_t file = 0; file < all_.size(); ++file) {
    bool may = std::any_of(
        notes_[file].imports.begin(), notes_[file].imports.end(), [&](const ImportNote& note) {
          bool everything = note.name == kModule || note.name == kStar;
          return everything ? components.contains(note.component) : names.contains(note.name);
        });
    if (may) files.insert(file);
  }
  for (uint32_t file : files) out.files.emplace_back(all_[file].relative);
  return out;
}

}  // namespace refit::python
