// Writes in place between the reads of a recognised computation and the place where the new call
// reads: what the call is given must not change there. Entry point: SitePlanner::written_between.
#include <algorithm>

#include "rewriter/graph/storage.hpp"
#include "rewriter/plan/site/site_planner.hpp"

namespace refit {

namespace {

// What a site reads, and the value whose computation reads it first.
struct Read {
  ValueId value, at;
};

class Writes {
 public:
  Writes(const Graph& g, ValueId root, const std::set<ValueId>& interior)
      : g_(g), root_(root), interior_(interior) {}

  // The write that may change one of some values behind its first read; kNone where none may.
  // `attribute` is set to the name of an attribute that is stored there, if that is the write.
  ValueId find(const std::vector<ValueId>& kept, std::string& attribute) {
    for (const ValueId k : kept) add_reads(k);
    if (reads_.empty()) return kNone;
    const ValueId first = std::ranges::min(reads_, {}, &Read::at).at;
    for (ValueId id = first + 1; id < root_; ++id) {
      if (!interior_.contains(id) && changes_a_read(id)) return id;
    }
    for (const AttributeWrite& write : g_.attribute_writes) {
      if (write.at <= first || write.at > root_) continue;
      Places stored = places_of(g_, write.object, CallResults::may_be_operands);
      for (std::string& path : stored.paths) path += "." + write.name;
      if (reaches(write.at, stored, CallResults::may_be_operands)) {
        attribute = write.name;
        return write.object;
      }
    }
    return kNone;
  }

 private:
  // A name keeps its value; an expression without one is written into the new call, with all that
  // it reads.
  void add_reads(ValueId kept) {
    if (kept == kNone) return;
    for (const ValueId part : interior_) {
      if (part == kNone || std::ranges::find(g_[part].operands, kept) == g_[part].operands.end())
        continue;
      reads_.push_back({kept, part});
      break;
    }
    std::vector<ValueId> work{kept};
    while (!work.empty()) {
      const ValueId id = work.back();
      work.pop_back();
      const Kind kind = g_[id].kind;
      const bool expression = kind == Kind::op || kind == Kind::index || kind == Kind::attribute ||
                              kind == Kind::slice || kind == Kind::tuple || kind == Kind::list;
      if (!expression || !g_.definitions_of(id).empty()) continue;
      // Of `self.cache` and `cache["k"]` the object and the dictionary are not read themselves.
      const bool part = kind == Kind::attribute || is_entry(g_[id]);
      for (const ValueId operand : g_[id].operands) {
        if (operand == kNone) continue;
        if (!part) reads_.push_back({operand, id});
        work.push_back(operand);
      }
    }
  }

  bool is_entry(const Value& v) const {
    if (v.kind != Kind::index || v.operands[1] == kNone) return false;
    const Value& index = g_[v.operands[1]];
    return index.kind == Kind::literal && index.literal.kind == Literal::Kind::string;
  }

  bool changes_a_read(ValueId id) {
    const Value& v = g_[id];
    ValueId written = v.kind == Kind::update ? v.operands[0] : written_by(g_, id);
    if (g_.in_place.contains(id) && !v.operands.empty()) written = v.operands[0];
    if (written != kNone) {
      return reaches(id, places_of(g_, written, CallResults::may_be_operands),
                     CallResults::may_be_operands);
    }
    if (v.kind != Kind::call || g_.instances.contains(id) || g_.readers.contains(id)) return false;
    // Unknown code writes to what it is handed itself.
    return std::any_of(v.operands.begin() + 1, v.operands.end(), [&](ValueId given) {
      if (given == kNone || g_[given].kind != Kind::attribute) return false;
      return reaches(id, places_of(g_, given, CallResults::are_fresh), CallResults::are_fresh);
    });
  }

  bool reaches(ValueId write, const Places& written, CallResults calls) const {
    return std::ranges::any_of(reads_, [&](const Read& read) {
      return read.at < write && overlap(written, places_of(g_, read.value, calls));
    });
  }

  const Graph& g_;
  const ValueId root_;
  const std::set<ValueId>& interior_;
  std::vector<Read> reads_;
};

}  // namespace

bool SitePlanner::written_between(ValueId root, PlannedSite& site,
                                  const std::vector<ValueId>& kept) const {
  std::string attribute;
  const ValueId write = Writes(g_, root, site.interior).find(kept, attribute);
  if (write == kNone) return false;
  std::string what = attribute.empty() ? "a write in place" : "a store into ." + attribute;
  if (std::string text = text_of_value(write); attribute.empty() && !text.empty()) {
    what += ", " + text + ",";
  }
  refuse(site, "in-place",
         what + " between its parts may change what they read; move it in front of them or behind");
  return true;
}

}  // namespace refit
