// `refit lsp`. Entry point: serve_editor.
#pragma once

#include "rewriter/cli/session.hpp"

namespace refit {

// Serves one client on standard input and output until it is gone.
ExitCode serve_editor(Session& session, const LspOptions& options);

}  // namespace refit
