// Fuzz target: C++ text. It is migrated; the new text has no error that the old one had not, and a
// second run finds nothing to do. Entry point: LLVMFuzzerTestOneInput.
#include "tests/fuzz/harness.hpp"
#include "tests/fuzz/mutate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const refit::fuzz::Engine engine;
  static const refit::fuzz::Scratch scratch;
  (void)migrate_twice(engine, scratch, "model.cpp", {reinterpret_cast<const char*>(data), size});
  if (scratch.files() != 1) refit::fuzz::fail("reading a file made another", {});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  return refit::fuzz::mutate_lines(data, size, most, seed);
}
