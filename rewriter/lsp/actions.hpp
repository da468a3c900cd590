// What an editor offers to do with a document's sites. Entry points: site_actions, text_edits,
// with_ignore, only_ignores.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "rewriter/lsp/analyst.hpp"
#include "rewriter/lsp/document.hpp"
#include "rewriter/text/expected.hpp"

namespace refit::lsp {

// What an action that was offered does, as its `data` holds it.
struct Deed {
  enum class Kind { site, file, ignore };
  Kind kind = Kind::site;
  std::string uri;
  std::size_t revision = 0;  // of the document that it was offered for
  std::string fingerprint;   // of a site
  uint32_t line = 1;         // of a site
  std::string rule;

  Json data() const;
  // Nothing where the data is not what data() gives.
  static std::optional<Deed> of(const Json& data);
};

// Actions without their edits, for the sites on these lines, counted from 1. `only`: the client's
// list of kinds, or null.
std::vector<Json> site_actions(const Analysis& analysis, const std::string& file, uint32_t first,
                               uint32_t last, const Json& only, const Deed& document);

// Edits that make one text of another.
Expected<Json> text_edits(const Document& before, const std::string& after);

// The document with a comment that keeps the sites of a rule on a line from 1: behind the code of
// the line, or on a line of its own above it. Neither is right everywhere.
std::vector<std::string> with_ignore(const Document& document, uint32_t line,
                                     const std::string& rule, bool cpp);

// Whether the site is kept by a comment in the second analysis, in which no other site is that does
// not stand on its lines, and none is gone. `added`: lines above it that are new.
bool only_ignores(const Analysis& before, const Analysis& after, const std::string& file,
                  const Deed& site, uint32_t added);

}  // namespace refit::lsp
