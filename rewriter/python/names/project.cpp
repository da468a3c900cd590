// The modules of a project: see project.hpp. Modules other than the one being planned are read when
// a name leads to them, once, and kept.
#include "rewriter/python/names/project.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "rewriter/text/disk.hpp"

namespace refit::python {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kReadLimit = uint64_t{1} << 31;
constexpr uint64_t kKeepLimit = uint64_t{1} << 16;  // names of modules that are kept unasked

}  // namespace

Project::Project(const std::string& root, const std::vector<File>& files,
                 const std::vector<std::string>& module_roots, const Catalogue& catalogue)
    : catalogue_(catalogue),
      all_(files),
      index_(files.size(), [this](uint32_t file) { return read_facts(file); }),
      noted_(files.size(), 0) {
  std::unordered_set<std::string_view> has_init;  // directories (relative) with an __init__.py
  auto parent_of = [](std::string_view path) {
    size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
  };
  auto name_of = [](std::string_view path) {
    size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
  };
  for (const File& file : all_) {
    if (name_of(file.relative) == "__init__.py") has_init.insert(parent_of(file.relative));
  }
  // The folder itself may be (part of) a package whose top lies above it.
  std::string above;
  fs::path folder = fs::absolute(root).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  while (folder.has_filename() && fs::exists(folder / "__init__.py")) {
    above = folder.filename().string() + (above.empty() ? "" : "." + above);
    folder = folder.parent_path();
  }
  for (uint32_t number = 0; number < all_.size(); ++number) {
    const File& file = all_[number];
    numbers_.emplace(file.relative, number);
    std::string_view base = name_of(file.relative);
    bool package = base == "__init__.py";
    std::string_view dir = parent_of(file.relative);
    std::string_view stem = base.substr(0, base.rfind('.'));
    auto joined = [](std::string_view a, std::string_view b) {
      std::string out(a);
      if (!a.empty() && !b.empty()) out += '.';
      out += b;
      return out;
    };
    std::string by_package(package ? std::string_view{} : stem);
    std::string_view at = dir;
    bool inside = false;
    while (!at.empty() && has_init.contains(at)) {
      by_package = joined(name_of(at), by_package);
      at = parent_of(at);
      inside = true;
    }
    folders_.push_back(at);
    if (at.empty() && !above.empty()) {
      by_package = joined(above, by_package);
      inside = true;
    }
    std::string by_path(dir);
    std::replace(by_path.begin(), by_path.end(), '/', '.');
    by_path = joined(by_path, package ? std::string_view{} : stem);
    const std::string& name = inside ? by_package : by_path;
    // Of `a.py` and `a/__init__.py` Python takes the package.
    auto give = [&](const std::string& called) {
      const auto own = files_.emplace(called, Named{number, package}).first;
      if (package && !own->second.package) own->second = Named{number, package};
      return own;
    };
    module_names_.push_back(give(name)->first);
    if (by_path != name) give(by_path);
    for (const std::string& from : module_roots) {
      if (from.empty() || !std::string_view(file.relative).starts_with(from + "/")) continue;
      std::string by_root = by_path.substr(std::min(by_path.size(), from.size() + 1));
      if (!by_root.empty()) give(by_root);
    }
  }
  for (const auto& [name, number] : files_) known_.modules.insert(hash_of(last_name(name)));
  for (const auto& operation : catalogue.operations()) {
    std::vector<std::string> names = operation->names;
    names.push_back(operation->id);
    for (const std::string& name : names) {
      known_.operations.insert(hash_of(last_name(name)));
      if (operation->is_class) known_.classes.insert(hash_of(last_name(name)));
    }
  }
}

std::string Project::module_of(std::string_view relative, bool* package) const {
  auto found = numbers_.find(relative);
  if (found == numbers_.end()) {
    fs::path p{std::string(relative)};
    if (package != nullptr) *package = false;
    return p.stem().string();
  }
  const std::string_view name = module_names_[found->second];
  if (package != nullptr) *package = fs::path(relative).filename() == "__init__.py";
  return std::string(name);
}

std::string Project::file_of(std::string_view module) const {
  auto found = files_.find(module);
  return found == files_.end() ? "" : std::string(all_[found->second.file].relative);
}

const Module* Project::module(const std::string& name) {
  {
    std::shared_lock lock(mutex_);
    auto known = modules_.find(name);
    if (known != modules_.end()) return known->second.get();
  }
  const auto own = files_.find(name);
  if (own != files_.end() && module_names_[own->second.file] == name) {
    return &index_.facts(own->second.file).module;
  }
  auto made = read_module(name);
  std::unique_lock lock(mutex_);
  return modules_.emplace(name, std::move(made)).first->second.get();
}

std::optional<Source> Project::source_of(const std::string& module, bool* package) const {
  auto found = files_.find(module);
  if (found == files_.end()) return std::nullopt;
  const File& file = all_[found->second.file];
  auto bytes = read(file);
  if (!bytes) return std::nullopt;
  auto source = Source::decode(std::string(file.relative), std::move(*bytes));
  if (!source) return std::nullopt;
  *package = found->second.package;
  return std::move(*source);
}

void Project::keep(std::string_view relative, const Module& read) {
  auto file = numbers_.find(relative);
  auto named = files_.find(read.name);
  const size_t names = read.names.bindings.size() + read.inner_imports.size();
  if (file == numbers_.end() || named == files_.end() || named->second.file != file->second ||
      kept_ + names > kKeepLimit) {
    return;
  }
  std::unique_lock lock(mutex_);
  if (modules_.contains(read.name)) return;
  kept_ += names;
  modules_.emplace(read.name, std::make_unique<Module>(read));
}

// A module by another name than its file has.
std::unique_ptr<Module> Project::read_module(const std::string& name) const {
  bool package = false;
  auto source = source_of(name, &package);
  if (!source) return nullptr;
  const Tree tree(source->text());
  return std::make_unique<Module>(index_module(tree.root(), source->text(), name, package));
}

std::optional<std::string> Project::read(const File& file) {
  if (file.bytes != nullptr) return *file.bytes;
  auto bytes = real_disk().read(std::string(file.path), kReadLimit);
  if (!bytes) return std::nullopt;
  return std::move(*bytes);
}

FileFacts Project::read_facts(uint32_t file) const {
  const File& asked = all_[file];
  auto bytes = read(asked);
  if (!bytes) return {};
  // A file that is not in the encoding that it names is read as it is: its names are ASCII.
  auto source = Source::decode(std::string(asked.relative), *bytes);
  const std::string_view text = source ? source->text() : std::string_view(*bytes);
  bool package = false;
  std::string module = module_of(asked.relative, &package);
  const Tree tree(text);
  return file_facts(tree.root(), text, std::move(module), package, test_file(asked.relative));
}

void Project::note(std::string_view relative, std::string_view bytes) {
  auto known = numbers_.find(relative);
  if (known == numbers_.end()) return;
  const uint32_t file = known->second;
  bool package = false;
  const std::string module = module_of(relative, &package);
  noted_[file] = 1;
  index_.note(file, read_mentions(bytes, module, package, known_));
}

NamesIndex& Project::index() {
  std::call_once(noted_once_, [this] {
    for (uint32_t file = 0; file < all_.size(); ++file) {
      if (noted_[file] != 0) continue;
      auto bytes = read(all_[file]);
      if (bytes) note(all_[file].relative, *bytes);
    }
  });
  return index_;
}

std::vector<NamesIndex::Subclass> Project::subclasses_of(const std::string& module_name,
                                                         const std::string& name) {
  auto known = numbers_.find(file_of(module_name));
  uint32_t own = known == numbers_.end() ? static_cast<uint32_t>(all_.size()) : known->second;
  auto out = index().subclasses(name, own);
  std::erase_if(out, [&](const auto& subclass) { return subclass.file == own; });
  return out;
}

bool Project::subclassed(const std::string& module_name, const std::string& name) {
  return !subclasses_of(module_name, name).empty();
}

const std::vector<std::string>& Project::subclasses_storing(const std::string& module_name,
                                                            const std::string& name,
                                                            const std::string& attribute) {
  return storing_.of(module_name + "." + name + "." + attribute, [&] {
    std::vector<std::string> out;
    for (const auto& [file, fact] : subclasses_of(module_name, name)) {
      if (!holds(fact->stores, hash_of(attribute))) continue;
      out.push_back(std::string(module_names_[file]) + "." + fact->name);
    }
    return out;
  });
}

}  // namespace refit::python
