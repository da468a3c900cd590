// Places, followed from a value through views, entries and attributes to what they are parts of.
// See storage.hpp.
#include "rewriter/graph/storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace refit {

namespace {

constexpr size_t kPaths = 32;  // a value of more places may lie anywhere
constexpr size_t kSteps = 4096;

// Attributes that say something of a tensor and hold none.
constexpr std::array<std::string_view, 6> kNoStorage = {"shape", "dtype",   "device",
                                                        "ndim",  "is_cuda", "training"};

// Dictionaries in which an object keeps its attributes.
constexpr std::array<std::string_view, 4> kAttributeTables = {"_buffers", "_parameters", "_modules",
                                                              "__dict__"};

// What a parameter's declaration shows it to be.
bool holds_number(const Literal& literal) {
  return literal.kind == Literal::Kind::integer || literal.kind == Literal::Kind::real ||
         literal.kind == Literal::Kind::boolean;
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
        if (std::ranges::find(kNoStorage, v.text) == kNoStorage.end() &&
            !g_.numbers.contains(part.id)) {
          work_.push_back({v.operands[0], fmt::format(".{}{}", v.text, part.behind)});
        }
        return;
      case Kind::index:
        index(part, v);
        return;
      case Kind::update:
        if (keeps_object(g_, v)) work_.push_back({v.operands[2], ""});
        [[fallthrough]];
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
        if (g_.instances.contains(part.id)) {  // what a layer gives is its own
          add_own(part);
          return;
        }
        // What else is called may give what it is given, or a part of the object it belongs to.
        if (const Value& callee = g_[v.operands[0]]; callee.kind == Kind::attribute) {
          work_.push_back({callee.operands[0], ""});
        }
        out_.other = true;
        out_.paths.push_back(own(part.id) + part.behind);
        for (size_t i = 1; i < v.operands.size(); ++i) work_.push_back({v.operands[i], ""});
        return;
      case Kind::opaque:
        out_.other = true;
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

  // Whether something else may hold a value, or a view of it: a container, an attribute, unknown
  // code that was handed it.
  bool escapes(ValueId start) const {
    std::vector<ValueId> work{start};
    for (size_t steps = 0; !work.empty(); ++steps) {
      const ValueId id = work.back();
      work.pop_back();
      if (steps > kSteps || stored(id)) return true;
      for (const ValueId user : g_.users(id)) {
        const Value& v = g_[user];
        const bool first = !v.operands.empty() && v.operands[0] == id;
        if (v.kind == Kind::op ? first && v.op->view : keeps(user, id)) {
          if (v.kind == Kind::call || (v.kind == Kind::update && !first)) return true;
          work.push_back(user);
        }
      }
    }
    return false;
  }

  // Whether a value that is no operation may hold its operand.
  bool keeps(ValueId user, ValueId operand) const {
    const Value& v = g_[user];
    switch (v.kind) {
      case Kind::call:
        return v.operands[0] != operand && !g_.instances.contains(user) &&
               !g_.readers.contains(user);
      case Kind::attribute:
        return std::ranges::find(kNoStorage, v.text) == kNoStorage.end();
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
  void index(const Part& part, const Value& v) {
    const Value& container = g_[v.operands[0]];
    const std::string name = entry(v.operands[1]);
    if (container.kind == Kind::attribute && !name.empty() &&
        std::ranges::find(kAttributeTables, container.text) != kAttributeTables.end()) {
      const std::string_view own = std::string_view(name).substr(2, name.size() - 3);
      work_.push_back({container.operands[0], fmt::format(".{}{}", own, part.behind)});
    } else {
      work_.push_back({v.operands[0], name + part.behind});
    }
  }

  void operation(const Part& part, const Value& v) {
    if (const ValueId written = written_by(g_, part.id); written != kNone) {
      work_.push_back({written, part.behind});
    } else if (v.op->view && !v.operands.empty()) {
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

bool is_literal(const Value& v, Literal::Kind kind) {
  return v.kind == Kind::literal && v.literal.kind == kind;
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
  const ValueId index = store.operands[1];
  if (index == kNone) return true;
  const Kind kind = g[index].kind;
  return kind != Kind::slice && kind != Kind::tuple;
}

Places places_of(const Graph& g, ValueId id) { return Finder(g).run(id); }

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
