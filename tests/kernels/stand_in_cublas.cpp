// A library with the names of cuBLASLt that the runtime looks for, of the version that it is built
// with. Nothing calls its other functions.

#include <cstddef>

#define MINDIESD_NAMED(name) \
  extern "C" __attribute__((visibility("default"))) int name() { return 1; }

extern "C" __attribute__((visibility("default"))) std::size_t cublasLtGetVersion() {
  return STAND_IN_VERSION;
}
MINDIESD_NAMED(cublasLtCreate)
MINDIESD_NAMED(cublasLtMatmulDescCreate)
MINDIESD_NAMED(cublasLtMatmulDescSetAttribute)
MINDIESD_NAMED(cublasLtMatrixLayoutCreate)
MINDIESD_NAMED(cublasLtMatmulPreferenceCreate)
MINDIESD_NAMED(cublasLtMatmulPreferenceSetAttribute)
MINDIESD_NAMED(cublasLtMatmulPreferenceDestroy)
MINDIESD_NAMED(cublasLtMatmulAlgoGetHeuristic)
#ifndef STAND_IN_INCOMPLETE
MINDIESD_NAMED(cublasLtMatmul)
#endif
