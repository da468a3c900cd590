// mindiesd_weighted_sum: checks, then the kernel of the device.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "rows.h"

namespace mindiesd::runtime {
namespace {

constexpr const char* kNames[] = {"terms[0]", "terms[1]", "terms[2]", "terms[3]",
                                  "terms[4]", "terms[5]", "terms[6]", "terms[7]"};
static_assert(MINDIESD_MAX_TERMS == kernels::kMaxTerms && std::size(kNames) == kernels::kMaxTerms);

// Whether the elements lie behind each other without gaps, in whatever order of dimensions.
bool has_no_gaps(const View& view) {
  bool taken[MINDIESD_MAX_NDIM] = {};
  std::int64_t step = 1;
  for (int left = view.rank; left > 0; --left) {
    int next = -1;
    for (int d = 0; d < view.rank && next < 0; ++d) {
      if (!taken[d] && (view.size(d) == 1 || view.stride(d) == step)) next = d;
    }
    if (next < 0) return false;
    taken[next] = true;
    step *= view.size(next);
  }
  return true;
}

bool lies_alike(const View& a, const View& b) {
  for (int d = 0; d < a.rank; ++d) {
    if (a.size(d) != 1 && a.stride(d) != b.stride(d)) return false;
  }
  return true;
}

Check weighted_sum(const void* raw) {
  mindiesd_weighted_sum_args args;
  MINDIESD_RETURN_IF(read_args(raw, sizeof(args), sizeof(args), &args));
  int count = 0;
  while (count < MINDIESD_MAX_TERMS && args.terms[count] != nullptr) ++count;
  for (int k = count; k < MINDIESD_MAX_TERMS; ++k) {
    if (args.terms[k] != nullptr) {
      return invalid("terms must stand behind each other, but number " + std::to_string(count) +
                     " is NULL and number " + std::to_string(k) + " is not");
    }
  }
  View first, output;
  MINDIESD_RETURN_IF(read_view(args.terms[0], kNames[0], &first));
  MINDIESD_RETURN_IF(expect_floating(first));
  MINDIESD_RETURN_IF(read_output(args.output, "output", first, true, &output));
  MINDIESD_RETURN_IF(expect_same_type(output, first));
  if (std::isnan(args.scale)) return invalid("scale must be a number, but is NaN");
  kernels::WeightedSum problem;
  bool alike = has_no_gaps(first) && lies_alike(first, output);
  for (int k = 0; k < count; ++k) {
    View term;
    MINDIESD_RETURN_IF(read_view(args.terms[k], kNames[k], &term));
    MINDIESD_RETURN_IF(expect_same_type(term, first));
    MINDIESD_RETURN_IF(expect_same_device(term, first));
    if (term.rank != first.rank || !std::equal(term.sizes, term.sizes + term.rank, first.sizes)) {
      return invalid(std::string(term.name) + " must have the shape of terms[0], " +
                     shape_of(first) + ", but has " + shape_of(term));
    }
    MINDIESD_RETURN_IF(expect_no_overlap(output, term, true));
    alike = alike && lies_alike(first, term);
    problem.terms[k] = term.data;
    problem.weights[k] = static_cast<float>(args.weights[k]);
  }
  if (!alike) {
    return Failure{MINDIESD_UNSUPPORTED,
                   "the terms and output must lie alike in memory and without gaps"};
  }
  problem.count = 1;
  for (int d = 0; d < first.rank; ++d) problem.count *= first.size(d);
  problem.term_count = count;
  problem.type = first.type;
  problem.scale = static_cast<float>(args.scale);
  problem.output = output.data;
  return launch(output, &DeviceKernels::weighted_sum, problem, args.stream);
}

}  // namespace
}  // namespace mindiesd::runtime

extern "C" mindiesd_status mindiesd_weighted_sum(const mindiesd_weighted_sum_args* args) {
  return mindiesd::runtime::guarded(mindiesd::runtime::weighted_sum, args);
}
