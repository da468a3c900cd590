// `refit migrate` and `refit review`. Entry point: migrate.
#pragma once

#include "rewriter/cli/session.hpp"

namespace refit {

ExitCode migrate(Session& session, const MigrateOptions& options);

}  // namespace refit
