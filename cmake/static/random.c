// arc4random, which LLVM's and libstdc++'s archives call and which glibc has only since 2.36:
// defined here, over the system call, it is no reason why the program would need a glibc as new as
// that.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

__attribute__((visibility("hidden"))) uint32_t arc4random(void);

uint32_t arc4random(void) {
  uint32_t value;
  ssize_t read;
  do {
    read = getrandom(&value, sizeof value, 0);
  } while (read < 0 && errno == EINTR);
  if (read != (ssize_t)sizeof value) abort();
  return value;
}
