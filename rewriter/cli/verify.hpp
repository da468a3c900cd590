// `refit verify`: whether what a migration changed computes what it did. Entry point: verify.
#pragma once

#include "rewriter/cli/session.hpp"

namespace refit {

ExitCode verify(Session& session, const VerifyOptions& options);

}  // namespace refit
