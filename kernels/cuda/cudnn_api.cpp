// Looks for cuDNN in the process and on the machine; see cudnn_api.h.

#include "kernels/cuda/cudnn_api.h"

#include <dlfcn.h>

#include <type_traits>

namespace mindiesd::kernels::cuda::cudnn {
namespace {

constexpr std::size_t kOldestVersion = 91301;

}  // namespace

Api::Api(const char* name) {
  // A program that has loaded cuDNN from elsewhere (torch's wheels) is given that one.
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  std::size_t (*version)() = nullptr;
  bool found = true;
  const auto bind = [&](auto* function, const char* symbol) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, symbol));
    found = found && *function != nullptr;
  };
  bind(&version, "cudnnGetVersion");
  bind(&create_handle, "cudnnCreate");
  bind(&set_stream, "cudnnSetStream");
  bind(&create, "cudnnBackendCreateDescriptor");
  bind(&destroy, "cudnnBackendDestroyDescriptor");
  bind(&set, "cudnnBackendSetAttribute");
  bind(&get, "cudnnBackendGetAttribute");
  bind(&finalize, "cudnnBackendFinalize");
  bind(&execute, "cudnnBackendExecute");
  usable = found && version() >= kOldestVersion;
}

const Api& api() {
  static const Api loaded("libcudnn.so.9");
  return loaded;
}

}  // namespace mindiesd::kernels::cuda::cudnn
