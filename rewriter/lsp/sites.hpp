// What an editor shows of a document's sites. Entry points: diagnostics, rule_diagnostics, hover.
#pragma once

#include <string>
#include <vector>

#include "rewriter/lsp/analyst.hpp"
#include "rewriter/lsp/document.hpp"

namespace refit::lsp {

// The findings of the analysis that stand in one file on these lines, counted from 1.
std::vector<const Finding*> sites_on(const Analysis& analysis, const std::string& file,
                                     uint32_t first, uint32_t last);

// A list for textDocument/publishDiagnostics: sites that can be rewritten (information), refused
// ones (hint), comments `refit: ignore` that keep nothing, and why a file is left as a whole. Sites
// that such a comment keeps have none.
Json diagnostics(const Analysis& analysis, const std::string& file, const Document& document);

Json rule_diagnostics(const std::vector<RuleRemark>& remarks, const Document& document);

// What `refit explain` says of the sites on a line from 1; null where there is none.
Json hover(const Analysis& analysis, const std::string& file, uint32_t line, bool markdown);

}  // namespace refit::lsp
