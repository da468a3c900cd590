// See file_nodes.hpp.
#include "rewriter/python/names/file_nodes.hpp"

#include <algorithm>
#include <ranges>
#include <vector>

#include "rewriter/python/names/mentions.hpp"
#include "rewriter/python/names/module.hpp"

namespace refit::python {

void FileNames::add_import(TSNode statement) {
  for (Imported& name : imported_names(statement, source_, module_, package_)) {
    imports_.emplace(std::move(name.local), std::move(name.qualified));
  }
}

std::string FileNames::meaning(TSNode node) const {
  if (!is_chain(node)) return "";
  std::vector<std::string_view> parts;
  for (; is(node, "attribute"); node = field(node, "object")) {
    parts.push_back(text(field(node, "attribute")));
  }
  std::string out(text(node));
  if (auto known = imports_.find(out); known != imports_.end()) out = known->second;
  for (std::string_view part : std::views::reverse(parts)) {
    out += '.';
    out += part;
  }
  return out;
}

std::optional<std::string_view> FileNames::module_found(TSNode node) const {
  TSNode named{};
  if (is(node, "subscript") && meaning(field(node, "value")) == "sys.modules") {
    named = field(node, "subscript");
  } else if (is(node, "call")) {
    const std::string_view callee = last_name(text(field(node, "function")));
    const NodeList arguments = positional(node);
    if ((callee == "import_module" || callee == "__import__") && !arguments.empty()) {
      named = arguments[0];
    }
  }
  if (!present(named)) return std::nullopt;
  const auto module = literal(named);
  return module ? *module : kAnyModule;
}

std::optional<std::string_view> FileNames::literal(TSNode node) const {
  const auto content = literal_text(node, source_);
  const bool dotted = content && !content->empty() &&
                      std::ranges::all_of(*content, [](char c) { return in_word(c) || c == '.'; });
  return dotted ? content : std::nullopt;
}

bool is_chain(TSNode node) {
  while (is(node, "attribute")) node = field(node, "object");
  return is(node, "identifier");
}

NodeList positional(TSNode call) {
  NodeList out = children_of(field(call, "arguments"));
  std::erase_if(out, [](TSNode a) { return is(a, "keyword_argument"); });
  return out;
}

}  // namespace refit::python
