// Writes in place between the reads of a recognised computation and the place where the new call
// reads: what the call is given must not change there. Entry point: SitePlanner::written_between.
#include <algorithm>
#include <array>
#include <map>

#include "rewriter/graph/storage.hpp"
#include "rewriter/plan/site/site_planner.hpp"

namespace refit {

namespace {

// What a site reads, and when. `evaluated`: by an expression without a name, which the new call
// evaluates again.
struct Read {
  ValueId value, at;
  bool evaluated;
};

// Methods of a module that change its parameters.
constexpr std::array<std::string_view, 5> kModuleMethods = {"reset_parameters", "load_state_dict",
                                                            "apply", "_apply", "to_empty"};

class Writes {
 public:
  Writes(const Graph& g, ValueId root, const std::set<ValueId>& interior)
      : g_(g), root_(root), interior_(interior), storage_(g) {}

  // The write that may change what the parts read, behind their first read; kNone where none may.
  // `attribute` is set to the name of an attribute that is stored there, if that is the write.
  ValueId find(std::string& attribute) {
    // The root reads where the new call does.
    for (const ValueId part : interior_) {
      if (part == kNone || part == root_) continue;
      for (const ValueId operand : g_[part].operands) {
        if (operand != kNone && !interior_.contains(operand)) add_read(operand, part);
      }
    }
    if (reads_.empty()) return kNone;
    const ValueId first = std::ranges::min(reads_, {}, &Read::at).at;
    const ValueId end = end_of_rounds(first);
    for (ValueId id = first + 1; id < end; ++id) {
      if (id != root_ && !interior_.contains(id) && !in_another_branch(id) && changes_a_read(id)) {
        return id;
      }
    }
    for (const AttributeWrite& write : g_.attribute_writes) {
      if (write.at <= first || write.at > end || in_another_branch(write.object)) continue;
      if (rebinds_a_read(write)) {
        attribute = write.name;
        return write.object;
      }
    }
    return kNone;
  }

 private:
  // A name keeps its object; an expression without one is written into the new call, with all that
  // it reads.
  void add_read(ValueId value, ValueId at) {
    std::vector<Read> work{{value, at, false}};
    while (!work.empty()) {
      Read read = work.back();
      work.pop_back();
      const Value& v = g_[read.value];
      read.evaluated = is_expression(v.kind) && g_.definitions_of(read.value).empty();
      if (!seen_.insert({read.value, read.at}).second) continue;
      reads_.push_back(read);
      if (!read.evaluated) continue;
      // Of `self.cache` and `cache["k"]` the object and the dictionary are not read themselves.
      const bool part = v.kind == Kind::attribute || v.kind == Kind::index;
      for (size_t i = part ? 1 : 0; i < v.operands.size(); ++i) {
        if (v.operands[i] != kNone) work.push_back({v.operands[i], read.value, false});
      }
      if (part && is_expression(g_[v.operands[0]].kind)) {
        work.push_back({v.operands[0], read.value, false});
      }
    }
  }

  static bool is_expression(Kind kind) {
    return kind == Kind::op || kind == Kind::index || kind == Kind::attribute ||
           kind == Kind::slice || kind == Kind::tuple || kind == Kind::list ||
           kind == Kind::element || kind == Kind::starred || kind == Kind::call;
  }

  // Behind which value no write matters: the root, or, where it stands in a statement that does not
  // hold the first read, such as a loop, all of that statement.
  ValueId end_of_rounds(ValueId first) const {
    StatementId outer = kNone;
    for (StatementId s = g_[root_].statement; s != kNone; s = g_.statements[s].parent) {
      if (inside(g_[first].statement, s)) break;
      if (g_.statements[s].kind == StatementKind::other) outer = s;
    }
    ValueId end = root_;
    while (outer != kNone && end < g_.values.size() && inside(g_[end].statement, outer)) ++end;
    return end;
  }

  bool inside(StatementId statement, StatementId outer) const {
    while (statement != kNone && statement != outer) statement = g_.statements[statement].parent;
    return statement == outer;
  }

  // Whether a value is computed only where the root is not: in another block of an `if`.
  bool in_another_branch(ValueId id) const {
    std::map<StatementId, uint32_t> blocks;  // in which block of a statement the root stands
    for (StatementId s = g_[root_].statement; s != kNone; s = g_.statements[s].parent) {
      if (g_.statements[s].parent != kNone) {
        blocks[g_.statements[s].parent] = g_.statements[s].block;
      }
    }
    for (StatementId s = g_[id].statement; s != kNone; s = g_.statements[s].parent) {
      const auto found = blocks.find(g_.statements[s].parent);
      if (found == blocks.end()) continue;
      return found->second != g_.statements[s].block &&
             g_.statements[found->first].kind == StatementKind::branch;
    }
    return false;
  }

  bool changes_a_read(ValueId id) {
    const Value& v = g_[id];
    const auto writer = g_.writers.find(id);
    // Code in sight writes what is shared; what it is handed may be of this function alone.
    if (writer != g_.writers.end() && writer->second == kNone &&
        any_read(id, [&](const Read& r) { return storage_.places_of(r.value).shared(); })) {
      return true;
    }
    if (v.kind == Kind::update) return changes_by_store(id);
    if (asks_for_items(id)) return true;
    ValueId written = written_by(g_, id);
    if (g_.in_place.contains(id) && !v.operands.empty()) written = v.operands[0];
    if (written != kNone) return changes_what_lies_at(id, storage_.places_of(written));
    if (v.kind != Kind::call || g_.instances.contains(id) || g_.readers.contains(id)) return false;
    const ValueId callee = v.operands[0];
    return (entry_method(callee) && changes_entries_of(id, g_[callee].operands[0])) ||
           changes_its_object(id) || writes_what_it_is_handed(id) ||
           (writer != g_.writers.end() && writer->second != kNone &&
            (reaches_a_read(id, writer->second) || hands_over_a_read(id)));
  }

  bool entry_method(ValueId callee) const {
    return g_[callee].kind == Kind::attribute && changes_entries(g_[callee].text);
  }

  bool changes_what_lies_at(ValueId write, const Places& places) {
    return any_read(write,
                    [&](const Read& r) { return may_reach(places, storage_.places_of(r.value)); });
  }

  // `x[index] = value`: an entry of a dictionary, or a part of what may be a tensor or a list.
  // Where it is an attribute it is among the graph's writes to those.
  bool changes_by_store(ValueId id) {
    const Value& v = g_[id];
    if (object_of_table(g_, v.operands[0]) != kNone) return false;
    const ValueId index = v.operands[1];
    const bool named = g_[v.operands[0]].kind != Kind::call && index != kNone &&
                       g_[index].kind == Kind::literal &&
                       g_[index].literal.kind == Literal::Kind::string;
    if (named) return changes_entries_of(id, v.operands[0]);
    return changes_what_lies_at(id, storage_.own_places_of(v.operands[0]));
  }

  // `items.reverse()`: another object is read by `items[0]`, or by `items.get(0)`. What is read by
  // another such method has its place among the effects, whose order is kept.
  bool changes_entries_of(ValueId write, ValueId container) {
    const Places& places = storage_.own_places_of(container);
    return any_read(write, [&](const Read& r) {
      const Value& v = g_[r.value];
      const bool entry = v.kind == Kind::index || v.kind == Kind::element ||
                         g_.properties.contains(r.value) ||
                         (v.kind == Kind::call && !entry_method(v.operands[0]));
      return r.evaluated && entry && may_reach(places, storage_.places_of(r.value));
    });
  }

  // `self.norm.reset_parameters()`: what is read of the norm is something else then.
  bool changes_its_object(ValueId id) {
    const Value& callee = g_[g_[id].operands[0]];
    return callee.kind == Kind::attribute &&
           std::ranges::find(kModuleMethods, callee.text) != kModuleMethods.end() &&
           reaches_a_read(id, callee.operands[0]);
  }

  // Whether something may be read between that is an object or a part of it.
  bool reaches_a_read(ValueId write, ValueId object) {
    const Places& places = storage_.places_of(object);
    return any_read(write,
                    [&](const Read& r) { return overlap(places, storage_.places_of(r.value)); });
  }

  // Unknown code writes to tensors that it is handed, and to no others. `partial(f, x)()` and
  // `(lambda: x.mul_(2))()` hand over x.
  bool writes_what_it_is_handed(ValueId id) {
    const Value& v = g_[id];
    const Kind callee = g_[v.operands[0]].kind;
    const bool code = callee == Kind::call || callee == Kind::opaque || callee == Kind::phi;
    return std::any_of(v.operands.begin() + (code ? 0 : 1), v.operands.end(),
                       [&](ValueId given) { return given != kNone && reaches_a_read(id, given); });
  }

  // Code in sight may write to all that it is handed. What a parameter holds is not in sight.
  bool hands_over_a_read(ValueId id) {
    const Value& v = g_[id];
    if (g_[v.operands[0]].kind == Kind::parameter) return false;
    return std::any_of(v.operands.begin() + 1, v.operands.end(), [&](ValueId given) {
      return given != kNone && changes_what_lies_at(id, storage_.places_of(given));
    });
  }

  // What runs code when it is asked for its items runs it where a loop, a star or an unpacking
  // asks.
  bool asks_for_items(ValueId id) {
    const Value& v = g_[id];
    if (v.kind != Kind::opaque && v.kind != Kind::starred && v.kind != Kind::element) return false;
    return std::ranges::any_of(v.operands, [&](ValueId asked) {
      if (asked == kNone) return false;
      const Value& a = g_[asked];
      if (const auto writer = g_.writers.find(asked); writer != g_.writers.end()) {
        return any_read(id, [&](const Read& r) { return storage_.places_of(r.value).shared(); });
      }
      const bool lazy = (a.kind == Kind::opaque && a.text == kGenerator) ||
                        (a.kind == Kind::call && maps(g_[a.operands[0]].text));
      return lazy && reaches_a_read(id, asked);
    });
  }

  static bool maps(std::string_view function) { return function == "map" || function == "filter"; }

  // `self.k = y` where `self.k` is read again, or where the norm is that `norm.eps = …` changes.
  bool rebinds_a_read(const AttributeWrite& write) {
    Places stored = storage_.own_places_of(write.object);
    for (std::string& path : stored.paths) path += write.name.empty() ? "" : "." + write.name;
    return any_read(write.at, [&](const Read& r) {
      const Value& v = g_[r.value];
      const bool any = write.name.empty() || g_.properties.contains(r.value);
      if (r.evaluated && v.kind == Kind::attribute && (any || v.text == write.name)) return true;
      return overlap(stored, storage_.own_places_of(r.value));
    });
  }

  template <class Test>
  bool any_read(ValueId write, Test test) const {
    return std::ranges::any_of(reads_,
                               [&](const Read& read) { return read.at < write && test(read); });
  }

  const Graph& g_;
  const ValueId root_;
  const std::set<ValueId>& interior_;
  std::vector<Read> reads_;
  std::set<std::pair<ValueId, ValueId>> seen_;
  Storage storage_;
};

}  // namespace

bool SitePlanner::written_between(ValueId root, PlannedSite& site) const {
  std::string attribute;
  const ValueId write = Writes(g_, root, site.interior).find(attribute);
  if (write == kNone) return false;
  std::string what = !attribute.empty()             ? "a store into ." + attribute
                     : g_[write].kind == Kind::call ? "a call"
                                                    : "a write in place";
  if (std::string text = text_of_value(write); attribute.empty() && !text.empty()) {
    what += ", " + text + ",";
  }
  refuse(site, "in-place",
         what + " between its parts may change what they read; move it in front of them or behind");
  return true;
}

}  // namespace refit
