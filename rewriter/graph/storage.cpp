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

class Finder {
 public:
  Finder(const Graph& g, CallResults calls) : g_(g), calls_(calls) {}

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
      case Kind::symbol:
      case Kind::function:
      case Kind::slice:
        return;
      case Kind::parameter:
      case Kind::unknown:
        out_.paths.push_back((v.text.empty() ? own(part.id) : v.text) + part.behind);
        return;
      case Kind::attribute:
        if (std::ranges::find(kNoStorage, v.text) == kNoStorage.end()) {
          work_.push_back({v.operands[0], fmt::format(".{}{}", v.text, part.behind)});
        }
        return;
      case Kind::index:
        work_.push_back({v.operands[0], entry(v.operands[1]) + part.behind});
        return;
      case Kind::element:
      case Kind::update:
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
        if (calls_ == CallResults::are_fresh || g_.instances.contains(part.id)) {
          out_.paths.push_back(own(part.id) + part.behind);
          return;
        }
        [[fallthrough]];
      default:
        out_.paths.push_back(own(part.id) + part.behind);
        for (const ValueId operand : v.operands) work_.push_back({operand, ""});
    }
  }

  void operation(const Part& part, const Value& v) {
    if (const ValueId written = written_by(g_, part.id); written != kNone) {
      work_.push_back({written, part.behind});
    } else if (v.op->view && !v.operands.empty()) {
      work_.push_back({v.operands[0], part.behind});
    } else {
      out_.paths.push_back(own(part.id) + part.behind);
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
  const CallResults calls_;
  std::vector<Part> work_;
  Places out_;
};

bool starts(std::string_view path, std::string_view with) {
  return path.starts_with(with) && (path.size() == with.size() || path[with.size()] == '.');
}

bool is_literal(const Value& v, Literal::Kind kind) {
  return v.kind == Kind::literal && v.literal.kind == kind;
}

}  // namespace

Places places_of(const Graph& g, ValueId id, CallResults calls) { return Finder(g, calls).run(id); }

bool overlap(const Places& written, const Places& read) {
  if (written.unknown || read.unknown) return true;
  return std::ranges::any_of(written.paths, [&](const std::string& w) {
    return std::ranges::any_of(read.paths,
                               [&](const std::string& r) { return starts(w, r) || starts(r, w); });
  });
}

ValueId written_by(const Graph& g, ValueId id) {
  const Value& v = g[id];
  if (v.kind == Kind::call) {
    const Value& callee = g[v.operands[0]];
    const bool writes = callee.kind == Kind::attribute && callee.text.ends_with("_") &&
                        !callee.text.starts_with("_");
    return writes ? callee.operands[0] : kNone;
  }
  if (v.kind != Kind::op) return kNone;
  if (v.op->in_place && !v.operands.empty()) return v.operands[0];
  const auto& parameters = parameters_of(v);
  for (size_t i = 0; i < parameters.size() && i < v.operands.size(); ++i) {
    if (v.operands[i] == kNone) continue;
    const Value& given = g[v.operands[i]];
    if (parameters[i].name == "inplace" && !v.op->is_class &&
        !(is_literal(given, Literal::Kind::boolean) && !given.literal.boolean)) {
      return v.operands[0];
    }
    if (parameters[i].name == "out" && !is_literal(given, Literal::Kind::none)) {
      return v.operands[i];
    }
  }
  return kNone;
}

}  // namespace refit
