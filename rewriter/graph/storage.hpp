// Where the values of a graph lie: which objects, attributes and entries of containers a value may
// be, or be a view of. Two values share no storage where none of their places overlap. Entry
// points: Storage::places_of, overlap, may_reach, written_by.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/graph/graph.hpp"

namespace refit {

// A place as a dotted path from what the function was given or made: `self.cache`, `12["k"]`.
// Values that are storage of their own are places by their numbers. `unknown`: any place at all.
// Of what this function did not make and keep to itself, other paths may lead to the same storage:
// `own`: an attribute holds a tensor that its class made and gave to no other attribute; `given`:
// an argument; `other`: anything else.
struct Places {
  std::vector<std::string> paths;
  bool unknown = false;
  bool own = false, given = false, other = false;

  bool shared() const { return own || given || other; }
};

// Where the values of one graph lie; every answer is kept.
class Storage {
 public:
  explicit Storage(const Graph& g) : g_(g) {}

  // A value's places and, of a list, a dictionary or another object, those of what is put into it
  // anywhere in the function.
  const Places& places_of(ValueId id);
  // Its own places alone.
  const Places& own_places_of(ValueId id);

 private:
  // `holder.append(value)`, `holder[0] = value`, `holder.name = value`.
  struct Put {
    Places holder;
    ValueId value;
  };
  const std::vector<Put>& puts();
  void add_put(ValueId holder, ValueId value, const std::string& behind);

  const Graph& g_;
  std::map<ValueId, Places> own_, all_;
  std::optional<std::vector<Put>> puts_;
};

// Whether what lies at two places is shown to be the same, or the one a part of the other.
bool overlap(const Places& written, const Places& read);

// Whether a write to one place may change what lies at the other: they overlap, or other paths may
// lead to both. Two attributes with tensors of their own are apart, and each from arguments.
bool may_reach(const Places& written, const Places& read);

// Whether an attribute says something of a tensor and holds none, as its shape does.
bool holds_no_storage(std::string_view attribute);

// Whether a method changes which objects a list or a dictionary holds: `append`, `update`.
bool changes_entries(std::string_view method);

// The object whose attributes a dictionary holds: x of `x._buffers`, `x.__dict__`, `vars(x)`. kNone
// for any other value.
ValueId object_of_table(const Graph& g, ValueId id);

// Whether a store, `base[index] = value`, may put the object itself there, as into a list or a
// dictionary: slices and several indices are those of a tensor, which takes a copy.
bool keeps_object(const Graph& g, const Value& store);

// The value that an operation writes in place: its first operand, or because its arguments say so,
// `inplace=True`, `out=y`; of a call that the catalogue does not know, y in `y.name_()` and
// `f_(y)`. kNone where it writes nothing.
ValueId written_by(const Graph& g, ValueId id);

}  // namespace refit
