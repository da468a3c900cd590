// `refit rules` and `refit assumptions`. Entry point: rules_command.
#pragma once

#include "rewriter/cli/session.hpp"

namespace refit {

ExitCode rules_command(Session& session, const RulesOptions& options);

}  // namespace refit
