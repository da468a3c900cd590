// mindiesd_upsample_nearest2x: checks, then the kernel of the device.

#include <string>

#include "rows.h"

namespace mindiesd::runtime {
namespace {

constexpr int kPlanes[] = {0, 1, 2, 3};        // the dimensions of [N, C, H, W], outermost first
constexpr int kChannelsLast[] = {0, 2, 3, 1};  // of what lies as [N, H, W, C]

bool is_dense(const View& view, const int (&order)[4]) {
  std::int64_t step = 1;
  for (int place = 3; place >= 0; --place) {
    const int d = order[place];
    if (view.size(d) != 1 && view.stride(d) != step) return false;
    step *= view.size(d);
  }
  return true;
}

Check upsample(const void* raw) {
  mindiesd_upsample_nearest2x_args args;
  MINDIESD_RETURN_IF(read_args(raw, sizeof(args), sizeof(args), &args));
  View input, output;
  MINDIESD_RETURN_IF(read_view(args.input, "input", &input));
  MINDIESD_RETURN_IF(expect_floating(input));
  MINDIESD_RETURN_IF(expect_rank(input, 4, "[N, C, H, W]"));
  MINDIESD_RETURN_IF(read_view(args.output, "output", &output));
  MINDIESD_RETURN_IF(expect_rank(output, 4, "[N, C, 2 * H, 2 * W]"));
  MINDIESD_RETURN_IF(expect_same_type(output, input));
  MINDIESD_RETURN_IF(expect_same_device(output, input));
  for (int d = 0; d < 4; ++d) {
    MINDIESD_RETURN_IF(expect_size(output, d, input.size(d) * (d < 2 ? 1 : 2),
                                   d < 2 ? "input's size" : "twice input's size"));
  }
  MINDIESD_RETURN_IF(expect_no_overlap(output));
  MINDIESD_RETURN_IF(expect_no_overlap(output, input, false));
  const bool planes = is_dense(input, kPlanes) && is_dense(output, kPlanes);
  if (!planes && !(is_dense(input, kChannelsLast) && is_dense(output, kChannelsLast))) {
    return Failure{MINDIESD_UNSUPPORTED,
                   "input and output must both be dense planes of channels or both channels last"};
  }
  kernels::Upsample problem;
  problem.count = input.size(0) * (planes ? input.size(1) : 1);
  problem.height = input.size(2);
  problem.width = input.size(3);
  problem.bytes = static_cast<std::int64_t>(bytes_of(input.type)) * (planes ? 1 : input.size(1));
  problem.input = input.data;
  problem.output = output.data;
  return launch(output, &DeviceKernels::upsample, problem, args.stream);
}

}  // namespace
}  // namespace mindiesd::runtime

extern "C" mindiesd_status mindiesd_upsample_nearest2x(
    const mindiesd_upsample_nearest2x_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::upsample, args);
}
