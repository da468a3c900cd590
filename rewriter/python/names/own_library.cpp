// What a tree defines itself under the name of a library: a fork or a copy of it, or something else
// of that name. Entry points: Project::differs, Project::beside.
#include <fmt/format.h>

#include <algorithm>

#include "rewriter/python/names/own_body.hpp"
#include "rewriter/python/names/project.hpp"
#include "rewriter/text/source.hpp"

namespace refit::python {

namespace {

struct WrittenParameter {
  std::string_view name, fallback;
};

// The parameters of a definition; `self` left out for a method.
std::vector<WrittenParameter> parameters_of(TSNode definition, std::string_view text, bool method) {
  std::vector<WrittenParameter> out;
  for (TSNode parameter : children_of(field(definition, "parameters"))) {
    TSNode name = field(parameter, "name"), value = field(parameter, "value");
    if (!present(name)) name = parameter;
    // `x: int`, `*args`, `*args: int`
    while (!is(name, "identifier") && ts_node_named_child_count(name) > 0) {
      name = children_of(name).front();
    }
    if (!is(name, "identifier")) continue;  // `*` or `/`
    out.push_back({text_of(text, name), present(value) ? text_of(text, value) : ""});
  }
  if (method && !out.empty()) out.erase(out.begin());
  return out;
}

bool agree(const std::vector<WrittenParameter>& written, const std::vector<Parameter>& known) {
  if (written.size() != known.size()) return false;
  for (size_t i = 0; i < written.size(); ++i) {
    if (written[i].name != known[i].name) return false;
    if (known[i].default_value && written[i].fallback.empty()) return false;
    auto value = parse_literal(written[i].fallback);
    if (known[i].default_value && value && value->kind != Literal::Kind::symbol &&
        !same_value(*value, *known[i].default_value)) {
      return false;
    }
  }
  return true;
}

// In what way a definition of the tree is not the operation of the library; "" where it is.
std::string otherwise(TSNode root, std::string_view text, const Names& names, TSNode own,
                      const Operation& operation) {
  const bool is_class = is(own, "class_definition");
  const std::string_view name = text_of(text, field(own, "name"));
  TSNode header = own;
  if (is_class) {
    const auto made = definitions_of(field(own, "body"), text, "__init__");
    header = made.empty() ? TSNode{} : made.front().node;
  }
  if (present(header)) {  // else it is made as its base is
    auto written = parameters_of(header, text, is_class);
    bool same = agree(written, operation.parameters) ||
                std::ranges::any_of(operation.overloads,
                                    [&](const auto& overload) { return agree(written, overload); });
    if (!same) return "another signature than the library's";
  }
  if (operation.trusted) return "";
  auto body = normal_body(root, text, names, name);
  if (!body) return "a body that is not read, because the name is bound more than once";
  std::string digest = digest_of(*body);
  if (std::ranges::find(operation.bodies, digest) != operation.bodies.end()) return "";
  return "a body (" + digest + ") that is none of those known of the library";
}

}  // namespace

std::string Project::differs(const std::string& qualified, const Operation& operation) {
  std::string home = qualified;
  for (size_t dot = home.rfind('.'); dot != std::string::npos; dot = home.rfind('.')) {
    home.resize(dot);
    if (has_module(home)) break;
  }
  if (!has_module(home)) return "";
  return differs_.of(qualified, [&] {
    return read_difference(home, qualified.substr(home.size() + 1), operation);
  });
}

std::string Project::read_difference(const std::string& home, const std::string& name,
                                     const Operation& operation) const {
  bool package = false;
  auto source = source_of(home, &package);
  if (!source) return "";
  const std::string_view text = source->text();
  const Tree tree(text);
  const auto own = definitions_of(tree.root(), text, name);
  if (own.empty()) return "";
  const Module read = index_module(tree.root(), text, home, false);
  std::string how = otherwise(tree.root(), text, read.names, own.front().node, operation);
  if (how.empty()) return "";
  const uint32_t begin = ts_node_start_byte(own.front().node);
  return fmt::format("{}:{} defines it, with {}", file_of(home), source->position(begin).line, how);
}

bool Project::lies_in_folder(std::string_view module) const {
  auto found = files_.find(module);
  return found != files_.end() && !folders_[found->second.file].empty();
}

std::string Project::beside(const std::string& module, const std::string& qualified) const {
  auto found = files_.find(module);
  if (found == files_.end()) return qualified;
  const std::string_view own = all_[found->second.file].relative;
  const std::string_view folder = folders_[found->second.file];
  if (folder.empty()) return qualified;
  std::string base(folder);
  std::replace(base.begin(), base.end(), '/', '.');
  std::string there = base + "." + qualified;
  for (size_t dot = there.find('.', base.size() + 1);; dot = there.find('.', dot + 1)) {
    std::string prefix = there.substr(0, dot);
    if (has_module(prefix) && file_of(prefix) != own) return there;
    if (dot == std::string::npos) return qualified;
  }
}

}  // namespace refit::python
