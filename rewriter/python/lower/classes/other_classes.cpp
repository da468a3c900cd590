// See other_classes.hpp.
#include "rewriter/python/lower/classes/other_classes.hpp"

#include <algorithm>

#include "rewriter/python/lower/lower.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

struct OtherClasses::File {
  File(Source read, const std::string& module, bool package, const Catalogue& catalogue,
       Project& project)
      : source(std::move(read)),
        tree(source.text()),
        names(index_module(tree.root(), source.text(), module, package)),
        classes(class_facts(source.text(), names, {project, catalogue})) {
    find_own_libraries(names.names, module, {project, catalogue});
    std::vector<std::pair<TSNode, std::string>> work{{tree.root(), module + "."}};
    while (!work.empty()) {
      auto [node, outer] = std::move(work.back());
      work.pop_back();
      if (is(node, "class_definition")) {
        std::string name = outer + std::string(text_of(source.text(), field(node, "name")));
        classes->add_class(name, node);
        outer = std::move(name) + ".";
      } else if (is(node, "function_definition")) {
        continue;
      }
      for (TSNode child : children_of(node)) work.emplace_back(child, outer);
    }
  }

  Source source;
  Tree tree;
  Module names;
  std::unique_ptr<ClassFacts> classes;
};

OtherClasses::OtherClasses(Project& project, const Catalogue& catalogue)
    : project_(project), catalogue_(catalogue) {
  for (const auto& op : catalogue.operations()) {
    if (op->axes != AxisKind::transpose && op->axes != AxisKind::permute &&
        op->axes != AxisKind::pattern) {
      continue;
    }
    for (std::string& word : name_words(*op)) moving_.push_back(std::move(word));
    for (const std::string& method : op->methods) {
      moving_.push_back(method.substr(method.rfind('.') + 1));
    }
  }
  std::ranges::sort(moving_);
  moving_.erase(std::unique(moving_.begin(), moving_.end()), moving_.end());
}

OtherClasses::~OtherClasses() = default;

bool OtherClasses::moves_axes(std::string_view function) const {
  return std::ranges::any_of(
      moving_, [&](const std::string& word) { return contains_text(function, word); });
}

OtherClasses::File* OtherClasses::file_of(const std::string& module) {
  auto [at, fresh] = files_.try_emplace(module);
  if (fresh) {
    bool package = false;
    auto source = project_.source_of(module, &package);
    if (source) {
      at->second =
          std::make_unique<File>(std::move(*source), module, package, catalogue_, project_);
    }
  }
  return at->second.get();
}

const OtherClasses::Storing& OtherClasses::storing(const std::string& qualified,
                                                   const std::string& attribute) {
  auto [at, fresh] = storing_.try_emplace({qualified, attribute});
  size_t dot = qualified.rfind('.');
  if (!fresh || dot == std::string::npos || !project_.has_module(qualified.substr(0, dot))) {
    return at->second;
  }
  std::vector<std::string> names =
      project_.subclasses_storing(qualified.substr(0, dot), qualified.substr(dot + 1), attribute);
  names.insert(names.begin(), qualified);
  Storing found;
  for (std::string& name : names) {
    File* file = file_of(name.substr(0, name.rfind('.')));
    if (file == nullptr || !file->classes->stores(name, attribute)) return at->second;
    found.emplace_back(std::move(name), file->classes.get());
  }
  at->second = std::move(found);
  return at->second;
}

std::vector<const Operation*> OtherClasses::layers(const std::string& qualified,
                                                   const std::string& attribute) {
  std::lock_guard lock(mutex_);
  std::vector<const Operation*> out;
  for (const auto& [name, classes] : storing(qualified, attribute)) {
    const auto& made_of = classes->instances(name, attribute);
    if (made_of.empty()) return {};
    out.insert(out.end(), made_of.begin(), made_of.end());
  }
  return out;
}

bool OtherClasses::over_last_axis(const std::string& qualified, const std::string& attribute) {
  if (project_.stored_outside(attribute)) return false;
  std::lock_guard lock(mutex_);
  const Storing& all = storing(qualified, attribute);
  return !all.empty() && std::ranges::all_of(all, [&](const auto& entry) {
    const auto& [name, classes] = entry;
    const auto& made_of = classes->instances(name, attribute);
    return classes->over_last_axis(name, attribute) &&
           std::ranges::none_of(
               made_of, [&](const Operation* op) { return project_.exchanged(last_name(op->id)); });
  });
}

}  // namespace refit::python
