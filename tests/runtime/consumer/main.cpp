// A program outside the project: normalises a row and prints it.

#include <mindiesd/mindiesd.h>

#include <cstdio>

int main() {
  float x[4] = {3, 3, 3, 3}, y[4] = {};
  const auto in = mindiesd::TensorView::dense(x, mindiesd::DataType::kFloat32, {1, 4});
  const auto out = mindiesd::TensorView::dense(y, mindiesd::DataType::kFloat32, {1, 4});
  const mindiesd::Status status = mindiesd::rms_norm(in, out);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  std::printf("%.3f %.3f\n", static_cast<double>(y[0]), static_cast<double>(y[3]));
  return status.ok() ? 0 : 1;
}
