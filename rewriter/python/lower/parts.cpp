// One walk over a file's statements, not into their expressions. See parts.hpp.
#include "rewriter/python/lower/parts.hpp"

#include <algorithm>

namespace refit::python {

namespace {

class Walk {
 public:
  Walk(TSNode module, std::string_view text) : text_(text) {
    Part own;
    own.kind = Part::Kind::module;
    own.range = {0, static_cast<uint32_t>(text.size())};
    out_.parts.push_back(own);
    block(module, {});
  }

  Parts run() {
    while (!work_.empty()) {
      const Step step = work_.back();
      work_.pop_back();
      statement(step.node, step.in);
    }
    std::ranges::stable_sort(
        out_.parts, [](const Part& a, const Part& b) { return a.range.begin < b.range.begin; });
    const auto earlier = [](ByteRange a, ByteRange b) { return a.begin < b.begin; };
    std::ranges::sort(out_.remarks, earlier);
    for (const Part& part : out_.parts) {
      if (part.is_function()) others_.push_back(part.range);
    }
    std::ranges::sort(others_, earlier);
    uint32_t end = 0;
    for (ByteRange other : others_) {
      if (other.begin > end) out_.own.push_back({end, other.begin});
      end = other.end;
    }
    out_.own.push_back({end, static_cast<uint32_t>(text_.size())});
    return std::move(out_);
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  // What a statement stands in: a function, by its number among the parts, or a class, or neither.
  struct Place {
    size_t function = kNone;
    bool in_class = false;
    bool inner = false;  // in a function that the function defines
  };
  struct Step {
    TSNode node;
    Place in;
  };

  std::string_view name_of(TSNode node) const { return text_of(text_, node); }

  // Says how many statements it has.
  size_t block(TSNode node, const Place& in) {
    const NodeList inside = children_of(node);
    for (TSNode child : inside) work_.push_back({child, in});
    return inside.size();
  }

  void add(Part::Kind kind, std::string_view name, TSNode value) {
    if (!present(value)) return;
    Part part;
    part.kind = kind;
    part.name = name;
    part.range = range_of(value);
    out_.parts.push_back(part);
  }

  void statement(TSNode node, const Place& in) {
    const NodeKind type = type_of(node);
    if (type == "expression_statement") {
      const TSNode inside = ts_node_child(node, 0);
      if (is(inside, "string") && ts_node_child_count(node) == 1) {
        out_.remarks.push_back(range_of(node));
      } else if (is(inside, "assignment")) {
        assignment(inside, in);
      }
    } else if (type == "function_definition") {
      function(node, node, in);
    } else if (type == "class_definition") {
      class_(node, in);
    } else if (type == "decorated_definition") {
      const TSNode definition = field(node, "definition");
      if (is(definition, "function_definition")) {
        function(definition, node, in);
      } else if (present(definition)) {
        class_(definition, in);
      }
    } else if (type == "import_statement" || type == "import_from_statement") {
      import(node, in);
      if (in.function == kNone) others_.push_back(range_of(node));
    } else if (type == "return_statement") {
      give(node, in);
    } else {
      // The blocks of a compound statement, its clauses' among them.
      for (TSNode child : children_of(node)) {
        const std::string_view kind = type_name(child);
        if (kind == "block" || kind == "module") {
          block(child, in);
        } else if (kind.ends_with("_clause") || kind == "case_block") {
          work_.push_back({child, in});
        }
      }
    }
  }

  void function(TSNode node, TSNode decorated, const Place& in) {
    const TSNode body = field(node, "body"), parameters = field(node, "parameters");
    for (TSNode parameter : children_of(parameters)) {
      const TSNode value = field(parameter, "value");
      if (present(value)) add(Part::Kind::value, name_of(field(parameter, "name")), value);
    }
    if (in.function != kNone) {  // a function's own function belongs to it
      gives_[in.function].inner = out_.parts[in.function].gives_one = true;
      block(body, {in.function, false, true});
      return;
    }
    Part part;
    part.kind = in.in_class ? Part::Kind::method : Part::Kind::function;
    part.name = name_of(field(node, "name"));
    part.range = range_of(decorated);
    part.definition = range_of(node);
    part.statements = block(body, {out_.parts.size(), false, false});
    out_.parts.push_back(part);
    gives_.resize(out_.parts.size());
  }

  void class_(TSNode node, const Place& in) {
    add(Part::Kind::superclasses, name_of(field(node, "name")), field(node, "superclasses"));
    block(field(node, "body"), {in.function, true, in.inner});
  }

  // `a = b = value`, `a, self.b = values`, `self.a: type = value`.
  void assignment(TSNode node, const Place& in) {
    TSNode value = field(node, "right");
    std::vector<TSNode> targets{field(node, "left")};
    while (is(value, "assignment")) {
      targets.push_back(field(value, "left"));
      value = field(value, "right");
    }
    while (!targets.empty()) {
      const TSNode target = targets.back();
      targets.pop_back();
      if (is(target, "attribute")) {
        add(Part::Kind::attribute, name_of(field(target, "attribute")), value);
      } else if (is(target, "subscript")) {
        targets.push_back(field(target, "value"));
      } else if (is(target, "identifier")) {
        if (in.in_class) add(Part::Kind::attribute, name_of(target), value);
        if (in.function == kNone) add(Part::Kind::value, name_of(target), value);
      } else {
        push_children(target, targets);
      }
    }
  }

  // A name that an import gives to something of another name: in a function, for that one alone.
  void import(TSNode node, const Place& in) {
    for (TSNode child : children_of(node)) {
      const TSNode name = field(child, "name");
      if (!is(child, "aliased_import") || !present(name)) continue;
      add(Part::Kind::value, name_of(field(child, "alias")), name);
      if (in.function != kNone) out_.parts.back().scope = out_.parts[in.function].range;
    }
  }

  // A tuple, None, True or False is no tensor.
  void give(TSNode node, const Place& in) {
    if (in.function == kNone || in.inner) return;
    const NodeList values = children_of(node);
    if (values.empty()) return;
    const bool one = values.size() == 1 && !is(values[0], "expression_list") &&
                     !is(values[0], "tuple") && !is(values[0], "none") && !is(values[0], "true") &&
                     !is(values[0], "false");
    Gives& gives = gives_[in.function];
    gives.other = gives.other || !one;
    out_.parts[in.function].gives_one = gives.inner || !gives.other;
  }

  struct Gives {
    bool other = false;  // something that is no tensor
    bool inner = false;  // it defines functions, whose returns are not told from its own
  };
  std::string_view text_;
  Parts out_;
  std::vector<Gives> gives_;       // by part
  std::vector<ByteRange> others_;  // texts outside functions that are not the module's own
  std::vector<Step> work_;
};

}  // namespace

Parts parts_of(TSNode module, std::string_view text) { return Walk(module, text).run(); }

}  // namespace refit::python
