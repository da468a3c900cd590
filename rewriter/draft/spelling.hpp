// A value as a rule writes it: qualified names, every operation that the catalogue knows as a call
// or with its operator, parameters as holes. Entry point: RuleSpelling.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/language/frontend.hpp"
#include "rewriter/text/expected.hpp"

namespace refit {

// The holes that stand for what a computation is given: parameters, attributes of `self`, and what
// is computed before in a way that no pattern can say. Both versions of a function share them.
class Holes {
 public:
  // The name of the hole for `what`, which tells it from others; a new one, like `name`, where
  // there is none yet.
  std::string name_of(const std::string& what, std::string name);
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> what_, names_;
};

class RuleSpelling {
 public:
  RuleSpelling(const Unit& unit, const Graph& graph, const Frontend& frontend, Holes& holes)
      : unit_(unit), graph_(graph), frontend_(frontend), holes_(holes) {}

  Expected<std::string> value(ValueId id);

  // Of all that was written, each once, in order.
  const std::vector<std::string>& constants() const { return constants_; }
  const std::vector<const Operation*>& operations() const { return operations_; }

 private:
  Expected<std::string> written(ValueId id, int depth);
  Expected<std::string> operation(const Value& value, int depth);
  Expected<std::string> call(const Value& value, int depth);
  Expected<std::string> joined(const std::vector<ValueId>& parts, int depth);
  Expected<std::string> symbol(const Value& value) const;
  Expected<std::string> bare(ValueId id, int depth);

  // A hole for what no pattern can say and a name stands for; fails where it has no name.
  Expected<std::string> named(ValueId id);
  tl::unexpected<Error> unsaid(ValueId id) const;

  const Unit& unit_;
  const Graph& graph_;
  const Frontend& frontend_;
  Holes& holes_;
  int parts_ = 0;  // that were written, each as often as it stands
  std::vector<std::string> constants_;
  std::vector<const Operation*> operations_;
};

// Whether an operation is written with an operator.
bool is_operator(const Operation& operation);

}  // namespace refit
