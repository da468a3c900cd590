// How C++ names what the catalogue knows, read from rules/catalogue/cpp/names.yaml.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/text/expected.hpp"

namespace refit::cpp {

class Names {
 public:
  static Expected<Names> load(const std::string& file);

  // The catalogue's name of a qualified C++ name ("at::cat" -> "torch.cat"); "" where its namespace
  // is none that is known.
  std::string meaning(std::string_view qualified) const;
  // The C++ name of a catalogue's name ("mindiesd.ext.rms_norm" -> "mindiesd::ext::rms_norm"); ""
  // where C++ has none: of a package with a header, only what the table says that it declares.
  std::string spelling(std::string_view qualified) const;
  // Whether that function of C++ has the argument, one beyond its required ones.
  bool takes(std::string_view qualified, std::string_view argument) const;
  // The header to include for a catalogue's name; "" where none is known.
  std::string header(std::string_view qualified) const;
  // By package, those headers.
  const std::map<std::string, std::string, std::less<>>& headers() const { return headers_; }
  bool tensor(std::string_view record) const;
  // The catalogue's class that a class of modules is; "" where none.
  std::string layer(std::string_view record) const;
  // The attribute that a member function of a tensor without arguments reads; "" where none.
  std::string attribute(std::string_view member) const;

 private:
  std::map<std::string, std::string, std::less<>> namespaces_, names_, attributes_, layers_,
      headers_;
  std::vector<std::string> tensors_;
  std::map<std::string, std::vector<std::string>, std::less<>> declared_;
};

// "a::b::c" as "a.b.c".
std::string dotted(std::string_view qualified);

}  // namespace refit::cpp
