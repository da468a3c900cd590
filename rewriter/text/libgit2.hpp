// libgit2, made ready for use. Entry point: start_libgit2.
#pragma once

#include <string>

namespace refit {

// Before any other call of libgit2; as often as one likes, from any thread. It is never shut down,
// since other threads may be using it.
void start_libgit2();

// Why libgit2's last call in this thread failed.
std::string last_git_error();

}  // namespace refit
