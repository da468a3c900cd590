// Functions of other files that only compute: `modulate(x, shift, scale)`, imported from the file
// of a model's layers. A call of one is the expression that it returns. A file is read when one of
// its functions is first asked about. Entry point: OtherFunctions::computing.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rewriter/graph/graph.hpp"
#include "rewriter/graph/isomorphisms.hpp"
#include "rewriter/python/names/project.hpp"

namespace refit::python {

// What a function computes of its parameters alone.
struct Computing {
  std::string text;  // the function's
  std::vector<std::string> parameters;
  Graph graph;
  std::vector<ValueId> values;  // what the result, the last of them, is made of, ascending
};

class OtherFunctions {
 public:
  OtherFunctions(Project& project, const Catalogue& catalogue, const Isomorphisms* isomorphisms)
      : project_(project), catalogue_(catalogue), isomorphisms_(isomorphisms) {}

  // Of a function by its qualified name; null where it is not the only thing of that name at the
  // top of its module, is decorated by more than what gives it back, reads anything but its
  // parameters or not all of them, or does more than compute one value; and where its file may bind
  // the name again.
  const Computing* computing(const std::string& qualified);

 private:
  std::unique_ptr<Computing> read(const std::string& qualified) const;
  bool keeps(const std::string& decorator) const;

  Project& project_;
  const Catalogue& catalogue_;
  const Isomorphisms* isomorphisms_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Computing>, std::less<>> known_;
};

}  // namespace refit::python
