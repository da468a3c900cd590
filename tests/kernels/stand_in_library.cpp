// A library with the names of cuBLASLt and of cuDNN that the runtime looks for, of the versions
// that it is built with. Nothing calls its other functions.

#include <cstddef>

#define MINDIESD_NAMED(name) \
  extern "C" __attribute__((visibility("default"))) int name() { return 1; }
#define MINDIESD_VERSION_OF(name, version) \
  extern "C" __attribute__((visibility("default"))) std::size_t name() { return version; }

MINDIESD_VERSION_OF(cublasLtGetVersion, STAND_IN_CUBLAS)
MINDIESD_NAMED(cublasLtCreate)
MINDIESD_NAMED(cublasLtMatmulDescCreate)
MINDIESD_NAMED(cublasLtMatmulDescSetAttribute)
MINDIESD_NAMED(cublasLtMatrixLayoutCreate)
MINDIESD_NAMED(cublasLtMatmulPreferenceCreate)
MINDIESD_NAMED(cublasLtMatmulPreferenceSetAttribute)
MINDIESD_NAMED(cublasLtMatmulPreferenceDestroy)
MINDIESD_NAMED(cublasLtMatmulAlgoGetHeuristic)

MINDIESD_VERSION_OF(cudnnGetVersion, STAND_IN_CUDNN)
MINDIESD_NAMED(cudnnCreate)
MINDIESD_NAMED(cudnnSetStream)
MINDIESD_NAMED(cudnnBackendCreateDescriptor)
MINDIESD_NAMED(cudnnBackendDestroyDescriptor)
MINDIESD_NAMED(cudnnBackendSetAttribute)
MINDIESD_NAMED(cudnnBackendGetAttribute)
MINDIESD_NAMED(cudnnBackendFinalize)

#ifndef STAND_IN_INCOMPLETE
MINDIESD_NAMED(cublasLtMatmul)
MINDIESD_NAMED(cudnnBackendExecute)
#endif
