// Who imports or reads what a module of the project holds. Entry points: Project::callers_of,
// Project::importer_of, Project::attribute_reader_of.
#include <algorithm>
#include <set>

#include "rewriter/python/names/project.hpp"

namespace refit::python {

namespace {

// The parts of a dotted name.
std::vector<std::string> parts_of(std::string_view dotted) {
  std::vector<std::string> out;
  while (!dotted.empty()) {
    const size_t dot = std::min(dotted.find('.'), dotted.size());
    out.emplace_back(dotted.substr(0, dot));
    dotted.remove_prefix(std::min(dot + 1, dotted.size()));
  }
  return out;
}

}  // namespace

std::string Project::importer_of(const std::string& module_name, const std::string& name,
                                 const std::string& except) {
  const std::string_view last = last_name(module_name);
  for (uint32_t file :
       index().files({mention(Use::from, name, last), mention(Use::from, "*", last)})) {
    const std::string relative(all_[file].relative);
    if (relative == except) continue;
    const Module& m = index().facts(file).module;
    if (std::ranges::find(m.names.stars, module_name) != m.names.stars.end() ||
        m.inner_imports.contains(module_name + "." + name)) {
      return relative;
    }
  }
  return "";
}

// Whoever reads it of something of the module's last name, or of something that is not known where
// the module is imported or named in quotes.
std::string Project::attribute_reader_of(const std::string& module_name, const std::string& name,
                                         const std::string& except) {
  const std::string last(last_name(module_name));
  std::set<std::string> names = index().other_names(last);
  names.insert(last);
  for (const std::string& owner : names) {
    const std::vector<uint32_t> near =
        index().files({mention(Use::imported, owner), mention(Use::quoted, owner)});
    for (uint32_t file :
         index().files({mention(Use::read, name, owner), mention(Use::patched, name, owner),
                        mention(Use::imported, owner), mention(Use::quoted, owner),
                        mention(Use::quoted, name)})) {
      if (all_[file].relative == except) continue;
      const FileFacts& facts = index().facts(file);
      const bool unknown = std::ranges::binary_search(near, file);
      // What is replaced has to be there, too.
      const bool replaced = std::ranges::any_of(facts.writes, [&](const Write& write) {
        return write.name == name && last_name(write.owner) == owner;
      });
      if (replaced || holds(facts.reads, read_of(owner, name)) ||
          (unknown && holds(facts.reads, read_of("", name)))) {
        return std::string(all_[file].relative);
      }
    }
  }
  return "";
}

Callers Project::callers_of(const std::vector<std::string>& definitions) {
  Callers out;
  std::set<std::string> names, modules;
  std::set<uint32_t> files;
  for (const std::string& qualified : definitions) {
    std::vector<std::string> words{std::string(last_name(qualified))};
    std::string home = qualified.substr(0, std::min(qualified.rfind('.'), qualified.size()));
    if (home.size() == qualified.size()) home.clear();
    while (!home.empty() && !has_module(home)) {  // a method is called by its class
      words.emplace_back(last_name(home));
      const size_t up = home.rfind('.');
      home.resize(up == std::string::npos ? 0 : up);
    }
    names.insert(words.begin(), words.end());
    out.words.push_back(std::move(words));
    auto file = files_.find(home);
    if (file != files_.end()) files.insert(file->second.file);
    for (std::string& part : parts_of(home)) modules.insert(std::move(part));
  }
  for (size_t i = 0; i < out.words.size(); ++i) {  // which grows
    for (size_t w = 0; w < out.words[i].size(); ++w) {
      for (const std::string& other : index().other_names(out.words[i][w])) {
        std::vector<std::string> renamed = out.words[i];
        renamed[w] = other;
        names.insert(other);
        if (std::ranges::find(out.words, renamed) == out.words.end()) {
          out.words.push_back(std::move(renamed));
        }
      }
    }
  }
  for (const std::string& name : names) {
    for (uint32_t file : index().files({mention(Use::imported, name)})) files.insert(file);
  }
  for (const std::string& module : modules) {
    for (uint32_t file :
         index().files({mention(Use::imported, module), mention(Use::from, "*", module)})) {
      files.insert(file);
    }
  }
  for (uint32_t file : files) out.files.emplace_back(all_[file].relative);
  return out;
}

}  // namespace refit::python
