// Places, followed from a value through views, entries and attributes to what they are parts of,
// and from lists, dictionaries and other objects to what was put into them. See storage.hpp.
#include "rewriter/graph/storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace refit {

namespace {

constexpr size_t kPaths = 32;  // a value of more places may lie anywhere
constexpr size_t kSteps = 4096;
constexpr int kKindDepth = 8;  // of a value that is looked at for what it is

constexpr std::array<std::string_view, 6> kNoStorage = {"shape", "dtype",   "device",
                                                        "ndim",  "is_cuda", "training"};

// Dictionaries in which an object keeps its attributes.
constexpr std::array<std::string_view, 4> kAttributeTables = {"_buffers", "_parameters", "_modules",
                                                              "__dict__"};

// Methods of lists and dictionaries that change which object an entry is.
constexpr std::array<std::string_view, 16> kEntryMethods = {
    "append",  "extend", "insert", "pop",        "popitem", "remove",     "clear",   "sort",
    "reverse", "update", "rotate", "setdefault", "add",     "appendleft", "popleft", "extendleft"};

// Whether a function of Python gives a list, a tuple or a dictionary.
bool gives_sequence(std::string_view function) {
  static constexpr std::array<std::string_view, 9> kFunctions = {
      "list", "tuple", "dict", "sorted", "reversed", "zip", "deque", "OrderedDict", "defaultdict"};
  return std::ranges::find(kFunctions, function.substr(function.rfind('.') + 1)) !=
         kFunctions.end();
}

// What a parameter's declaration shows it to be.
bool holds_number(const Literal& literal) {
  return literal.kind == Literal::Kind::integer || literal.kind == Literal::Kind::real ||
         literal.kind == Literal::Kind::boolean;
}

bool is_literal(const Value& v, Literal::Kind kind) {
  return v.kind == Kind::literal && v.literal.kind == kind;
}

// Whether an opaque value is a display of Python's that makes a list, a dictionary or a set.
bool makes_holder(const Value& v) {
  return v.text == "comprehension" || v.text == kGenerator || v.text == "dictionary" ||
         v.text == "set";
}

bool is_slice(const Graph& g, ValueId index) {
  return index != kNone && (g[index].kind == Kind::slice || g[index].kind == Kind::tuple);
}

// The values of which a value is one, or which it is with something changed.
std::vector<ValueId> is_one_of(const Graph& g, ValueId id) {
  const Value& v = g[id];
  switch (v.kind) {
    case Kind::phi:
      return {v.operands[1], v.operands[2]};
    case Kind::update:
      return {v.operands[0]};
    case Kind::index:
      return is_slice(g, v.operands[1]) ? std::vector{v.operands[0]} : std::vector<ValueId>{};
    case Kind::op:
      return v.op->joins || v.op->one_of ? v.operands : std::vector<ValueId>{};
    case Kind::opaque: {
      const bool name = v.text == kStoredElsewhere || v.text.starts_with(kInLoop) ||
                        v.text.starts_with(kAfterLoop);
      return name ? v.operands : std::vector<ValueId>{};
    }
    default:
      return {};
  }
}

template <class Test>
bool any_of_these(const Graph& g, ValueId id, int depth, Test test) {
  return depth < kKindDepth &&
         std::ranges::any_of(
             is_one_of(g, id),
             [&](ValueId part) { return part != kNone && test(g, part, depth + 1); });
}

// Whether a value is shown to be a list, a tuple or a dictionary.
bool shows_sequence(const Graph& g, ValueId id, int depth = 0) {
  const Value& v = g[id];
  if (v.kind == Kind::list || v.kind == Kind::tuple) return true;
  if (v.kind == Kind::op && v.op->axes == AxisKind::split) return true;
  if (v.kind == Kind::opaque && makes_holder(v)) return true;
  if (v.kind == Kind::call && gives_sequence(g[v.operands[0]].text)) return true;
  const bool asked = std::ranges::any_of(g.users(id), [&](ValueId user) {
    const Value& u = g[user];
    return u.kind == Kind::attribute && u.text != "sort" && changes_entries(u.text);
  });
  return asked || any_of_these(g, id, depth, shows_sequence);
}

// Whether a value is a number that may say how often a sequence is repeated.
bool may_count(const Graph& g, ValueId id) {
  const Value& v = g[id];
  if (v.kind == Kind::literal) return v.literal.kind != Literal::Kind::real;
  return v.kind == Kind::parameter
             ? v.literal.kind != Literal::Kind::real && holds_number(v.literal)
             : g.numbers.contains(id);
}

// Whether a value is shown to be a tensor or a number.
bool shows_tensor(const Graph& g, ValueId id, int depth = 0) {
  const Value& v = g[id];
  if (v.kind == Kind::op && v.op->autocast == Autocast::follows) return true;
  if (v.kind == Kind::op && !v.op->joins && !v.op->one_of) return v.op->axes != AxisKind::split;
  if (v.kind == Kind::literal) return holds_number(v.literal);
  if (g.instances.contains(id) || g.numbers.contains(id) || g.own_storage.contains(id)) return true;
  if (v.kind == Kind::parameter && (holds_number(v.literal) || v.literal.text == "torch.Tensor")) {
    return true;
  }
  const bool computed = std::ranges::any_of(g.users(id), [&](ValueId user) {
    const Value& u = g[user];
    if (u.kind == Kind::attribute) return holds_no_storage(u.text);
    if (u.kind == Kind::index) {
      const ValueId at = u.operands[1];
      return u.operands[0] == id && at != kNone && g[at].kind == Kind::tuple;
    }
    if (u.kind != Kind::op) return false;
    return u.op->autocast == Autocast::follows ||
           (!u.op->joins && !u.op->one_of && u.op->axes != AxisKind::opaque &&
            u.op->axes != AxisKind::concat && u.op->axes != AxisKind::pattern);
  });
  // `many * 2` may be a list.
  const bool repeats = v.kind == Kind::op && v.op->repeats;
  return computed || any_of_these(g, id, depth, [&](const Graph&, ValueId part, int deeper) {
           return !(repeats && may_count(g, part)) && shows_tensor(g, part, deeper);
         });
}

// Whether a sum is one of lists or tuples, or a union one of dictionaries: something shows that, or
// nothing shows that its operands are tensors or numbers.
bool joins_sequences(const Graph& g, ValueId id) {
  return shows_sequence(g, id) || !shows_tensor(g, id);
}

class Finder {
 public:
  explicit Finder(const Graph& g) : g_(g) {}

  Places run(ValueId id) {
    work_.push_back({id, ""});
    for (size_t steps = 0; !work_.empty() && !out_.unknown; ++steps) {
      const Part part = std::move(work_.back());
      work_.pop_back();
      follow(part);
      out_.unknown = steps > kSteps || out_.paths.size() > kPaths;
    }
    std::ranges::sort(out_.paths);
    out_.paths.erase(std::unique(out_.paths.begin(), out_.paths.end()), out_.paths.end());
    return std::move(out_);
  }

 private:
  // A value, and the path of the part of it that is meant.
  struct Part {
    ValueId id;
    std::string behind;
  };

  void follow(const Part& part) {
    if (part.id == kNone) return;
    const Value& v = g_[part.id];
    switch (v.kind) {
      case Kind::literal:
      case Kind::function:
      case Kind::slice:
        return;
      case Kind::parameter:
        if (holds_number(v.literal)) return;
        [[fallthrough]];
      case Kind::unknown:
      case Kind::symbol:
        out_.paths.push_back((v.text.empty() ? own(part.id) : v.text) + part.behind);
        (v.kind == Kind::parameter && part.behind.empty() ? out_.given : out_.other) = true;
        return;
      case Kind::attribute:
        if (g_.own_storage.contains(part.id)) {
          out_.paths.push_back(fmt::format("{}.{}{}", g_[v.operands[0]].text, v.text, part.behind));
          out_.own = true;
          return;
        }
        if (g_.properties.contains(part.id)) {  // anything that its object holds
          out_.other = true;
          work_.push_back({v.operands[0], ""});
        } else if (object_of_table(g_, part.id) != kNone) {
          table(v.operands[0], part.behind);
        } else if (!holds_no_storage(v.text) && !g_.numbers.contains(part.id)) {
          work_.push_back({v.operands[0], fmt::format(".{}{}", v.text, part.behind)});
        }
        return;
      case Kind::index:
        work_.push_back({v.operands[0], entry(v.operands[1]) + part.behind});
        return;
      case Kind::update:
      case Kind::element:
      case Kind::starred:
        work_.push_back({v.operands[0], part.behind});
        return;
      case Kind::phi:
        work_.push_back({v.operands[1], part.behind});
        work_.push_back({v.operands[2], part.behind});
        return;
      case Kind::op:
        operation(part, v);
        return;
      case Kind::call:
        if (const auto layer = g_.instances.find(part.id); layer != g_.instances.end()) {
          // What a layer gives is its own, unless it hands its operand on, as a dropout does.
          add_own(part);
          if (std::ranges::any_of(layer->second, &Operation::view) && v.operands.size() > 1) {
            work_.push_back({v.operands[1], part.behind});
          }
          return;
        }
        // What else is called may give what it is given, or a part of the object it belongs to.
        if (const Value& callee = g_[v.operands[0]];
            callee.kind == Kind::attribute || callee.kind == Kind::index) {
          work_.push_back({callee.operands[0], ""});
        }
        out_.other = true;
        out_.paths.push_back(own(part.id) + part.behind);
        for (size_t i = 1; i < v.operands.size(); ++i) work_.push_back({v.operands[i], ""});
        return;
      case Kind::opaque:
        out_.other = out_.other || !makes_holder(v);
        [[fallthrough]];
      default:
        add_own(part);
        for (const ValueId operand : v.operands) work_.push_back({operand, ""});
    }
  }

  void add_own(const Part& part) {
    out_.paths.push_back(own(part.id) + part.behind);
    out_.other = out_.other || escapes(part.id);
  }

  // Whether something else may hold a value, or a view of it: a container, an attribute, a function
  // inside this one, unknown code that was handed it.
  bool escapes(ValueId start) const {
    std::vector<ValueId> work{start};
    for (size_t steps = 0; !work.empty(); ++steps) {
      const ValueId id = work.back();
      work.pop_back();
      if (steps > kSteps || stored(id) || g_.captured.contains(id)) return true;
      for (const ValueId user : g_.users(id)) {
        const Value& v = g_[user];
        const bool first = !v.operands.empty() && v.operands[0] == id;
        if (v.kind == Kind::op ? first && v.op->view : keeps(user, id)) {
          ValueId holder = user;
          if (v.kind == Kind::update && !first) holder = v.operands[0];
          if (v.kind == Kind::call) {
            const Value& callee = g_[v.operands[0]];
            if (callee.kind != Kind::attribute || !changes_entries(callee.text)) return true;
            holder = callee.operands[0];
          }
          if (holder != user && !made_here(holder)) return true;
          work.push_back(holder);
        }
      }
    }
    return false;
  }

  // Whether a value is a list or a dictionary that the function itself makes.
  bool made_here(ValueId holder) const {
    while (g_[holder].kind == Kind::update) holder = g_[holder].operands[0];
    const Value& v = g_[holder];
    return v.kind == Kind::list || (v.kind == Kind::opaque && makes_holder(v));
  }

  // Whether a value that is no operation may hold its operand.
  bool keeps(ValueId user, ValueId operand) const {
    const Value& v = g_[user];
    switch (v.kind) {
      case Kind::call:
        return v.operands[0] != operand && !g_.instances.contains(user) &&
               !g_.readers.contains(user);
      case Kind::attribute:
        return !holds_no_storage(v.text);
      case Kind::slice:
        return false;
      default:
        return true;
    }
  }

  // Whether a statement puts a value somewhere else than into a local name.
  bool stored(ValueId id) const {
    return std::ranges::any_of(g_.statements, [&](const Statement& s) {
      return s.kind == StatementKind::other && std::ranges::find(s.uses, id) != s.uses.end();
    });
  }

  // `self._buffers["cache"]` is `self.cache`.
  void table(ValueId object, const std::string& behind) {
    constexpr std::string_view kBegin = ".[";
    const size_t end = behind.find(']');
    if (behind.starts_with(kBegin) && end != std::string::npos) {
      const std::string name = behind.substr(kBegin.size(), end - kBegin.size());
      work_.push_back({object, fmt::format(".{}{}", name, behind.substr(end + 1))});
    } else {
      work_.push_back({object, ""});
    }
  }

  void operation(const Part& part, const Value& v) {
    if (const ValueId written = written_by(g_, part.id); written != kNone) {
      work_.push_back({written, part.behind});
    } else if (v.op->view && !v.operands.empty()) {
      work_.push_back({v.operands[0], part.behind});
    } else if (v.op->one_of || (v.op->joins && joins_sequences(g_, part.id))) {
      add_own(part);
      for (size_t i = 0; i < v.operands.size(); ++i) {
        // Of a product of one factor alone the result may be a view.
        const bool factors = i < parameters_of(v).size() && parameters_of(v)[i].variadic &&
                             v.operands[i] != kNone && g_[v.operands[i]].operands.size() > 1;
        if (!factors) work_.push_back({v.operands[i], part.behind});
      }
    } else if (g_.in_place.contains(part.id) && !v.operands.empty()) {
      work_.push_back({v.operands[0], part.behind});
    } else {
      add_own(part);
    }
  }

  // An entry that a string names is a part of its container; any other index may be a view.
  std::string entry(ValueId index) const {
    if (index == kNone || g_[index].kind != Kind::literal) return "";
    const Literal& literal = g_[index].literal;
    return literal.kind == Literal::Kind::string ? fmt::format(".[{}]", literal.text) : "";
  }

  static std::string own(ValueId id) { return fmt::format("{}", id); }

  const Graph& g_;
  std::vector<Part> work_;
  Places out_;
};

bool starts(std::string_view path, std::string_view with) {
  return path.starts_with(with) && (path.size() == with.size() || path[with.size()] == '.');
}

// `copy_`, and of Python's own the methods behind `x += y` and `x[i] = y`.
bool names_a_write(std::string_view method) {
  if (!method.ends_with("__")) return method.ends_with('_');
  static constexpr std::array<std::string_view, 9> kAugmented = {
      "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__",
      "__imod__", "__ipow__", "__iand__", "__setitem__"};
  return std::ranges::find(kAugmented, method) != kAugmented.end();
}

// What an operation is given for one of its parameters.
ValueId given(const Value& v, std::string_view parameter) {
  const auto& parameters = parameters_of(v);
  for (size_t i = 0; i < parameters.size() && i < v.operands.size(); ++i) {
    if (parameters[i].name == parameter) return v.operands[i];
  }
  return kNone;
}

// `inplace=True`, or something that is not shown to be False.
bool in_place_flag(const Graph& g, const Value& v) {
  const ValueId flag = given(v, "inplace");
  return flag != kNone &&
         !(is_literal(g[flag], Literal::Kind::boolean) && !g[flag].literal.boolean);
}

}  // namespace

bool keeps_object(const Graph& g, const Value& store) {
  // Into a slice of a list go the objects that another one holds.
  return !is_slice(g, store.operands[1]) || shows_sequence(g, store.operands[2]);
}

bool holds_no_storage(std::string_view attribute) {
  return std::ranges::find(kNoStorage, attribute) != kNoStorage.end();
}

bool changes_entries(std::string_view method) {
  return std::ranges::find(kEntryMethods, method) != kEntryMethods.end();
}

ValueId object_of_table(const Graph& g, ValueId id) {
  while (g[id].kind == Kind::update) id = g[id].operands[0];
  const Value& v = g[id];
  if (v.kind == Kind::attribute) {
    const bool table = std::ranges::find(kAttributeTables, v.text) != kAttributeTables.end();
    return table ? v.operands[0] : kNone;
  }
  const bool vars =
      v.kind == Kind::call && v.operands.size() == 2 && g[v.operands[0]].text == "vars";
  return vars ? v.operands[1] : kNone;
}

const Places& Storage::own_places_of(ValueId id) {
  auto [at, fresh] = own_.try_emplace(id);
  if (fresh) at->second = Finder(g_).run(id);
  return at->second;
}

const Places& Storage::places_of(ValueId id) {
  auto [at, fresh] = all_.try_emplace(id);
  if (!fresh) return at->second;
  Places out = own_places_of(id);
  std::vector<const Put*> rest;
  for (const Put& put : puts()) rest.push_back(&put);
  for (bool more = true; more && !out.unknown;) {
    const size_t before = rest.size();
    std::erase_if(rest, [&](const Put* put) {
      if (!overlap(out, put->holder)) return false;
      const Places& put_there = own_places_of(put->value);
      out.paths.insert(out.paths.end(), put_there.paths.begin(), put_there.paths.end());
      out.unknown = out.unknown || put_there.unknown;
      out.own = out.own || put_there.own;
      out.given = out.given || put_there.given;
      out.other = out.other || put_there.other;
      return true;
    });
    more = rest.size() < before;
  }
  return at->second = std::move(out);
}

void Storage::add_put(ValueId holder, ValueId value, const std::string& behind) {
  if (value == kNone) return;
  Put put{own_places_of(holder), value};
  for (std::string& path : put.holder.paths) path += behind;
  puts_->push_back(std::move(put));
}

const std::vector<Storage::Put>& Storage::puts() {
  if (puts_) return *puts_;
  puts_.emplace();
  for (ValueId id = 0; id < g_.values.size(); ++id) {
    const Value& v = g_[id];
    if (v.kind == Kind::update) {
      if (keeps_object(g_, v)) add_put(v.operands[0], v.operands[2], "");
    } else if (v.kind == Kind::call) {
      const Value& callee = g_[v.operands[0]];
      if (callee.kind != Kind::attribute || !changes_entries(callee.text)) continue;
      for (size_t i = 1; i < v.operands.size(); ++i) add_put(callee.operands[0], v.operands[i], "");
    } else if (g_.in_place.contains(id) && v.operands.size() > 1) {
      const bool joins = v.kind == Kind::op ? v.op->joins && joins_sequences(g_, id)
                                            : !shows_tensor(g_, v.operands[0]);
      if (joins) add_put(v.operands[0], v.operands[1], "");
    }
  }
  for (const AttributeWrite& write : g_.attribute_writes) {
    add_put(write.object, write.value, write.name.empty() ? "" : "." + write.name);
  }
  return *puts_;
}

bool overlap(const Places& written, const Places& read) {
  if (written.unknown || read.unknown) return true;
  return std::ranges::any_of(written.paths, [&](const std::string& w) {
    return std::ranges::any_of(read.paths,
                               [&](const std::string& r) { return starts(w, r) || starts(r, w); });
  });
}

bool may_reach(const Places& written, const Places& read) {
  const bool elsewhere = (written.other && read.shared()) || (written.shared() && read.other) ||
                         (written.given && read.given);
  return elsewhere || overlap(written, read);
}

ValueId written_by(const Graph& g, ValueId id) {
  const Value& v = g[id];
  if (v.kind == Kind::call) {
    const Value& callee = g[v.operands[0]];
    const ValueId first = v.operands.size() > 1 ? v.operands[1] : kNone;
    if (callee.kind == Kind::op) return in_place_flag(g, callee) ? first : kNone;
    if (!names_a_write(callee.text)) return kNone;
    if (callee.kind == Kind::attribute) return callee.operands[0];
    return callee.kind == Kind::symbol ? first : kNone;
  }
  if (v.kind != Kind::op) return kNone;
  const bool writes = v.op->in_place || (!v.op->is_class && in_place_flag(g, v));
  if (writes && !v.operands.empty()) return v.operands[0];
  const ValueId out = given(v, "out");
  return out != kNone && !is_literal(g[out], Literal::Kind::none) ? out : kNone;
}

}  // namespace refit
