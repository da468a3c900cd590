// What stands in the place of libgit2's transports: refit reads repositories on disk and never
// opens a connection. libgit2.a holds one object for each source file, and the linker takes one
// only for a name that nothing before it has defined. With these names defined here, no object for
// HTTP, TLS or SSH is taken, nor are the libraries that those need.
//
// The names are those that libgit2 1.5, Debian 12's, refers to from its other parts. Where another
// version refers to more, the linker names what is missing.
#include <git2.h>
#include <git2/sys/transport.h>
#include <stdbool.h>

int git_transport_new(git_transport** out, git_remote* owner, const char* url) {
  (void)owner;
  (void)url;
  *out = NULL;
  git_error_set_str(GIT_ERROR_NET, "this build of libgit2 reads repositories on disk alone");
  return GIT_ERROR;
}

// Initialisers that git_libgit2_init calls; there is nothing to initialise.
int git_transport_ssh_global_init(void);
int git_transport_ssh_global_init(void) { return 0; }

int git_mbedtls_stream_global_init(void);
int git_mbedtls_stream_global_init(void) { return 0; }

// Options that git_libgit2_opts sets.
int git_mbedtls__set_cert_location(const char* file, const char* folder);
int git_mbedtls__set_cert_location(const char* file, const char* folder) {
  (void)file;
  (void)folder;
  git_error_set_str(GIT_ERROR_SSL, "this build of libgit2 opens no connections");
  return GIT_ERROR;
}

bool git_http__expect_continue;
