// Which cuBLASLt the runtime takes: none, one that is too old or lacks a function, one that will
// do. Needs no device.

#include <gtest/gtest.h>

#include "kernels/cuda/cublas_api.h"

namespace mindiesd::kernels::cuda::cublas {
namespace {

TEST(CublasApi, ALibraryThatIsMissingIsNotUsed) {
  EXPECT_FALSE(Api({"libthere_is_none.so.13", "libnor_this.so.12"}).usable);
  EXPECT_FALSE(Api({}).usable);
}

TEST(CublasApi, ALibraryThatIsTooOldIsNotUsed) { EXPECT_FALSE(Api({STAND_IN_OLD}).usable); }

TEST(CublasApi, ALibraryThatLacksAFunctionIsNotUsed) {
  EXPECT_FALSE(Api({STAND_IN_LACKING}).usable);
}

TEST(CublasApi, TheFirstThatIsLoadedIsTakenElseTheFirstThatIsFound) {
  EXPECT_TRUE(Api({"libthere_is_none.so.13", STAND_IN_NEW}).usable);
  // By now the new one is loaded, so it goes before the old one.
  EXPECT_TRUE(Api({STAND_IN_NEW, STAND_IN_OLD}).usable);
}

}  // namespace
}  // namespace mindiesd::kernels::cuda::cublas
