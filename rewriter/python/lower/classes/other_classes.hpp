// What the classes of other files say of their objects' attributes, for parameters whose annotation
// names such a class: `attn: Attention`, where the layers of `Attention` are made elsewhere. A file
// is read when one of its classes is first asked about. Entry point: OtherClasses::layers.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rewriter/python/lower/classes/class_facts.hpp"
#include "rewriter/python/names/project.hpp"

namespace refit::python {

class OtherClasses {
 public:
  OtherClasses(Project& project, const Catalogue& catalogue);
  ~OtherClasses();

  // Whether a function's text names an operation that moves axes, without which nobody asks what
  // works along the last one.
  bool moves_axes(std::string_view function) const;
  // The catalogue's classes that an attribute of an object of a class is an object of, in that
  // class and those of other files that inherit from it; empty where one of them does not show it.
  std::vector<const Operation*> layers(const std::string& qualified, const std::string& attribute);
  // Whether each of them works along the last axis alone, or on each element, and no file stores an
  // attribute of that name from outside.
  bool over_last_axis(const std::string& qualified, const std::string& attribute);

 private:
  struct File;
  // The class and its subclasses in other files that store the attribute; empty where one cannot be
  // read.
  using Storing = std::vector<std::pair<std::string, ClassFacts*>>;
  const Storing& storing(const std::string& qualified, const std::string& attribute);
  File* file_of(const std::string& module);

  Project& project_;
  const Catalogue& catalogue_;
  std::vector<std::string> moving_;  // the names of operations that move axes
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<File>, std::less<>> files_;  // by module
  std::map<std::pair<std::string, std::string>, Storing> storing_;   // by class and attribute
};

}  // namespace refit::python
