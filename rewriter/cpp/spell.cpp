// How a value is written at a place of C++: a variable that means it there, a field, a number or a
// view that is written out again. Entry point: spell_value.
#include <algorithm>

#include "rewriter/cpp/frontend.hpp"
#include "rewriter/text/words.hpp"

namespace refit::cpp {

namespace {

class Speller {
 public:
  Speller(const CppUnit& unit, uint32_t function, ValueId root, const std::set<StatementId>& dead)
      : unit_(unit),
        text_(unit.texts[function]),
        g_(unit.functions[function].graph),
        dead_(dead),
        root_(g_[root].range) {
    if (g_[root].statement != kNone) time_ = g_.statements[g_[root].statement].time;
  }

  std::optional<std::string> spell(ValueId id) const {
    if (id == kNone) return std::nullopt;
    const Value& v = g_[id];
    if (v.range.size() != 0 && root_.contains(v.range) && v.range.size() < root_.size()) {
      return std::string(unit_.source().slice(v.range));
    }
    if (v.kind == Kind::literal && v.range.size() != 0) {
      return std::string(unit_.source().slice(v.range));
    }
    if (auto name = named(id)) return name;
    if (v.kind != Kind::attribute) {
      if (auto number = restated(id)) return number;
      return again(id);
    }
    const auto& stored = g_.stored_attributes;
    if (std::ranges::find(stored, v.text) != stored.end()) return std::nullopt;
    const Value& base = g_[v.operands[0]];
    if (base.kind == Kind::parameter && base.text == "this") {
      return g_.name_index(v.text) ? "this->" + v.text : v.text;
    }
    // A field of a named object, as it was written.
    if (v.range.size() == 0 || !named(v.operands[0])) return std::nullopt;
    std::string written(unit_.source().slice(v.range));
    return written.find('(') == std::string::npos ? std::optional(written) : std::nullopt;
  }

 private:
  // A variable that means the value at the root's place and is not hidden there: one that the root
  // reads, or else the newest.
  std::optional<std::string> named(ValueId id) const {
    std::optional<std::string> best;
    std::pair<bool, DefinitionId> rank;
    for (uint32_t name = 0; name < g_.names.size(); ++name) {
      const Local& local = text_.locals[name];
      if (local.changes || !local.scope.contains(root_)) continue;
      DefinitionId d = effective(g_, g_.reaching(name, time_), dead_);
      if (d == kNone || g_.definitions[d].value != id || hidden(name)) continue;
      const std::pair<bool, DefinitionId> own{read_by_root(local.identifier), d};
      if (!best || own >= rank) {
        best = local.identifier;
        rank = own;
      }
    }
    return best;
  }

  bool read_by_root(std::string_view identifier) const {
    const std::string_view written = unit_.source().slice(root_);
    bool read = false;
    visit_words(written, [&](uint64_t, size_t begin, size_t end) {
      read = read || written.substr(begin, end - begin) == identifier;
    });
    return read;
  }

  // A number that the root's place computes again, as it was written: where every variable in it
  // means there what it meant.
  std::optional<std::string> restated(ValueId id) const {
    const Value& v = g_[id];
    if (!v.number || v.range.size() == 0 || v.statement == kNone || !computes_only(id, 0)) {
      return std::nullopt;
    }
    const uint32_t then = g_.statements[v.statement].time;
    const std::string_view written = unit_.source().slice(v.range);
    bool same = true;
    visit_words(written, [&](uint64_t, size_t begin, size_t end) {
      const std::string_view word = written.substr(begin, end - begin);
      const auto& stored = g_.stored_attributes;
      same = same && std::ranges::find(stored, word) == stored.end() && means_the_same(word, then);
    });
    return same ? std::optional(std::string(written)) : std::nullopt;
  }

  // The value's own text: a view, which is the same wherever it is taken, or what a statement that
  // goes computed and the root's place computes instead.
  std::optional<std::string> again(ValueId id) const {
    const Value& v = g_[id];
    if (v.inlined || v.range.size() == 0 || v.statement == kNone || text_.locked.contains(id)) {
      return std::nullopt;
    }
    const bool view = v.kind == Kind::index || (v.kind == Kind::op && v.op->pure && v.op->view);
    const bool goes = v.kind == Kind::op && v.op->pure && dead_.contains(v.statement);
    if ((!view && !goes) || !says_all(v.range)) return std::nullopt;
    const uint32_t then = g_.statements[v.statement].time;
    const std::string_view written = unit_.source().slice(v.range);
    bool same = true;
    visit_words(written, [&](uint64_t, size_t begin, size_t end) {
      const std::string_view word = written.substr(begin, end - begin);
      same = same && std::ranges::find(g_.stored_attributes, word) == g_.stored_attributes.end() &&
             means_the_same(word, then);
    });
    return same ? std::optional(std::string(written)) : std::nullopt;
  }

  // Whether nothing within a text does more than compute of what it names.
  bool says_all(ByteRange range) const {
    for (ValueId inner = 0; inner < g_.values.size(); ++inner) {
      const Value& v = g_[inner];
      if (v.range.size() == 0 || !range.contains(v.range)) continue;
      const bool computes =
          v.kind == Kind::literal || v.kind == Kind::parameter || v.kind == Kind::attribute ||
          v.kind == Kind::symbol || v.kind == Kind::index || v.kind == Kind::slice ||
          v.kind == Kind::list || v.kind == Kind::tuple || (v.kind == Kind::op && v.op->pure) ||
          (v.kind == Kind::opaque && v.text == "conversion");
      if (!computes || text_.locked.contains(inner)) return false;
    }
    return true;
  }

  bool means_the_same(std::string_view word, uint32_t then) const {
    for (uint32_t name = 0; name < g_.names.size(); ++name) {
      const Local& local = text_.locals[name];
      if (local.identifier != word) continue;
      if (local.changes || !local.scope.contains(root_) || hidden(name) ||
          effective(g_, g_.reaching(name, then), dead_) !=
              effective(g_, g_.reaching(name, time_), dead_)) {
        return false;
      }
    }
    return true;
  }

  // Whether a number is made of numbers, sizes and members by nothing but arithmetic.
  bool computes_only(ValueId id, int depth) const {
    constexpr int kDepth = 16;
    const Value& v = g_[id];
    if (depth > kDepth || v.inlined) return false;
    if (v.kind == Kind::literal || v.kind == Kind::parameter) return true;
    const bool known = (v.kind == Kind::op && v.op->pure) || v.kind == Kind::attribute ||
                       v.kind == Kind::index || (v.kind == Kind::opaque && v.text == "conversion");
    return known && std::ranges::all_of(v.operands, [&](ValueId operand) {
             return operand == kNone || named(operand) || computes_only(operand, depth + 1);
           });
  }

  bool hidden(uint32_t name) const {
    const Local& local = text_.locals[name];
    for (uint32_t other = 0; other < g_.names.size(); ++other) {
      const Local& o = text_.locals[other];
      if (other == name || o.identifier != local.identifier) continue;
      if (o.scope.contains(root_) && local.scope.contains(o.scope)) return true;
    }
    return false;
  }

  const CppUnit& unit_;
  const FunctionText& text_;
  const Graph& g_;
  const std::set<StatementId>& dead_;
  ByteRange root_;
  uint32_t time_ = 0;
};

}  // namespace

std::optional<std::string> spell_value(const CppUnit& unit, uint32_t function, ValueId value,
                                       ValueId root, const std::set<StatementId>& dead) {
  return Speller(unit, function, root, dead).spell(value);
}

}  // namespace refit::cpp
