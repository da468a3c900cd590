// Chooses the instruction set. Entry points: launchers() and available_launchers() of launch.h.

#include <cstdlib>
#include <cstring>

#include "kernels/cpu/launch.h"

namespace mindiesd::kernels::cpu {

namespace baseline {
extern const Launchers kLaunchers;
}
#ifdef MINDIESD_X86_64
namespace avx2 {
extern const Launchers kLaunchers;
}
namespace avx512 {
extern const Launchers kLaunchers;
}
#endif

namespace {

struct Available {
  const Launchers* tables[3];
  std::size_t count = 0;

  Available() {
    tables[count++] = &baseline::kLaunchers;
#ifdef MINDIESD_X86_64
    // The levels of the x86-64 psABI; the builtins also check that the system saves the registers.
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2")) {
      tables[count++] = &avx2::kLaunchers;
      if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
          __builtin_cpu_supports("avx512vl")) {
        tables[count++] = &avx512::kLaunchers;
      }
    }
#endif
  }
};

const Available& available() {
  static const Available sets;
  return sets;
}

const Launchers& choose() {
  const Available& sets = available();
  if (const char* wanted = std::getenv("MINDIESD_CPU_ISA")) {
    for (std::size_t i = 0; i < sets.count; ++i) {
      if (std::strcmp(sets.tables[i]->name, wanted) == 0) return *sets.tables[i];
    }
  }
  return *sets.tables[sets.count - 1];
}

}  // namespace

const Launchers& launchers() {
  static const Launchers& chosen = choose();
  return chosen;
}

std::span<const Launchers* const> available_launchers() {
  return {available().tables, available().count};
}

}  // namespace mindiesd::kernels::cpu
