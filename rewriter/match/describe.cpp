// See describe.hpp.
#include "rewriter/match/describe.hpp"

#include <fmt/format.h>

#include <map>

#include "rewriter/match/facts.hpp"

namespace refit {

namespace {

std::string quoted(const std::string& text) { return "`" + text + "`"; }

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

std::string spelt(const Literal& literal) {
  if (literal.kind == Literal::Kind::none) return "None";
  if (literal.kind == Literal::Kind::boolean) return literal.boolean ? "True" : "False";
  return to_string(literal);
}

std::string values_of(const Where& clause) {
  std::vector<std::string> out;
  for (const Literal& value : clause.values) out.push_back(spelt(value));
  return joined(out);
}

std::string any_of(const Where& clause) {
  std::string out;
  for (size_t i = 0; i < clause.values.size(); ++i) {
    if (i > 0) out += i + 1 == clause.values.size() ? " or " : ", ";
    out += spelt(clause.values[i]);
  }
  return out;
}

// What the clause says of the arguments `names`.
std::string wanted(const Where& clause, const std::string& names) {
  static const std::map<std::string_view, std::string_view> kPlain = {
      {"inference_zero", "is zero at inference"},
      {"absent", "is not passed"},
      {"present", "is passed"},
      {"simple", "is a name or an attribute"},
      {"literal", "is written as a literal"},
      {"last_dim", "is the last dimension"},
      {"attribute", "is an attribute of an object"},
      {"number", "is a number"},
      {"scalar", "is shown to be a number"},
      {"one_size", "is one size"},
      {"not_sequence", "is no tuple or list"},
      {"tensor_or_none", "is shown to be a tensor or None"},
      {"no_object", "is not made by a class"},
      {"not_cast", "is not cast to another type"},
      {"training_flag", "is `self.training`"},
      {"may_be_floating", "may be floating"},
      {"over_last_axis", "is over the last axis"}};
  auto plain = kPlain.find(clause.kind);
  if (plain != kPlain.end()) return names + " " + std::string(plain->second);
  if (clause.kind == "is") return names + " is " + values_of(clause);
  if (clause.kind == "is_not") return names + " is not " + values_of(clause);
  if (clause.kind == "rank") return names + " has " + std::to_string(clause.number) + " dimensions";
  if (clause.kind == "computed_from") return names + " is computed by " + any_of(clause);
  if (clause.kind.starts_with("instance")) {
    return names + " is shown to be an instance of " + any_of(clause);
  }
  if (clause.kind == "dtype") return names + " holds " + values_of(clause);
  if (clause.kind == "not_within") return "no `with` on, nor decorator, " + values_of(clause);
  if (clause.kind == "outside") return "the file is outside " + values_of(clause);
  if (clause.kind == "not_in_tree") return "no file contains " + values_of(clause);
  std::string out = clause.kind;
  if (!names.empty()) out += " of " + names;
  if (!clause.values.empty()) out += ": " + values_of(clause);
  return out;
}

// Whether a clause asks what an attribute holds, which a store or a hook in another file hides.
bool asks_for_object(const Where& clause) {
  return clause.kind.starts_with("instance") || clause.kind == "over_last_axis" ||
         clause.kind == "scalar" || clause.kind == "number";
}

std::string found(const Where& clause, const SiteView& site, const Argument& a) {
  if (a.value == kNone) {
    return a.default_value ? "it is not passed, and " + spelt(*a.default_value) + " is the default"
                           : "it is not passed";
  }
  std::string text = site.text ? site.text(a.value) : "";
  std::string rank;
  if (auto r = rank_of(*site.graph, a.value)) rank = " of " + std::to_string(*r) + " dimensions";
  std::string stored;
  if (site.attribute && asks_for_object(clause)) {
    if (const auto [file, line] = site.attribute(a.value).stored_at; !file.empty()) {
      stored =
          fmt::format(", which {}:{} may exchange or hook; where that does not run, --exclude {}",
                      file, line, file);
    }
  }
  return "found " + (text.empty() ? dump(*site.graph, a.value, 3) : text) + rank + stored;
}

}  // namespace

std::string describe(const Where& clause, const SiteView& site) {
  for (const std::string& name : clause.of) {
    Where one = clause;
    one.of = {name};
    if (holds(one, site)) continue;
    return wanted(clause, quoted(name)) + "; " + found(clause, site, site.argument(name));
  }
  std::vector<std::string> names;
  for (const std::string& name : clause.of) names.push_back(quoted(name));
  return wanted(clause, joined(names));
}

}  // namespace refit
