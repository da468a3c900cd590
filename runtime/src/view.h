// Tensor views inside the library: a checked copy of mindiesd_tensor, broadcasting, overlap. Entry
// points: read_view, broadcast_to, may_overlap.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/problem.h"
#include "mindiesd/mindiesd_c.h"

namespace mindiesd::runtime {

// A failure, or none. The text says what was expected and what was found.
struct Failure {
  mindiesd_status code;
  std::string text;
};
using Check = std::optional<Failure>;

// Cold, so that what leads there lies apart from the code that every call runs through.
[[gnu::cold]] Failure invalid(std::string text);

struct View {
  const char* name = "";
  void* data = nullptr;
  kernels::DataType type = kernels::DataType::kFloat32;
  int rank = 0;
  std::int64_t sizes[MINDIESD_MAX_NDIM] = {};
  std::int64_t strides[MINDIESD_MAX_NDIM] = {};
  std::int32_t device_type = MINDIESD_CPU;
  std::int32_t device_id = 0;

  std::int64_t size(int dim) const { return sizes[dim]; }
  std::int64_t stride(int dim) const { return strides[dim]; }
  bool empty() const;
};

[[gnu::cold]] std::string name_of(kernels::DataType type);
[[gnu::cold]] std::string shape_of(const View& view);  // "[2, 3, 4]"
bool is_floating(kernels::DataType type);
std::size_t bytes_of(kernels::DataType type);

// Checks that the struct describes a tensor and copies it. Failures name it `name`.
Check read_view(const mindiesd_tensor* tensor, const char* name, View* view);

Check expect_rank(const View& view, int rank, const char* dimensions);
Check expect_floating(const View& view);
Check expect_same_type(const View& view, const View& reference);
Check expect_same_device(const View& view, const View& reference);
Check expect_dense_last(const View& view);
Check expect_size(const View& view, int dim, std::int64_t size, const char* what);

// Aligns trailing dimensions with `sizes` and gives repeated ones stride 0. `what` describes the
// target in the message.
Check broadcast_to(View* view, const std::int64_t* sizes, int rank, const char* what);

// Fails where two elements of `output` may share memory, or where output and input do. Views that
// interleave without sharing (slices of one packed tensor) pass. With `allow_same`, so does an
// input that is the same view as the output.
Check expect_no_overlap(const View& output);
Check expect_no_overlap(const View& output, const View& input, bool allow_same);

// Leading dimensions of `view` as a row space, its last as the row.
kernels::RowSpace rows_of(const View& view);
kernels::RowOperand operand_of(const View& view);

// Returns the first failure from the enclosing function.
#define MINDIESD_RETURN_IF(check)                 \
  do {                                            \
    if (auto failure_ = (check)) return failure_; \
  } while (false)

}  // namespace mindiesd::runtime
