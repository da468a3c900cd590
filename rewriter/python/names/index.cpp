// See index.hpp.
#include "rewriter/python/names/index.hpp"

#include <algorithm>
#include <utility>

namespace refit::python {

namespace {

// Whether an owner is some module by how it is written: `for module in modules: module.F = …`.
bool any_module(const Write& write) {
  const std::string_view last = last_name(write.owner);
  return write.owner == kAnyModule || last == "module" || last == "mod";
}

}  // namespace

void NamesIndex::invert() {
  size_t count = 0;
  for (const Mentions& mentions : noted_) count += mentions.all.size();
  holders_.reserve(count);
  for (uint32_t file = 0; file < noted_.size(); ++file) {
    for (Mention m : noted_[file].all) holders_.push_back(uint64_t{m} << 32 | file);
    for (auto& [name, other] : noted_[file].other_names) others_[name].insert(std::move(other));
    noted_[file] = {};
  }
  noted_ = {};
  std::ranges::sort(holders_);
}

std::vector<uint32_t> NamesIndex::files(std::initializer_list<Mention> mentions) {
  std::call_once(inverted_, [this] { invert(); });
  std::vector<uint32_t> out;
  for (Mention m : mentions) {
    auto at = std::ranges::lower_bound(holders_, uint64_t{m} << 32);
    for (; at != holders_.end() && *at >> 32 == m; ++at) out.push_back(static_cast<uint32_t>(*at));
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool NamesIndex::mentions(uint32_t file, Mention m) {
  std::call_once(inverted_, [this] { invert(); });
  return std::ranges::binary_search(holders_, uint64_t{m} << 32 | file);
}

const FileFacts& NamesIndex::facts(uint32_t file) {
  {
    std::shared_lock lock(mutex_);
    if (auto known = facts_.find(file); known != facts_.end()) return *known->second;
  }
  auto made = std::make_unique<FileFacts>(read_(file));
  std::unique_lock lock(mutex_);
  return *facts_.emplace(file, std::move(made)).first->second;
}

std::set<std::string> NamesIndex::other_names(std::string_view name) {
  std::call_once(inverted_, [this] { invert(); });
  std::set<std::string> out;
  std::vector<std::string> work{std::string(name)};
  while (!work.empty()) {
    const auto known = others_.find(work.back());
    work.pop_back();
    if (known == others_.end()) continue;
    for (const std::string& other : known->second) {
      if (other != name && out.insert(other).second) work.push_back(other);
    }
  }
  return out;
}

template <typename Wanted>
std::optional<NamesIndex::Place> NamesIndex::first(const std::vector<uint32_t>& files,
                                                   Wanted wanted) {
  for (uint32_t file : files) {
    for (const Write& write : facts(file).writes) {
      if (write.module && write.lasting && wanted(write)) return Place{file, write.line};
    }
  }
  return std::nullopt;
}

std::optional<NamesIndex::Place> NamesIndex::patched(std::string_view module, std::string_view name,
                                                     bool imported) {
  const std::string_view owner = last_name(module);
  return first(
      files({mention(Use::patched, name, owner), mention(Use::patched, name),
             mention(Use::quoted, name), mention(imported ? Use::loose : Use::quoted, name)}),
      [&](const Write& write) {
        return write.name == name && ((imported && !write.certain) || any_module(write) ||
                                      last_name(write.owner) == owner);
      });
}

std::optional<NamesIndex::Place> NamesIndex::replaced(std::string_view module) {
  return first(files({mention(Use::quoted, last_name(module))}),
               [&](const Write& write) { return write.name.empty() && write.owner == module; });
}

std::optional<NamesIndex::Place> NamesIndex::patched_outside(std::string_view qualified) {
  for (size_t dot = qualified.find('.');; dot = qualified.find('.', dot + 1)) {
    const std::string_view prefix = qualified.substr(0, dot);
    if (auto place = replaced(prefix)) return place;
    if (const size_t last = prefix.rfind('.'); last != std::string_view::npos) {
      const std::string_view owner = last_name(prefix.substr(0, last)),
                             name = prefix.substr(last + 1);
      auto place = first(files({mention(Use::patched, name, owner), mention(Use::patched, name),
                                mention(Use::quoted, name)}),
                         [&](const Write& write) {
                           return write.name == name && last_name(write.owner) == owner;
                         });
      if (place) return place;
    }
    if (dot == std::string_view::npos) return std::nullopt;
  }
}

template <typename Is>
bool NamesIndex::any(Remembered<bool>& known, std::string_view name,
                     std::initializer_list<Mention> mentions, Is is) {
  return known.of(name, [&] {
    return std::ranges::any_of(files(mentions), [&](uint32_t file) { return is(facts(file)); });
  });
}

std::optional<NamesIndex::Place> NamesIndex::stored(std::string_view attribute) {
  return stored_.of(attribute, [&]() -> std::optional<Place> {
    for (uint32_t file :
         files({mention(Use::stored, attribute), mention(Use::quoted, attribute)})) {
      for (const Write& write : facts(file).writes) {
        if (write.name == attribute && write.lasting) return Place{file, write.line};
      }
    }
    return std::nullopt;
  });
}

bool NamesIndex::exchanged(std::string_view class_name) {
  return any(exchanged_, class_name, {mention(Use::exchanged, class_name)},
             [&](const FileFacts& facts) { return holds(facts.exchanged, hash_of(class_name)); });
}

bool NamesIndex::asked(std::string_view class_name) {
  return any(asked_, class_name, {mention(Use::asked, class_name)},
             [&](const FileFacts& facts) { return holds(facts.asked, hash_of(class_name)); });
}

bool NamesIndex::scripted(std::string_view name) {
  return any(scripted_, name, {mention(Use::scripted, name)},
             [&](const FileFacts& facts) { return holds(facts.scripted, hash_of(name)); });
}

bool NamesIndex::compiler(std::string_view name) {
  return any(compilers_, name, {mention(Use::compiler, name)},
             [&](const FileFacts& facts) { return holds(facts.compilers, hash_of(name)); });
}

std::vector<NamesIndex::Subclass> NamesIndex::subclasses(std::string_view name, uint32_t file) {
  std::vector<Subclass> out;
  std::set<std::pair<std::string_view, uint32_t>> seen;
  std::vector<std::pair<std::string_view, uint32_t>> work{{name, file}};
  while (!work.empty()) {
    const auto [base, home] = work.back();
    work.pop_back();
    if (!seen.insert({base, home}).second) continue;
    const uint64_t hash = hash_of(base);
    for (uint32_t other : files({mention(Use::base, base)})) {
      for (const ClassFact& fact : facts(other).classes) {
        const bool inherits = std::ranges::any_of(fact.bases, [&](const ClassFact::Base& b) {
          return b.name == hash && (!b.local || other == home);
        });
        if (!inherits) continue;
        out.push_back({other, &fact});
        work.emplace_back(fact.name, other);
      }
    }
  }
  return out;
}

}  // namespace refit::python
