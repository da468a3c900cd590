// One walk over the syntax of a definition, leaf by leaf, and of what it names in its file. Entry
// points: normal_body, digest_of.
#include "rewriter/python/names/own_body.hpp"

#include <fmt/format.h>

#include <deque>
#include <ranges>
#include <set>
#include <utility>

#include "rewriter/python/syntax/syntax.hpp"

namespace refit::python {

namespace {

class Writer {
 public:
  Writer(TSNode root, std::string_view text, const Names& names, std::string_view own)
      : root_(root), text_(text), names_(names), own_(own) {}

  std::optional<std::string> write() {
    named_.emplace_back(own_);
    seen_.emplace(own_);
    while (!named_.empty()) {
      const std::string name = std::move(named_.front());
      named_.pop_front();
      auto found = names_.bindings.find(name);
      if (found == names_.bindings.end()) return std::nullopt;
      for (const Binding& binding : found->second) {
        if (binding.kind == Binding::Kind::import) {
          out_ += "\nimport " + binding.qualified;
        } else if (!defines(binding) &&
                   !statement(ts_node_descendant_for_byte_range(root_, binding.statement.begin,
                                                                binding.statement.end))) {
          return std::nullopt;
        }
      }
      for (const DefinitionNode& definition : definitions_of(root_, text_, name)) {
        if (!statement(definition.whole)) return std::nullopt;
      }
    }
    return std::move(out_);
  }

 private:
  static bool defines(const Binding& binding) {
    return binding.kind == Binding::Kind::function || binding.kind == Binding::Kind::class_;
  }

  bool statement(TSNode node) {
    if (ts_node_has_error(node)) return false;
    out_ += '\n';
    walk(node);
    return true;
  }

  // Text that says nothing of what is computed.
  static bool remark(TSNode node) {
    if (is(node, "comment")) return true;
    if (!is(node, "expression_statement")) return false;
    auto children = children_of(node);
    return children.size() == 1 && is(children.front(), "string");
  }

  void leaf(TSNode node) {
    std::string_view token = text_of(text_, node);
    if (token.empty()) return;
    bool name = is(node, "identifier");
    out_ += ' ';
    out_ += name && token == own_ ? std::string_view("this") : token;
    if (name && names_.bindings.contains(token) && seen_.emplace(token).second) {
      named_.emplace_back(token);
    }
  }

  // The parts of a node that count, in order.
  static std::vector<TSNode> parts(TSNode node) {
    std::vector<TSNode> all = all_children_of(node);
    std::erase_if(all, remark);
    const NodeKind type = type_of(node);
    auto drop = [&](TSNode part) {
      std::erase_if(all, [&](TSNode child) { return ts_node_eq(child, part); });
    };
    auto drop_token = [&](NodeKind token) {
      std::erase_if(all, [&](TSNode child) { return is(child, token); });
    };
    if (type == "function_definition") {
      TSNode annotation = field(node, "return_type");
      if (present(annotation)) {
        drop(annotation);
        drop_token("->");
      }
    } else if (type == "typed_parameter" || type == "typed_default_parameter" ||
               (type == "assignment" && present(field(node, "right")))) {
      TSNode annotation = field(node, "type");
      if (present(annotation)) {
        drop(annotation);
        drop_token(":");
      }
    } else if (type == "argument_list" || type == "parameters" || type == "list" ||
               type == "dictionary" || type == "set") {
      if (all.size() > 2 && is(all[all.size() - 2], ",")) all.erase(all.end() - 2);
    }
    return all;
  }

  void walk(TSNode root) {
    struct Step {
      TSNode node;
      const char* written;  // instead of a node
    };
    std::vector<Step> open{{root, nullptr}};
    while (!open.empty()) {
      Step step = open.back();
      open.pop_back();
      if (step.written != nullptr) {
        out_ += step.written;
        continue;
      }
      if (remark(step.node)) continue;
      if (ts_node_child_count(step.node) == 0 || is(step.node, "string")) {
        leaf(step.node);
        continue;
      }
      bool lines = is(step.node, "block") || is(step.node, "module");
      if (is(step.node, "block")) {
        out_ += " {";
        open.push_back({step.node, " }"});
      }
      auto children = parts(step.node);
      for (TSNode child : std::views::reverse(children)) {
        open.push_back({child, nullptr});
        if (lines) open.push_back({child, "\n"});
      }
    }
  }

  TSNode root_;
  std::string_view text_;
  const Names& names_;
  std::string_view own_;
  std::string out_;
  std::deque<std::string> named_;  // in the order in which they are met
  std::set<std::string, std::less<>> seen_;
};

}  // namespace

std::optional<std::string> normal_body(TSNode root, std::string_view text, const Names& names,
                                       std::string_view name) {
  auto found = names.bindings.find(name);
  if (found == names.bindings.end() || found->second.size() != 1) return std::nullopt;
  return Writer(root, text, names, name).write();
}

std::string digest_of(std::string_view body) {
  uint64_t hash = 14695981039346656037U;
  for (char c : body) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return fmt::format("{:016x}", hash);
}

}  // namespace refit::python
