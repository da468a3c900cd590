// The C interface itself: struct sizes, error text per thread, version, devices, threads.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>

#include "mindiesd/mindiesd_c.h"

namespace {

class CInterface : public testing::Test {
 protected:
  CInterface() {
    in_.data = x_;
    in_.sizes = sizes_;
    in_.ndim = 2;
    in_.dtype = MINDIESD_FLOAT32;
    in_.device_type = MINDIESD_CPU;
    out_ = in_;
    out_.data = y_;
    args_.struct_size = sizeof(args_);
    args_.input = &in_;
    args_.output = &out_;
    args_.dim = -1;
  }

  float x_[6] = {1, 1, 1, 2, 2, 2};
  float y_[6] = {};
  std::int64_t sizes_[2] = {2, 3};
  mindiesd_tensor in_ = {}, out_ = {};
  mindiesd_softmax_args args_ = {};
};

TEST_F(CInterface, NullStridesAreDense) {
  ASSERT_EQ(mindiesd_softmax(&args_), MINDIESD_OK) << mindiesd_last_error();
  EXPECT_NEAR(y_[5], 1.0 / 3.0, 1e-6);
}

TEST_F(CInterface, LaterFieldsOfALargerCallerAreIgnored) {
  struct Larger {
    mindiesd_softmax_args args;
    char later[64];
  } larger = {args_, {}};
  std::memset(larger.later, 0xff, sizeof(larger.later));
  larger.args.struct_size = sizeof(larger);
  EXPECT_EQ(mindiesd_softmax(&larger.args), MINDIESD_OK) << mindiesd_last_error();
}

TEST_F(CInterface, TooSmallAStructIsRefused) {
  args_.struct_size = offsetof(mindiesd_softmax_args, scale) - 1;
  EXPECT_EQ(mindiesd_softmax(&args_), MINDIESD_INVALID_ARGUMENT);
  EXPECT_NE(std::string(mindiesd_last_error()).find("struct_size"), std::string::npos);
  EXPECT_EQ(mindiesd_softmax(nullptr), MINDIESD_INVALID_ARGUMENT);
  EXPECT_EQ(mindiesd_attention(nullptr), MINDIESD_INVALID_ARGUMENT);
  EXPECT_EQ(mindiesd_attention_varlen(nullptr), MINDIESD_INVALID_ARGUMENT);
  EXPECT_EQ(mindiesd_rotary(nullptr), MINDIESD_INVALID_ARGUMENT);
  EXPECT_EQ(mindiesd_rms_norm(nullptr), MINDIESD_INVALID_ARGUMENT);
}

TEST_F(CInterface, StructsOfEarlierVersionsAreTaken) {
  x_[0] = 2;
  args_.scale = 3.0;  // beyond what the caller says it has
  args_.struct_size = offsetof(mindiesd_softmax_args, scale);
  ASSERT_EQ(mindiesd_softmax(&args_), MINDIESD_OK);
  EXPECT_NEAR(y_[0], std::exp(1.0) / (std::exp(1.0) + 2.0), 1e-6);
  args_.struct_size = sizeof(args_);
  ASSERT_EQ(mindiesd_softmax(&args_), MINDIESD_OK);
  EXPECT_NEAR(y_[0], std::exp(3.0) / (std::exp(3.0) + 2.0), 1e-6);
}

TEST_F(CInterface, ErrorTextBelongsToTheThread) {
  args_.dim = 7;
  ASSERT_EQ(mindiesd_softmax(&args_), MINDIESD_INVALID_ARGUMENT);
  const std::string here = mindiesd_last_error();
  std::string there = "unset";
  std::thread([&there] { there = mindiesd_last_error(); }).join();
  EXPECT_NE(here.find("dim must lie in -2 to 1, but is 7"), std::string::npos) << here;
  EXPECT_EQ(there, "");
}

TEST_F(CInterface, ADeviceWithoutKernelsIsNamed) {
  in_.device_type = out_.device_type = 77;
  EXPECT_EQ(mindiesd_softmax(&args_), MINDIESD_UNSUPPORTED);
  EXPECT_NE(std::string(mindiesd_last_error()).find("type 77"), std::string::npos);
  EXPECT_EQ(mindiesd_has_device(77), 0);
  EXPECT_EQ(mindiesd_has_device(MINDIESD_CPU), 1);
}

TEST_F(CInterface, VersionAndThreads) {
  EXPECT_EQ(mindiesd_abi_version(), MINDIESD_ABI_VERSION);
  EXPECT_STRNE(mindiesd_version(), "");
  EXPECT_STRNE(mindiesd_cpu_isa(), "");
  mindiesd_set_num_threads(3);
  EXPECT_EQ(mindiesd_num_threads(), 3);
  mindiesd_set_num_threads(0);
  EXPECT_GE(mindiesd_num_threads(), 1);
}

}  // namespace
