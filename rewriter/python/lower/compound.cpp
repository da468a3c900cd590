// Loops, try, with and match: what they may change becomes opaque, by name and no further.
#include <algorithm>
#include <iterator>

#include "rewriter/python/lower/lowering.hpp"
#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/python/syntax/text_parts.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

void FunctionLowering::opaque_names(const std::set<std::string, std::less<>>& names,
                                    const std::string& why, const std::vector<ValueId>& reads) {
  for (const std::string& name : names) {
    if (!scope_->locals.contains(name)) continue;
    std::vector<ValueId> operands = reads;
    DefinitionId before = env_[name_id(name)];
    if (before != kNone) operands.push_back(g().definitions[before].value);
    Value v;
    v.kind = Kind::opaque;
    v.text = why + " " + name;
    v.operands = std::move(operands);
    v.statement = current_;
    bind(name, g().add(std::move(v)));
  }
}

namespace {

bool joins(const Value& v) {
  if (v.range.size() != 0) return false;
  return v.kind == Kind::phi || (v.kind == Kind::opaque &&
                                 (v.text.starts_with(kInLoop) || v.text.starts_with(kAfterLoop)));
}

// Whether a text defines a context manager of that name that may end an error: a function that
// catches some, or a class that is told of them.
bool defines_catching(std::string_view text, std::string_view name) {
  for (const std::string_view word : {"def ", "class "}) {
    const std::string header = std::string(word) + std::string(name);
    for (size_t at = text.find(header); at != std::string_view::npos;
         at = text.find(header, at + 1)) {
      const size_t end = at + header.size();
      if (end < text.size() && name_char(text[end])) continue;
      const size_t own = indentation(text, static_cast<uint32_t>(at)).size();
      size_t line = text.find('\n', end);
      for (; line != std::string_view::npos; line = text.find('\n', line + 1)) {
        const size_t first = text.find_first_not_of(" \t\r\n", line + 1);
        if (first == std::string_view::npos) continue;
        const size_t depth = indentation(text, static_cast<uint32_t>(first)).size();
        if (depth <= own && text[first] != ')' && text[first] != '#') break;
      }
      const std::string_view whole =
          text.substr(at, line == std::string_view::npos ? line : line - at);
      constexpr std::string_view kCatching[] = {"except", "suppress", "__exit__"};
      if (std::ranges::any_of(kCatching,
                              [&](std::string_view way) { return contains_text(whole, way); })) {
        return true;
      }
    }
  }
  return false;
}

// Whether a `try` catches anything.
bool has_handler(TSNode node) {
  const NodeList parts = children_of(node);
  return std::ranges::any_of(parts, [](TSNode part) {
    return is(part, "except_clause") || is(part, "except_group_clause");
  });
}

}  // namespace

void FunctionLowering::loop(TSNode node) {
  auto id = open(node, StatementKind::other);
  uint32_t outer_block = block_number_;
  ValueId head =
      expression(is(node, "for_statement") ? field(node, "right") : field(node, "condition"));
  use(head);
  auto names = bound_names(node, unit_.text());
  begin_branch();
  auto first_value = static_cast<ValueId>(g().values.size());
  size_t first_statement = g().statements.size();
  std::map<std::string, ValueId> before;  // what a name means when a round begins
  opaque_names(names, "loop", {head});
  for (const std::string& name : names) {
    DefinitionId now = scope_->locals.contains(name) ? env_[name_id(name)] : kNone;
    if (now != kNone) before[name] = g().definitions[now].value;
  }
  loops_.push_back({&names, {}});
  if (is(node, "for_statement")) {
    Value item;
    item.kind = Kind::opaque;
    item.text = "item";
    item.operands = {head};
    item.statement = id;
    assign(field(node, "left"), g().add(std::move(item)));
  }
  block_number_ = 0;
  block(field(node, "body"));
  leave_round();
  // What a round leaves in a name comes round again where the next one reads it.
  std::set<ValueId> read;
  if (is(node, "while_statement")) {  // asked again before each round
    for (const NameRead& asked : names_read(field(node, "condition"), unit_.text())) {
      auto found = before.find(std::string(asked.name));
      if (found != before.end()) read.insert(found->second);
    }
  }
  for (size_t s = first_statement; s < g().statements.size(); ++s) {
    read.insert(g().statements[s].uses.begin(), g().statements[s].uses.end());
  }
  for (auto v = static_cast<ValueId>(g().values.size()); v-- > first_value;) {
    // What only joins what a name may mean reads it where it is read itself.
    if (joins(g()[v]) && !read.contains(v)) continue;
    read.insert(g()[v].operands.begin(), g()[v].operands.end());
  }
  for (const auto& [name, value] : before) {
    const auto& left = loops_.back().left[name];
    if (read.contains(value)) {
      for (ValueId value_left : left) use_in(id, value_left);
    }
    // Behind the loop it is what some round left, or what it was.
    Value after;
    after.kind = Kind::opaque;
    after.text = std::string(kAfterLoop) + name;
    after.operands.assign(left.begin(), left.end());
    after.operands.push_back(value);
    after.statement = current_;
    bind(name, g().add(std::move(after)));
  }
  loops_.pop_back();
  block_number_ = 1;
  for (TSNode alternative : fields_of(node, "alternative")) block(field(alternative, "body"));
  end_branch();
  block_number_ = outer_block;
  close(id);
}

// A round ends here: what its names mean now may be read by the next, or behind the loop.
void FunctionLowering::leave_round() {
  if (loops_.empty()) return;
  for (const std::string& name : *loops_.back().names) {
    if (!scope_->locals.contains(name)) continue;
    DefinitionId now = env_[name_id(name)];
    if (now != kNone) loops_.back().left[name].insert(g().definitions[now].value);
  }
}

bool FunctionLowering::try_statement(TSNode node) {
  auto id = open(node, StatementKind::other);
  uint32_t outer_block = block_number_;
  auto names = bound_names(node, unit_.text());
  begin_branch();
  block_number_ = 0;
  const auto first = static_cast<ValueId>(g().values.size());
  const bool catches = has_handler(node);
  catching_ += catches ? 1 : 0;
  bool falls = block(field(node, "body"));
  catching_ -= catches ? 1 : 0;
  const auto last = static_cast<ValueId>(g().values.size());
  for (const std::string& name : names) {
    if (!scope_->locals.contains(name)) continue;
    DefinitionId now = env_[name_id(name)];
    if (now != kNone) use_in(id, g().definitions[now].value);
  }
  bool body_falls = falls;
  bool any = body_falls;
  bool handled = false;
  for (TSNode child : children_of(node)) {
    const NodeKind type = type_of(child);
    ++block_number_;
    if (type == "except_clause" || type == "except_group_clause") {
      handled = true;
      opaque_names(names, "after try", {});
      for (TSNode part : children_of(child)) {
        if (is(part, "block")) {
          any = block(part) || any;
        } else if (!is(part, "as_pattern")) {
          use(expression(part));
        }
      }
      for (const std::string& name : names) {
        DefinitionId now = !scope_->locals.contains(name) ? kNone : env_[name_id(name)];
        if (now != kNone) use_in(id, g().definitions[now].value);
      }
    } else if (type == "else_clause") {
      any = block(field(child, "body")) || any;
    } else if (type == "finally_clause") {
      if (handled) opaque_names(names, "finally", {});
      for (TSNode part : children_of(child)) {
        if (is(part, "block")) block(part);
      }
    }
  }
  if (handled) {
    opaque_names(names, "after try", {});
    note_tried(first, last);
  }
  end_branch();
  block_number_ = outer_block;
  close(id);
  return any;
}

// Values made where an error is caught: they ask for the rank that they need.
void FunctionLowering::note_tried(ValueId first, ValueId last) {
  for (ValueId id = first; id < last; ++id) {
    const Value& v = g()[id];
    if (v.kind == Kind::element) g().questions.push_back(v.operands[0]);
    if (v.kind == Kind::op && v.op->axes != AxisKind::opaque) g().questions.push_back(id);
  }
}

// Whether the object of a `with` may end an error: one that says so, or any but torch's where the
// file has such objects under other names or makes its own.
bool FunctionLowering::may_end_errors(TSNode object, ValueId context) {
  constexpr std::string_view kSuppress = "suppress";
  const std::string_view written = text(object);
  if (contains_text(written, kSuppress)) return true;
  constexpr std::string_view kTorchs[] = {"torch.", "autocast(", "no_grad(", "inference_mode("};
  if (is(object, "call") && std::ranges::any_of(kTorchs, [&](std::string_view own) {
        return written.starts_with(own);
      })) {
    return false;
  }
  if (made_to_catch(context)) return true;
  if (!shared_.may_end_errors) {
    shared_.may_end_errors =
        contains_text(unit_.text(), kSuppress) || contains_text(unit_.text(), "def __exit__");
  }
  return *shared_.may_end_errors;
}

// Whether a context manager is made by a function or class of the project that may end an error.
bool FunctionLowering::made_to_catch(ValueId context) {
  if (context == kNone || g()[context].kind != Kind::call) return false;
  const Value& callee = g()[g()[context].operands[0]];
  auto [at, fresh] = shared_.catching.try_emplace(callee.text, false);
  if (!fresh) return at->second;
  const size_t dot = callee.text.rfind('.');
  const std::string_view name = std::string_view(callee.text).substr(dot + 1);
  if (name.empty()) return false;
  // A stack ends what any that is entered into it does.
  at->second = name == "ExitStack" || defines_catching(unit_.text(), name);
  if (at->second || callee.kind != Kind::symbol || dot == std::string::npos) return at->second;
  const std::string module = callee.text.substr(0, dot);
  if (module == unit_.module || !context_.project.has_module(module)) return false;
  bool package = false;
  const auto source = context_.project.source_of(module, &package);
  at->second = source && defines_catching(source->text(), name);
  return at->second;
}

bool FunctionLowering::with_statement(TSNode node) {
  auto id = open(node, StatementKind::other);
  uint32_t outer_block = block_number_;
  bool errors_end = false;
  std::vector<std::pair<ValueId, TSNode>> contexts;
  for (TSNode child : children_of(node)) {
    if (!is(child, "with_clause")) continue;
    for (TSNode item : children_of(child)) {
      TSNode value = is(item, "with_item") ? field(item, "value") : item;
      if (is(value, "as_pattern")) {
        auto parts = children_of(value);
        ValueId context = expression(parts.front());
        errors_end = may_end_errors(parts.front(), context) || errors_end;
        use(context);
        run_of_context(context, "__enter__", value);
        contexts.emplace_back(context, value);
        for (size_t i = 1; i < parts.size(); ++i) {
          TSNode target = parts[i];
          if (is(target, "as_pattern_target")) {
            auto inner = children_of(target);
            if (inner.empty()) continue;
            target = inner.front();
          }
          Value entered;
          entered.kind = Kind::opaque;
          entered.text = "with";
          entered.operands = {context};
          entered.statement = id;
          assign(target, g().add(std::move(entered)));
        }
      } else {
        ValueId context = expression(value);
        errors_end = may_end_errors(value, context) || errors_end;
        use(context);
        run_of_context(context, "__enter__", value);
        contexts.emplace_back(context, value);
      }
    }
  }
  block_number_ = 0;
  const auto first = static_cast<ValueId>(g().values.size());
  catching_ += errors_end ? 1 : 0;
  bool falls = block(field(node, "body"));
  catching_ -= errors_end ? 1 : 0;
  block_number_ = outer_block;
  for (const auto& [context, written] : contexts) end_of_context(context, written);
  // As contextlib's `suppress` does: an error ends the block early, and what follows is run.
  if (errors_end) {
    note_tried(first, static_cast<ValueId>(g().values.size()));
    auto names = bound_names(field(node, "body"), unit_.text());
    // What only an import may bind is that, or nothing.
    std::erase_if(names, [&](const std::string& name) {
      if (!scope_->locals.contains(name)) return false;
      const DefinitionId now = env_[name_id(name)];
      return now != kNone && g().definitions[now].previous == kNone &&
             g()[g().definitions[now].value].kind == Kind::symbol;
    });
    opaque_names(names, "after with", {});
    falls = true;
  }
  close(id);
  return falls;
}

void FunctionLowering::match_statement(TSNode node) {
  auto id = open(node, StatementKind::other);
  uint32_t outer_block = block_number_;
  for (TSNode subject : fields_of(node, "subject")) {
    g().questions.push_back(expression(subject));
    use(g().questions.back());
  }
  auto names = bound_names(node, unit_.text());
  for (TSNode clause : children_of(field(node, "body"))) {
    opaque_names(names, "match", {});
    ++block_number_;
    TSNode guard = field(clause, "guard");
    if (present(guard)) {
      for (TSNode e : children_of(guard)) {
        g().questions.push_back(expression(e));
        use(g().questions.back());
      }
    }
    block(field(clause, "consequence"));
    for (const std::string& name : names) {
      DefinitionId now = !scope_->locals.contains(name) ? kNone : env_[name_id(name)];
      if (now != kNone) use_in(id, g().definitions[now].value);
    }
  }
  opaque_names(names, "match", {});
  block_number_ = outer_block;
  close(id);
}

}  // namespace refit::python
