// See index.hpp.
#include "rewriter/python/names/index.hpp"

#include <algorithm>
#include <tuple>

namespace refit::python {

namespace {

// Whether an owner is some module by how it is written: `for module in modules: module.F = …`.
bool any_module(const Patch& patch) {
  const std::string_view last = last_name(patch.owner);
  return patch.owner == kAnyModule || last == "module" || last == "mod";
}

}  // namespace

void NamesIndex::invert() {
  size_t count = 0;
  for (const auto& words : words_) count += words.size();
  holders_.reserve(count);
  for (uint32_t file = 0; file < words_.size(); ++file) {
    for (PatchedWord word : words_[file]) holders_.push_back({word, file});
  }
  words_ = {};
  std::sort(holders_.begin(), holders_.end(), [](const Holder& a, const Holder& b) {
    return std::tie(a.word, a.file) < std::tie(b.word, b.file);
  });
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

template <typename May, typename Wanted>
std::optional<NamesIndex::Place> NamesIndex::first(std::string_view name, May may, Wanted wanted) {
  std::call_once(inverted_, [this] { invert(); });
  const uint32_t hash = patch_hash(name);
  auto at = std::lower_bound(
      holders_.begin(), holders_.end(), hash,
      [](const Holder& h, uint32_t wanted_word) { return h.word.name < wanted_word; });
  for (; at != holders_.end() && at->word.name == hash; ++at) {
    if (!may(at->word)) continue;
    for (const Patch& patch : facts(at->file).patches) {
      if (wanted(patch)) return Place{at->file, patch.line};
    }
  }
  return std::nullopt;
}

std::optional<NamesIndex::Place> NamesIndex::patched(std::string_view module, std::string_view name,
                                                     bool imported) {
  const std::string_view owner = last_name(module);
  return first(
      name,
      [&](const PatchedWord& word) {
        return word.owner == 0 || word.owner == patch_hash(owner) || (imported && !word.certain);
      },
      [&](const Patch& patch) {
        return patch.name == name && ((imported && !patch.certain) || any_module(patch) ||
                                      last_name(patch.owner) == owner);
      });
}

std::optional<NamesIndex::Place> NamesIndex::replaced(std::string_view module) {
  return first(
      last_name(module), [](const PatchedWord& word) { return word.quoted; },
      [&](const Patch& patch) { return patch.name.empty() && patch.owner == module; });
}

std::optional<NamesIndex::Place> NamesIndex::patched_outside(std::string_view qualified) {
  for (size_t dot = qualified.find('.');; dot = qualified.find('.', dot + 1)) {
    const std::string_view prefix = qualified.substr(0, dot);
    if (auto place = replaced(prefix)) return place;
    if (const size_t last = prefix.rfind('.'); last != std::string_view::npos) {
      const std::string_view owner = last_name(prefix.substr(0, last)),
                             name = prefix.substr(last + 1);
      auto place = first(
          name,
          [&](const PatchedWord& word) {
            return word.owner == 0 || word.owner == patch_hash(owner);
          },
          [&](const Patch& patch) {
            return patch.name == name && last_name(patch.owner) == owner;
          });
      if (place) return place;
    }
    if (dot == std::string_view::npos) return std::nullopt;
  }
}

}  // namespace refit::python
