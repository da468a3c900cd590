// What a name means where a function of Python reads it: the module's bindings, those of functions
// around, star imports, Python's own, and what binds names of a module from inside functions. Entry
// points: FunctionLowering::symbol_of and candidates, find_own_libraries, class_facts,
// PythonUnit::method_around.
#include <algorithm>

#include "rewriter/python/lower/lowering.hpp"
#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

std::string own_library(const std::string& qualified, const std::string& module,
                        const LoweringContext& context) {
  std::string head = qualified.substr(0, qualified.find('.'));
  bool library = !context.pattern && context.catalogue.describes(head);
  return library ? context.project.beside(module, qualified) : qualified;
}

PythonUnit::Methods::const_iterator PythonUnit::method_around(uint32_t function) const {
  auto method = methods.end();
  uint32_t around = functions[function].parent;
  while (around != kNone && (method = methods.find(around)) == methods.end()) {
    around = functions[around].parent;
  }
  if (method == methods.end()) return method;
  constexpr std::string_view kSelf = "self";
  std::string_view text = source_.slice(functions[around].range);
  size_t open = text.find('(', text.find("def "));
  if (open == std::string_view::npos) return methods.end();
  size_t first = text.find_first_not_of(" \t\r\n", open + 1);
  if (first == std::string_view::npos || first_word(text.substr(first)) != kSelf) {
    return methods.end();
  }
  // What binds a name has no dot behind it.
  for (size_t at = text.find(kSelf); at != std::string_view::npos;
       at = text.find(kSelf, at + kSelf.size())) {
    bool inside = at > 0 && (name_char(text[at - 1]) || text[at - 1] == '.');
    char next = at + kSelf.size() < text.size() ? text[at + kSelf.size()] : ' ';
    bool attention = next == '-' && !text.substr(at).starts_with("self-=");  // in a comment
    if (at != first && !inside && !name_char(next) && next != '.' && !attention) {
      return methods.end();
    }
  }
  return method;
}

void find_own_libraries(Names& names, const std::string& module, const LoweringContext& context) {
  if (!context.project.lies_in_folder(module)) return;
  for (auto& [name, bindings] : names.bindings) {
    for (Binding& b : bindings) {
      if (b.kind == Binding::Kind::import) b.qualified = own_library(b.qualified, module, context);
    }
  }
}

namespace {

// What a dotted name of a module's top level stands for, where it is no other class of a known
// name.
std::optional<std::string> class_meaning(const Module& module, const LoweringContext& context,
                                         std::string_view dotted) {
  Project& project = context.project;
  std::string_view first = dotted.substr(0, dotted.find('.'));
  auto bound = module.names.bindings.find(first);
  if (bound == module.names.bindings.end()) return std::nullopt;
  auto meaning = project.meaning(bound->second, nullptr);
  bool imported = bound->second.front().kind == Binding::Kind::import;
  if (!meaning || !project.replaced(module.name, first, imported).empty() ||
      !project.stars_agree(module, std::string(first), *meaning)) {
    return std::nullopt;
  }
  auto out = project.resolve(*meaning + std::string(dotted.substr(first.size())));
  const Operation* op = out ? context.catalogue.find(*out) : nullptr;
  const Operation* like = out && op == nullptr ? project.casting(*out) : nullptr;
  if (like != nullptr) return like->id;
  return op != nullptr && !project.differs(*out, *op).empty() ? std::nullopt : out;
}

}  // namespace

std::unique_ptr<ClassFacts> class_facts(std::string_view text, const Module& module,
                                        const LoweringContext& context) {
  return std::make_unique<ClassFacts>(
      text, context.catalogue,
      [&module, context](std::string_view dotted) {
        return class_meaning(module, context, dotted);
      },
      [text, &module, context](TSNode statement,
                               std::string_view local) -> std::optional<std::string> {
        for (const Imported& name : imported_names(statement, text, module.name, module.package)) {
          if (name.local != local) continue;
          return context.project.resolve(own_library(name.qualified, module.name, context));
        }
        return std::nullopt;
      });
}

const Names& FunctionLowering::names_of(Scope& scope) const {
  if (!scope.names) {
    Module inner = index_module(scope.body, unit_.text(), unit_.names.name, unit_.names.package);
    scope.names = std::move(inner.names);
    find_own_libraries(*scope.names, unit_.module, context_);
  }
  return *scope.names;
}

// `try: from a import f` and `except ImportError: from a import g as f`, where both are names of
// one operation: whichever there is, it is that.
std::optional<std::string> FunctionLowering::one_operation(
    const std::vector<Binding>& bindings) const {
  const Operation* one = nullptr;
  for (const Binding& b : bindings) {
    if (b.kind == Binding::Kind::none) continue;
    auto name = b.kind == Binding::Kind::import ? context_.project.resolve(b.qualified)
                                                : std::optional<std::string>();
    const Operation* op = name ? context_.catalogue.find(*name) : nullptr;
    if (op == nullptr || (one != nullptr && op != one)) return std::nullopt;
    if (!context_.project.differs(*name, *op).empty()) return std::nullopt;
    one = op;
  }
  return one != nullptr ? std::optional(one->id) : std::nullopt;
}

std::optional<std::string> FunctionLowering::symbol_of(std::string_view name, std::string* why) {
  for (auto s = scope_->parent; s; s = s->parent) {
    if (!s->locals.contains(name)) continue;
    const Names& names = names_of(*s);
    auto found = names.bindings.find(name);
    if (found == names.bindings.end()) return std::nullopt;
    for (const Binding& b : found->second) {
      if (b.kind != Binding::Kind::import) return std::nullopt;
    }
    auto one = context_.project.meaning(found->second, why);
    return one ? context_.project.resolve(*one, why) : std::nullopt;
  }
  auto known = shared_.symbols.find(name);
  if (known == shared_.symbols.end()) {
    UnitLowering::Symbol symbol;
    symbol.meaning = symbol_of_module(name, &symbol.why_not);
    known = shared_.symbols.emplace(std::string(name), std::move(symbol)).first;
  }
  if (why != nullptr && !known->second.why_not.empty()) *why = known->second.why_not;
  return known->second.meaning;
}

std::optional<std::string> FunctionLowering::symbol_of_module(std::string_view name,
                                                              std::string* why) const {
  auto found = unit_.names.names.bindings.find(name);
  if (found != unit_.names.names.bindings.end()) {
    const auto& list = found->second;
    // What the binding means, where star imports give the name no other meaning.
    auto agreed = [&](const std::string& meaning) -> std::optional<std::string> {
      if (context_.project.stars_agree(unit_.names, std::string(name), meaning)) {
        return context_.project.resolve(meaning, why);
      }
      if (why != nullptr) *why = "a `from … import *` may bind it too";
      return std::nullopt;
    };
    bool imported =
        std::ranges::any_of(list, [](const Binding& b) { return b.kind == Binding::Kind::import; });
    std::string elsewhere =
        context_.pattern ? "" : context_.project.replaced(unit_.module, name, imported);
    if (!elsewhere.empty()) {
      if (why != nullptr) *why = std::move(elsewhere);
      return std::nullopt;
    }
    // An alias at module level, bound once to a dotted name, means what that name means.
    if (list.size() == 1 && list[0].kind == Binding::Kind::assignment &&
        !list[0].qualified.empty() && !list[0].guarded) {
      std::string head = list[0].qualified.substr(0, list[0].qualified.find('.'));
      std::string tail = list[0].qualified.substr(head.size());
      auto base = unit_.names.names.bindings.find(head);
      if (head != name && base != unit_.names.names.bindings.end()) {
        auto one = context_.project.meaning(base->second, why);
        if (one) return agreed(*one + tail);
      }
      return std::nullopt;
    }
    auto one = context_.project.meaning(list, why);
    if (one) return agreed(*one);
    auto operation = one_operation(list);
    return operation ? agreed(*operation) : std::nullopt;
  }
  std::string unclear;
  std::optional<std::string> given =
      context_.project.by_stars(unit_.names, std::string(name), &unclear);
  for (const std::string& star : unit_.names.names.stars) {
    std::string candidate = star + "." + std::string(name);
    if (context_.project.has_module(star)) continue;
    if (context_.catalogue.find(candidate) != nullptr) {
      if (given && *given != candidate) {
        unclear = "several of `from … import *` bind it";
      } else {
        given = std::move(candidate);
      }
    } else if (why != nullptr && why->empty()) {
      *why = "it may come from `from " + star + " import *`";
    }
  }
  if (!unclear.empty()) {
    if (why != nullptr) *why = std::move(unclear);
    return std::nullopt;
  }
  if (given) return given;
  // Python's own, unless a module that is not read may bind it, too.
  bool all_read = std::ranges::all_of(unit_.names.names.stars, [&](const std::string& star) {
    return context_.project.has_module(star);
  });
  std::string own = "builtins." + std::string(name);
  if (all_read && context_.catalogue.find(own) != nullptr) return own;
  return std::nullopt;
}

// What a name of the module may mean where it does not mean one thing.
std::vector<std::string> FunctionLowering::candidates(std::string_view name) {
  std::vector<std::string> out;
  const auto& module_names = unit_.names.names.bindings;
  auto found = module_names.find(name);
  if (found == module_names.end()) return out;
  for (const Binding& b : found->second) {
    std::optional<std::string> one;
    if (b.kind == Binding::Kind::import) one = context_.project.resolve(b.qualified);
    if (b.kind == Binding::Kind::assignment && !b.qualified.empty()) {
      std::string head = b.qualified.substr(0, b.qualified.find('.'));
      auto base = head == name ? module_names.end() : module_names.find(head);
      if (base == module_names.end()) continue;
      one = context_.project.meaning(base->second, nullptr);
      if (one) one = context_.project.resolve(*one + b.qualified.substr(head.size()));
    }
    if (one) out.push_back(std::move(*one));
  }
  return out;
}

}  // namespace refit::python
