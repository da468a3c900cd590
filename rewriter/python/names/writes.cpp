// What a file stores: in attributes of objects that are not its own, in the tables by which modules
// and layers are found, and in the objects of its own classes. See facts.hpp; entry point:
// note_writes.
#include <algorithm>
#include <initializer_list>

#include "rewriter/python/names/facts.hpp"
#include "rewriter/python/names/mentions.hpp"
#include "rewriter/python/syntax/lines.hpp"

namespace refit::python {

namespace {

constexpr size_t kNone = std::string_view::npos;

bool one_of(std::string_view word, std::initializer_list<std::string_view> all) {
  return std::ranges::find(all, word) != all.end();
}

class WritesReader {
 public:
  WritesReader(const FileNames& names, bool test, FileFacts& out)
      : names_(names), test_(test), out_(out) {}

  // The targets of an assignment, a `for`, a `with … as` or a `del`.
  void note_store(const FileNodes::Statement& statement) {
    const TSNode node = statement.node;
    if (is(node, "delete_statement")) {
      for (TSNode target : children_of(node)) note_own(target, statement);
      return;
    }
    // `case pattern as name` has no such field, for it binds a plain name.
    const TSNode left = is(node, "as_pattern") ? field(node, "alias") : field(node, "left");
    if (!present(left)) return;
    const bool given = !present(field(node, "type")) || present(field(node, "right"));
    std::vector<TSNode> work{left};
    while (!work.empty()) {
      const TSNode target = work.back();
      work.pop_back();
      const NodeKind type = type_of(target);
      if (type == "pattern_list" || type == "tuple_pattern" || type == "list_pattern" ||
          type == "list_splat_pattern" || type == "as_pattern_target" || type == "tuple" ||
          type == "list" || type == "parenthesized_expression" || type == "expression_list") {
        push_children(target, work);
      } else {
        note_own(target, statement);
        if (given) note_target(target, field(node, "right"));
      }
    }
  }

  void note_call(const FileNodes::Statement& statement) {
    const TSNode call = statement.node, callee = field(call, "function");
    const bool attribute = is(callee, "attribute");
    const TSNode object = attribute ? field(callee, "object") : TSNode{};
    const std::string_view name = names_.text(attribute ? field(callee, "attribute") : callee);
    if (name == "setattr" || name == "__setattr__") {
      note_setattr(call, name, object, statement);
    } else if (attribute && name.starts_with("register_forward")) {
      note_layer(object);  // what a call of it gives is no longer its own
    } else if (attribute && one_of(name, {"add_module", "register_module"})) {
      note_entry(object, call, statement, true);
    } else if (attribute && one_of(name, {"register_buffer", "register_parameter"})) {
      note_entry(object, call, statement, false);
    } else if (name == "patch") {
      note_patch(call);
    } else if (attribute && name == "object" && last_name(names_.text(object)) == "patch") {
      const NodeList arguments = positional(call);
      const auto key = arguments.size() < 2 ? std::nullopt : names_.literal(arguments[1]);
      if (key) add(arguments[0], *key, call, true, !test_);
    }
  }

 private:
  bool is_self(TSNode node) const { return is(node, "identifier") && names_.text(node) == "self"; }

  // What a class gives its objects: `self.norm = …` in a method, `norm = …` in its body.
  void note_own(TSNode target, const FileNodes::Statement& statement) {
    if (statement.class_ == FileNodes::kNoClass) return;
    std::vector<uint64_t>& stores = out_.classes[statement.class_].stores;
    if (!statement.method && is(target, "identifier")) {
      stores.push_back(hash_of(names_.text(target)));
    } else if (is(target, "attribute") && is_self(field(target, "object"))) {
      stores.push_back(hash_of(names_.text(field(target, "attribute"))));
    }
  }

  // `owner.F = …`, and entries of a table of names, of layers or of modules.
  void note_target(TSNode target, TSNode value) {
    if (is(target, "attribute")) {
      const TSNode object = field(target, "object");
      const std::string_view name = names_.text(field(target, "attribute"));
      if (name == "forward") note_layer(object);
      if (!is_self(object)) add(object, name, target, true);
      return;
    }
    if (!is(target, "subscript")) return;
    const TSNode table = field(target, "value"), entry = field(target, "subscript");
    std::optional<std::string_view> key = names_.literal(entry);
    if (is(table, "attribute") && names_.text(field(table, "attribute")) == "_modules") {
      if (is_self(field(table, "object"))) return;
      if (key) add({}, *key, target, false);
      out_.computes = out_.computes || !key;
      return;
    }
    if (is(entry, "identifier") && names_.text(entry) == "__name__" && !loads(value)) {
      key = names_.module();
    }
    if (!key) return;
    if (is(table, "attribute") && names_.text(field(table, "attribute")) == "__dict__") {
      add(field(table, "object"), *key, target, true);
    } else if (is(table, "call") && names_.text(field(table, "function")) == "vars") {
      const NodeList arguments = positional(table);
      if (arguments.size() == 1) add(arguments[0], *key, target, true);
    } else if (names_.meaning(table) == "sys.modules") {
      out_.writes.push_back({std::string(*key), "", line_of(target), true, true, !test_});
    }
  }

  // Whether a value is a call that is handed `__name__` first, as packages do that load their
  // modules when they are asked for, with the same names.
  bool loads(TSNode value) const {
    if (!is(value, "call")) return false;
    const NodeList arguments = positional(value);
    return !arguments.empty() && names_.text(arguments[0]) == "__name__";
  }

  // `setattr(owner, "F", …)`, `object.__setattr__(owner, "F", …)`, `owner.__setattr__("F", …)`.
  void note_setattr(TSNode call, std::string_view name, TSNode object,
                    const FileNodes::Statement& statement) {
    const NodeList arguments = positional(call);
    const bool method = name == "__setattr__" && arguments.size() == 2;
    if (arguments.size() < 2 || (method && !present(object))) return;
    const TSNode owner = method ? object : arguments[0];
    const auto key = names_.literal(arguments[method ? 0 : 1]);
    if (is_self(owner) || names_.text(owner) == "super()") {
      if (key && statement.class_ != FileNodes::kNoClass) {
        out_.classes[statement.class_].stores.push_back(hash_of(*key));
      }
    } else if (!key) {
      out_.computes = true;
    } else {
      const bool plain = !present(object) || names_.text(object) == "builtins";
      add(owner, *key, call, name == "setattr" && plain);
    }
  }

  // `attn.add_module("norm", …)`, `self.register_buffer("table", …)`
  void note_entry(TSNode object, TSNode call, const FileNodes::Statement& statement, bool layer) {
    const NodeList arguments = positional(call);
    const auto key = arguments.empty() ? std::nullopt : names_.literal(arguments[0]);
    if (is_self(object)) {
      if (key && statement.class_ != FileNodes::kNoClass) {
        out_.classes[statement.class_].stores.push_back(hash_of(*key));
      }
    } else if (key) {
      add({}, *key, call, false);
    } else if (layer) {
      out_.computes = true;
    }
  }

  // `patch("owner.F")`
  void note_patch(TSNode call) {
    const NodeList arguments = positional(call);
    const auto whole = arguments.empty() ? std::nullopt : names_.literal(arguments[0]);
    const size_t dot = whole ? whole->rfind('.') : kNone;
    if (dot == kNone) return;
    out_.writes.push_back({std::string(whole->substr(0, dot)), std::string(whole->substr(dot + 1)),
                           line_of(call), true, true, !test_});
  }

  // The layer that an attribute holds computes something else.
  void note_layer(TSNode layer) {
    if (is(layer, "attribute")) add({}, names_.text(field(layer, "attribute")), layer, false);
  }

  void add(TSNode owner, std::string_view name, TSNode at, bool module, bool lasting = true) {
    owner = without_parentheses(owner);
    Write write{"", std::string(name), line_of(at), false, module, lasting};
    if (auto found = names_.module_found(owner)) {
      write.owner = *found;
      write.certain = *found != kAnyModule;
    } else if (present(owner)) {
      const std::string_view first = is_chain(owner) ? first_word(names_.text(owner)) : "";
      write.owner = names_.meaning(owner);
      write.certain = names_.imported(first);
      if (first == "self" || first == "cls") write.module = false;  // of an object, or of its part
    }
    out_.writes.push_back(std::move(write));
  }

  static uint32_t line_of(TSNode node) { return ts_node_start_point(node).row + 1; }

  const FileNames& names_;
  bool test_;
  FileFacts& out_;
};

}  // namespace

void note_writes(const FileNodes& nodes, const FileNames& names, bool test, FileFacts& out) {
  WritesReader reader(names, test, out);
  for (const FileNodes::Statement& statement : nodes.stores) reader.note_store(statement);
  for (const FileNodes::Statement& call : nodes.calls) reader.note_call(call);
  std::ranges::stable_sort(out.writes, {}, &Write::line);
  out.writes.shrink_to_fit();
}

}  // namespace refit::python
