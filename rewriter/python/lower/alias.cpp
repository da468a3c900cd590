// Which values may share storage, and what a store makes uncertain: after `x[i] = v` every other
// name of x's storage means something that is not known. Entry point:
// FunctionLowering::forget_aliases.
#include <algorithm>

#include "rewriter/graph/storage.hpp"
#include "rewriter/python/lower/lowering.hpp"
#include "rewriter/text/bounds.hpp"

namespace refit::python {

namespace {

constexpr size_t kRootBound = 2048;    // a value of more roots may share storage with anything
constexpr size_t kUpdateBound = 1024;  // stores into one tensor that are followed back
bool forgotten(const Value& v) { return v.kind == Kind::opaque && v.text == kStoredElsewhere; }

}  // namespace

// What of a value's operands its storage may be, and whether it may be storage of its own.
bool FunctionLowering::sharing(ValueId id, std::vector<ValueId>& out) const {
  const Value& v = g()[id];
  switch (v.kind) {
    case Kind::index:
    case Kind::element:
    case Kind::update:
      out.push_back(v.operands[0]);
      return false;
    case Kind::phi:
      out.push_back(v.operands[1]);
      out.push_back(v.operands[2]);
      return false;
    case Kind::op:
      if (v.op->view && !v.operands.empty()) {
        out.push_back(v.operands[0]);
        return false;
      }
      if (ValueId written = written_by(g(), id); written != kNone) {
        out.push_back(written);
        return false;
      }
      return true;
    case Kind::attribute:  // `x.data`, `x.T`; the parts of one's own object are apart
      if (g()[v.operands[0]].kind != Kind::parameter || g()[v.operands[0]].text != "self") {
        out.push_back(v.operands[0]);
      }
      return true;
    case Kind::opaque:
    case Kind::call:
    case Kind::tuple:
    case Kind::list:
      out = v.operands;
      return !forgotten(v);  // that one is its operand's storage and no other
    case Kind::literal:
    case Kind::symbol:
      return false;
    default:
      return true;
  }
}

// The roots of a value, worked out once; an explicit stack, since chains are as long as functions.
const FunctionLowering::Roots& FunctionLowering::roots(ValueId start) {
  if (roots_.size() < g().values.size()) roots_.resize(g().values.size());
  std::vector<ValueId> work{start}, operands;
  while (!work.empty()) {
    ValueId id = work.back();
    if (roots_[id].known) {
      work.pop_back();
      continue;
    }
    operands.clear();
    bool itself = sharing(id, operands);
    bool ready = true;
    for (ValueId operand : operands) {
      if (operand == kNone || operand == id || roots_[operand].known) continue;
      work.push_back(operand);
      ready = false;
    }
    if (!ready) continue;
    work.pop_back();
    Roots out;
    out.known = true;
    out.forgotten = forgotten(g()[id]);
    std::vector<ValueId> merged;
    for (ValueId operand : operands) {
      if (operand == kNone || operand == id) continue;
      const Roots& other = roots_[operand];
      out.forgotten = out.forgotten || other.forgotten;
      out.unbounded = out.unbounded || other.unbounded;
      if (operands.size() == 1 && !itself) out.ids = other.ids;
      if (out.ids != nullptr || out.unbounded) break;
      merged.insert(merged.end(), other.ids->begin(), other.ids->end());
      out.unbounded = merged.size() > 16 * kRootBound;
      if (out.unbounded) reached(Bound::storage_roots, g()[id].range.begin);
    }
    if (out.ids == nullptr) {
      if (itself) merged.push_back(id);
      std::ranges::sort(merged);
      merged.erase(std::unique(merged.begin(), merged.end()), merged.end());
      if (!out.unbounded && merged.size() > kRootBound) {
        reached(Bound::storage_roots, g()[id].range.begin);
        out.unbounded = true;
      }
      if (out.unbounded) merged.clear();
      out.ids = std::make_shared<const std::vector<ValueId>>(std::move(merged));
    }
    roots_[id] = std::move(out);
  }
  return roots_[start];
}

bool FunctionLowering::may_alias(ValueId a, ValueId b) {
  roots(a);
  const Roots rb = roots(b);
  const Roots& ra = roots_[a];
  if (ra.unbounded || rb.unbounded) return true;
  auto x = ra.ids->begin();
  auto y = rb.ids->begin();
  while (x != ra.ids->end() && y != rb.ids->end()) {
    if (*x == *y) return true;
    if (*x < *y) {
      ++x;
    } else {
      ++y;
    }
  }
  return false;
}

bool FunctionLowering::fresh(ValueId id) {
  const Roots& r = roots(id);
  if (r.forgotten || r.unbounded) return false;
  return std::ranges::all_of(*r.ids, [&](ValueId root) {
    const Value& v = g()[root];
    return v.kind == Kind::op && v.op->pure && !v.op->view;
  });
}

// Whether anything but arithmetic has seen the value: a call, a container, an attribute.
bool FunctionLowering::escaped(ValueId id) {
  seen_.resize(g().values.size(), false);
  for (; seen_up_to_ < g().values.size(); ++seen_up_to_) {
    const Value& v = g()[static_cast<ValueId>(seen_up_to_)];
    if (v.kind != Kind::call && v.kind != Kind::opaque && v.kind != Kind::tuple &&
        v.kind != Kind::list && !(v.kind == Kind::op && v.op->view)) {
      continue;
    }
    for (ValueId operand : v.operands) {
      if (operand != kNone) mark_seen(operand);
    }
  }
  size_t steps = 0;
  for (ValueId at = id; at != kNone; ++steps) {
    if (seen_[at]) return true;
    if (steps > kUpdateBound) {
      reached(Bound::store_chain, g()[id].range.begin);
      return true;
    }
    at = g()[at].kind == Kind::update ? g()[at].operands[0] : kNone;
  }
  return false;
}

// Whether a tuple or a list that is written out still holds what it was written with: nothing has
// seen the list that could put in or take out an item.
bool FunctionLowering::keeps_items(ValueId sequence) {
  if (g()[sequence].kind == Kind::tuple) return true;
  if (g()[sequence].kind != Kind::list || escaped(sequence)) return false;
  for (auto id = sequence + 1; id < g().values.size(); ++id) {
    const Value& v = g()[id];
    if (v.kind == Kind::attribute && v.operands[0] == sequence) return false;
  }
  return true;
}

void FunctionLowering::use_in(StatementId statement, ValueId id) {
  if (id == kNone) return;
  g().statements[statement].uses.push_back(id);
  mark_seen(id);
}

void FunctionLowering::mark_seen(ValueId id) {
  if (seen_.size() <= id) seen_.resize(id + 1, false);
  if (seen_[id]) return;
  seen_[id] = true;
  seen_log_.push_back(id);
}

// Values from `values` on were taken back, with the marks made since the log had `marks` entries.
void FunctionLowering::take_back(size_t values, size_t marks) {
  g().values.resize(values);
  while (seen_log_.size() > marks) {
    seen_[seen_log_.back()] = false;
    seen_log_.pop_back();
  }
  if (roots_.size() > values) roots_.resize(values);
  std::erase_if(outer_, [&](const auto& name) { return name.second >= values; });
  std::erase_if(unsettled_, [&](ValueId id) { return id >= values; });
  seen_up_to_ = std::min(seen_up_to_, values);
}

// Keeps, by root, the names that are bound to a value of that root.
void FunctionLowering::note_binding(uint32_t name) {
  if (!aliases_noted_ || env_[name] == kNone) return;
  ValueId value = g().definitions[env_[name]].value;
  const Roots& r = roots(value);
  if (r.unbounded) {
    names_of_many_.insert(name);
    return;
  }
  for (ValueId root : *r.ids) names_of_root_[root].insert(name);
  if (r.ids->empty()) names_of_root_[value].insert(name);
}

// After a store into `stored`, other names of the same storage no longer mean what they did.
void FunctionLowering::forget_aliases(ValueId stored, std::string_view except) {
  if (!aliases_noted_) {  // most functions store nothing
    aliases_noted_ = true;
    for (uint32_t name = 0; name < env_.size(); ++name) note_binding(name);
  }
  const Roots r = roots(stored);
  std::set<uint32_t> candidates = names_of_many_;
  if (r.unbounded) {
    for (uint32_t name = 0; name < env_.size(); ++name) candidates.insert(name);
  } else {
    auto take = [&](ValueId root) {
      auto found = names_of_root_.find(root);
      if (found == names_of_root_.end()) return;
      std::erase_if(found->second, [&](uint32_t name) {  // bound to something else since
        ValueId value = env_[name] == kNone ? kNone : g().definitions[env_[name]].value;
        if (value == kNone) return true;
        const Roots& other = roots(value);
        return value != root && !other.unbounded &&
               !std::binary_search(other.ids->begin(), other.ids->end(), root);
      });
      candidates.insert(found->second.begin(), found->second.end());
    };
    for (ValueId root : *r.ids) take(root);
    if (r.ids->empty()) take(stored);
  }
  for (uint32_t name : candidates) {
    if (env_[name] == kNone || g().names[name] == except) continue;
    ValueId value = g().definitions[env_[name]].value;
    Kind kind = g()[value].kind;
    if (kind == Kind::symbol || kind == Kind::function || kind == Kind::literal) continue;
    if (value != stored && !may_alias(value, stored)) continue;
    Value changed;
    changed.kind = Kind::opaque;
    changed.text = kStoredElsewhere;
    changed.operands = {value};
    changed.statement = current_;
    std::string text = g().names[name];
    bind(text, g().add(std::move(changed)));
  }
}

}  // namespace refit::python
