// What is the same for all uses of libgit2. Entry point: start_libgit2.
#include "rewriter/text/libgit2.hpp"

#include <git2.h>

// A libgit2 that is built over Mbed TLS (Debian's, Ubuntu's) reads all certificates of the machine
// when it is initialised: 55 M instructions, 4 of the 37 ms of a run over one file. The tool opens
// no connection. The program's own functions stand before a library's of the same name; these tell
// libgit2 that there are no certificates, with which it would refuse every connection. They are
// weak, so that a static libmbedx509 may define them, too.
extern "C" {
__attribute__((weak)) int mbedtls_x509_crt_parse_file(void*, const char*) { return -1; }
__attribute__((weak)) int mbedtls_x509_crt_parse_path(void*, const char*) { return -1; }
}

namespace refit {

void start_libgit2() { git_libgit2_init(); }

std::string last_git_error() {
  const git_error* error = git_error_last();
  return error != nullptr && error->message != nullptr ? error->message : "no reason given";
}

}  // namespace refit
