// Looks for cuBLASLt in the process and on the machine; see cublas_api.h.

#include "kernels/cuda/cublas_api.h"

#include <dlfcn.h>

#include <type_traits>

namespace mindiesd::kernels::cuda::cublas {
namespace {

constexpr std::size_t kOldestVersion = 120000;

void* find(std::initializer_list<const char*> names) {
  // A program that has loaded cuBLASLt from elsewhere (torch's wheels) is given that one.
  for (const int mode : {RTLD_NOLOAD, 0}) {
    for (const char* name : names) {
      if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL | mode)) return library;
    }
  }
  return nullptr;
}

}  // namespace

Api::Api(std::initializer_list<const char*> names) {
  void* library = find(names);
  if (library == nullptr) return;
  std::size_t (*version)() = nullptr;
  bool found = true;
  const auto bind = [&](auto* function, const char* name) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
    found = found && *function != nullptr;
  };
  bind(&version, "cublasLtGetVersion");
  bind(&create_handle, "cublasLtCreate");
  bind(&create_product, "cublasLtMatmulDescCreate");
  bind(&set_product, "cublasLtMatmulDescSetAttribute");
  bind(&create_layout, "cublasLtMatrixLayoutCreate");
  bind(&create_preference, "cublasLtMatmulPreferenceCreate");
  bind(&set_preference, "cublasLtMatmulPreferenceSetAttribute");
  bind(&destroy_preference, "cublasLtMatmulPreferenceDestroy");
  bind(&heuristic, "cublasLtMatmulAlgoGetHeuristic");
  bind(&multiply, "cublasLtMatmul");
  usable = found && version() >= kOldestVersion;
}

const Api& api() {
  static const Api loaded({"libcublasLt.so.13", "libcublasLt.so.12"});
  return loaded;
}

}  // namespace mindiesd::kernels::cuda::cublas
