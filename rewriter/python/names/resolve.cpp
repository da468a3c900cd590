// What names of modules finally stand for: through imports, re-exports, star imports and names
// assigned once, unless some file gives them another meaning. See project.hpp; entry point:
// Project::resolve.
#include <fmt/format.h>

#include <algorithm>

#include "rewriter/language/replaced_name.hpp"
#include "rewriter/python/names/project.hpp"

namespace refit::python {

namespace {

constexpr size_t kMostSteps = 1000;  // names on the way from a name to what it stands for
// And to where a name is asked for in two ways, which doubles what follows.
constexpr size_t kMostAgreeing = 10;

}  // namespace

std::optional<std::string> Project::meaning(const std::vector<Binding>& bindings,
                                            std::string* why) {
  std::optional<std::string> one;
  for (const Binding& b : bindings) {
    switch (b.kind) {
      case Binding::Kind::none:
        continue;  // a probe: `except ImportError: f = None`
      case Binding::Kind::import:
      case Binding::Kind::function:
      case Binding::Kind::class_: {
        if (one && *one != b.qualified) {
          if (why != nullptr) {
            *why =
                "it may be " + *one + " or " + b.qualified + ", which one is decided at run time";
          }
          return std::nullopt;
        }
        one = b.qualified;
        break;
      }
      default:
        if (why != nullptr) *why = "it is assigned at module level";
        return std::nullopt;
    }
  }
  return one;
}

std::optional<NamesIndex::Place> Project::patched(const std::string& module, std::string_view name,
                                                  bool imported) {
  auto place = index().patched(module, name, imported);
  if (place) return place;
  // A package may give the module another name, and another package that one: `pkg.mods.F = …`
  // behind `from . import attention as mods`.
  for (const std::string& other : index().other_names(last_name(module))) {
    if ((place = index().patched(other, name, false))) return place;
  }
  return std::nullopt;
}

std::string Project::patch_at(const std::optional<NamesIndex::Place>& place,
                              std::string_view what) const {
  if (!place) return "";
  return replaced_reason(all_[place->file].relative, place->line, what);
}

std::string Project::replaced(const std::string& module, std::string_view name, bool imported) {
  return patched_.of(fmt::format("{} {} {}", module, name, imported), [&] {
    return patch_at(patched(module, name, imported), fmt::format("`{}` of this module", name));
  });
}

std::string Project::replaced_whole(const std::string& module) {
  return patched_.of(module + " ", [&] {
    return patch_at(index().replaced(module), fmt::format("the module `{}`", module));
  });
}

std::string Project::replaced_outside(std::string_view qualified) {
  return patched_.of(qualified, [&] {
    return patch_at(index().patched_outside(qualified), fmt::format("`{}`", qualified));
  });
}

std::optional<std::string> Project::resolve(const std::string& qualified, std::string* why) {
  const Meaning& out = resolved_.of(qualified, [&] {
    std::set<std::string> asked;
    return resolve(qualified, asked);
  });
  if (!out.name && why != nullptr) *why = out.why;
  return out.name;
}

Project::Meaning Project::by_stars(const std::vector<std::string>& stars, const std::string& name,
                                   std::set<std::string>& asked) {
  Meaning one;
  const std::string* by = nullptr;
  for (const std::string& star : stars) {
    if (!has_module(star)) continue;  // which names others have is not known
    const Module* m = module(star);
    if (m == nullptr) continue;
    if (name.starts_with('_') && !m->names.bindings.contains("__all__")) continue;
    std::string candidate = star + "." + name;
    const bool binds = m->names.bindings.contains(name.substr(0, name.find('.')));
    if (!binds && m->names.stars.empty()) continue;
    Meaning through = resolve(candidate, asked);
    if (!through.name && through.why.empty()) continue;  // asked on the way here
    if (!through.name) return through;
    if (!binds && *through.name == candidate) continue;
    if (by != nullptr && *one.name != *through.name) {
      return {std::nullopt,
              fmt::format("`from {} import *` and `from {} import *` both bind it", *by, star)};
    }
    one = std::move(through);
    by = &star;
  }
  return one;
}

std::optional<std::string> Project::by_stars(const Module& module, const std::string& name,
                                             std::string* why) {
  std::set<std::string> asked;
  Meaning out = by_stars(module.names.stars, name, asked);
  *why = std::move(out.why);
  return out.name;
}

bool Project::stars_agree(const Module& module, const std::string& name, const std::string& meaning,
                          const std::set<std::string>& asked) {
  if (module.names.stars.empty()) return true;
  if (asked.size() > kMostAgreeing) return false;
  // Neither question is in the other's way, nor in that of what is asked next.
  std::set<std::string> by_star = asked, by_name = asked;
  Meaning through = by_stars(module.names.stars, name, by_star);
  if (!through.name) return through.why.empty();
  if (*through.name == meaning) return true;
  return resolve(meaning, by_name).name == through.name;
}

// `asked`: the names on the way, none of which is looked for twice. Names that grow as they are
// looked for end at a bound.
Project::Meaning Project::resolve(const std::string& qualified, std::set<std::string>& asked) {
  if (!asked.insert(qualified).second) return {};
  // The longest prefix that is a module of the project, short of the whole name.
  for (size_t dot = qualified.rfind('.'); dot != std::string::npos && dot > 0;
       dot = qualified.rfind('.', dot - 1)) {
    std::string prefix = qualified.substr(0, dot);
    if (!has_module(prefix)) continue;
    if (has_module(qualified)) return {qualified, ""};
    const Module* m = module(prefix);
    if (m == nullptr) return {};
    if (std::string whole = replaced_whole(prefix); !whole.empty()) {
      return {std::nullopt, std::move(whole)};
    }
    std::string rest = qualified.substr(dot + 1);
    std::string head = rest.substr(0, rest.find('.'));
    std::string tail = rest.size() > head.size() ? rest.substr(head.size()) : "";
    auto found = m->names.bindings.find(head);
    if (found == m->names.bindings.end()) {
      Meaning through = by_stars(m->names.stars, rest, asked);
      if (through.name || !through.why.empty()) return through;
      return {qualified, ""};  // a lazily made attribute: the name stands for itself
    }
    const Binding& only = found->second.front();
    std::string elsewhere = replaced(prefix, head, only.kind == Binding::Kind::import);
    if (!elsewhere.empty()) return {std::nullopt, std::move(elsewhere)};
    auto one = meaning(found->second, nullptr);
    if (!one && found->second.size() == 1 && only.kind == Binding::Kind::assignment &&
        !only.guarded && !only.qualified.empty()) {
      // An alias, bound once to a dotted name of that module.
      std::string first = only.qualified.substr(0, only.qualified.find('.'));
      auto base = m->names.bindings.find(first);
      if (first != head && base != m->names.bindings.end()) {
        one = meaning(base->second, nullptr);
        if (one) one = *one + only.qualified.substr(first.size());
      }
    }
    if (!one || !stars_agree(*m, head, *one, asked)) {
      return {std::nullopt, qualified + " may be bound in more than one way"};
    }
    std::string next = *one + tail;
    if (next == qualified) return {next, ""};
    // `from .version import version` of a module that is not in the tree: a path, not this name.
    if (next.starts_with(qualified + ".")) return {qualified, ""};
    if (asked.size() >= kMostSteps) {
      return {std::nullopt, fmt::format("{} is renamed more than {} times", qualified, kMostSteps)};
    }
    return resolve(next, asked);
  }
  std::string elsewhere = replaced_outside(qualified);
  if (!elsewhere.empty()) return {std::nullopt, std::move(elsewhere)};
  return {qualified, ""};
}

}  // namespace refit::python
