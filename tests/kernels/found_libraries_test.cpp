// Which cuBLASLt and cuDNN the runtime uses: none that is missing, too old or lacks a function.
// Needs no device.

#include <gtest/gtest.h>

#include "kernels/cuda/cublas_api.h"
#include "kernels/cuda/cudnn_api.h"

namespace mindiesd::kernels::cuda {
namespace {

bool uses_cublas(std::initializer_list<const char*> names) { return cublas::Api(names).usable; }
bool uses_cudnn(const char* name) { return cudnn::Api(name).usable; }

TEST(FoundLibraries, OneThatIsMissingIsNotUsed) {
  EXPECT_FALSE(uses_cublas({"libthere_is_none.so.13", "libnor_this.so.12"}));
  EXPECT_FALSE(uses_cublas({}));
  EXPECT_FALSE(uses_cudnn("libthere_is_none.so.9"));
}

TEST(FoundLibraries, OneThatIsTooOldIsNotUsed) {
  EXPECT_FALSE(uses_cublas({STAND_IN_OLD}));
  EXPECT_FALSE(uses_cudnn(STAND_IN_OLD));
}

TEST(FoundLibraries, OneThatLacksAFunctionIsNotUsed) {
  EXPECT_FALSE(uses_cublas({STAND_IN_LACKING}));
  EXPECT_FALSE(uses_cudnn(STAND_IN_LACKING));
}

TEST(FoundLibraries, TheFirstThatIsLoadedIsTakenElseTheFirstThatIsFound) {
  EXPECT_TRUE(uses_cudnn(STAND_IN_NEW));
  EXPECT_TRUE(uses_cublas({"libthere_is_none.so.13", STAND_IN_NEW}));
  // By now the new one is loaded, so that it is taken before the one that was found first.
  EXPECT_TRUE(uses_cublas({STAND_IN_NEW, STAND_IN_OLD}));
}

}  // namespace
}  // namespace mindiesd::kernels::cuda
