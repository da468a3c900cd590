// What is known about the operations of public libraries, read from rules/catalogue/*.yaml: their
// names in each language, signatures with defaults, and how an axis fares through them. The engine
// knows no operation by name; what it needs to know of one stands here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rewriter/text/expected.hpp"

namespace refit {

// A literal of a signature or a constraint, as written in the source language's notation but
// compared by value: None, True, 1, 0.5, "text", (-1, -1). Names (torch.float32) are symbols.
struct Literal {
  enum class Kind { none, boolean, integer, real, string, symbol, tuple } kind = Kind::none;
  bool boolean = false;
  int64_t integer = 0;
  double real = 0;
  std::string text{};            // string, symbol
  std::vector<Literal> items{};  // tuple
  friend bool operator==(const Literal&, const Literal&) = default;
  static Literal truth(bool value) { return {.kind = Kind::boolean, .boolean = value}; }
  static Literal whole(int64_t value) { return {.kind = Kind::integer, .integer = value}; }
  static Literal string(std::string text) {
    return {.kind = Kind::string, .text = std::move(text)};
  }
  static Literal symbol(std::string text) {
    return {.kind = Kind::symbol, .text = std::move(text)};
  }
};
// Parses the notation above ([...] is read as a tuple); fails with what was expected.
Expected<Literal> parse_literal(std::string_view text);
std::string to_string(const Literal& literal);
// Equal as values: 0 == 0.0 == False is what Python says, and also what is wanted of "off" values;
// None equals only None.
bool same_value(const Literal& a, const Literal& b);

struct Parameter {
  std::string name;
  std::vector<std::string> also;  // other names a caller may use for it: torch takes axis for dim
  std::optional<Literal> default_value;  // absent: required
  bool keyword_only = false;
  bool positional_only = false;
  bool variadic = false;          // *args: takes all further positional arguments
  bool variadic_keyword = false;  // **kwargs
};

// How an operation treats the axes of its first operand.
enum class AxisKind {
  opaque,       // nothing is known
  elementwise,  // every operand of tensor kind broadcasts; axes keep their places
  last_dim,     // works along the last axis; the others are batch (a norm, a linear layer)
  transpose,    // swaps the axes named by parameters dim0, dim1
  permute,      // permutes by the list in parameter dims
  reduce,       // reduces along parameter dim (keepdim says whether the axis stays)
  concat,       // concatenates a list along parameter dim
  split,        // splits along parameter dim into a tuple
  view,         // new shape from parameter shape / size
  unflatten,    // splits axis dim in place
  flatten,      // joins axes start_dim..end_dim
  cast,         // changes the element type only
  contiguous,   // same values, dense storage
  query,        // reads metadata (shape, dtype, device), not values
  along,        // works along the axis that parameter `axis` names; the others are batch
  pattern,      // regroups axes as the text in parameter pattern says ("b s (n d) -> b n s d")
};

// What an operation has to do with a region in which tensors are cast by themselves.
enum class Autocast : uint8_t {
  none,
  sets,    // entered by a `with`, it says how operations inside are cast
  follows  // its result's type depends on the region that it stands in
};

// The strides of a layer whose result lies as what it is called with.
inline constexpr std::string_view kAsOperand = "operand";

struct Operation {
  std::string id;  // the canonical qualified name, e.g. "torch.transpose"
  // Other qualified names for the same function ("torch.swapaxes", "torch.Tensor.transpose").
  std::vector<std::string> names;
  // Method names on a tensor that mean this operation with the receiver as first parameter.
  std::vector<std::string> methods;
  std::vector<Parameter> parameters;
  // Further signatures of the same name, to be tried in order when a call does not bind to
  // `parameters`: torch.max(input), torch.max(input, dim, keepdim), torch.max(input, other).
  std::vector<std::vector<Parameter>> overloads;
  AxisKind axes = AxisKind::opaque;
  // The parameter that names an axis of the first operand by number ("dim" for torch's own).
  std::string axis;
  // The flag without which it takes no notice of `axis`; empty where there is none.
  std::string axis_if;
  bool pure = true;          // same operands, same result, no effect
  bool commutative = false;  // the first two operands may be swapped
  bool view = false;         // result may share storage with the first operand
  bool joins = false;        // of sequences or dictionaries: its result holds what they hold
  bool repeats = false;      // a joining one that takes a whole number beside a sequence
  bool one_of = false;       // its result is one of its operands
  bool in_place = false;     // writes its first operand
  bool is_class = false;     // instantiating it is meant
  std::optional<int> rank;   // of tensor operands, where the contract of the callee fixes it
  std::optional<int> result_rank;
  Autocast autocast = Autocast::none;
  // A class that computes as this one does, but in float32, and gives the type of its operand;
  // empty for others. Its call is that function of the operand and these attributes.
  struct Casts {
    std::string base;
    std::string function;
    std::vector<std::string> arguments;
  };
  Casts casts;
  bool one_rank = false;    // its result has as many dimensions as its first operand
  bool broadcasts = false;  // its result has the larger rank of its operands
  // What its result's strides are: "dense", contiguous; or the parameter in whose order they lie.
  // Of a layer also "operand": they lie as those of what it is called with.
  // Empty where the kind of operation says it (`axes`), or nothing is known.
  std::string strides;
  // In some versions of the library its result lies as its first operand instead.
  bool strides_vary = false;
  // What else its argument `strides` takes; empty where it has none.
  std::vector<std::string> told_strides;
  std::string superset;        // takes all its arguments, `strides` too, and computes the same
  bool reads_strides = false;  // its result, or whether it works, depends on the operand's
  std::vector<std::string> vectors;  // parameters that have the last axis alone
  std::string library;               // package that defines it, e.g. "diffusers"
  // What tells its bodies in the library's versions (frontend/python/own_body): a tree's own
  // definition of that name is it where its body is one of them.
  std::vector<std::string> bodies;
  // A tree's own definition of that name with this signature is it, whatever its body.
  bool trusted = false;
  // Rewrite targets that offer it ("cuda", "ascend"); empty where that is no question of targets.
  std::vector<std::string> targets;
};

// The words of which one must stand where a function is named: the last parts of its names. A name
// that goes on behind another's last part (`….default`, an overload) is told by that.
std::vector<std::string> name_words(const Operation& operation);

class Catalogue {
 public:
  // Reads every *.yaml of the folders. A mistake in a file is an error with file, line and column,
  // and so is a name that two entries have.
  static Expected<Catalogue> load(const std::string& directory,
                                  const std::vector<std::string>& more = {});

  const Operation* find(std::string_view qualified_name) const;  // by id or any other name
  const Operation* method(std::string_view name) const;
  // The class that is said to compute as `base` does but for casts; null where none is.
  const Operation* casting(std::string_view base) const;
  // The known qualified name nearest to a misspelt one, for messages.
  std::optional<std::string> nearest(std::string_view qualified_name) const;
  const std::vector<std::unique_ptr<Operation>>& operations() const { return operations_; }
  // The packages that some target offers, which is what rewrites import.
  const std::set<std::string>& offered() const { return offered_; }
  // Whether it describes operations of that package.
  bool describes(std::string_view library) const { return libraries_.contains(library); }

 private:
  std::set<std::string, std::less<>> libraries_;
  std::set<std::string> offered_;
  std::vector<std::unique_ptr<Operation>> operations_;
  std::unordered_map<std::string, const Operation*> by_name_;
  std::unordered_map<std::string, const Operation*> by_method_;
};

}  // namespace refit
