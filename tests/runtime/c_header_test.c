/* mindiesd_c.h from C: one call and one refusal. */

#include <stdio.h>
#include <string.h>

#include "mindiesd/mindiesd_c.h"

int main(void) {
  float x[2] = {1.0F, 1.0F}, y[2] = {0.0F, 0.0F};
  int64_t sizes[1] = {2};
  mindiesd_tensor in = {0}, out = {0};
  mindiesd_rms_norm_args args = {0};
  in.data = x;
  in.sizes = sizes;
  in.ndim = 1;
  in.dtype = MINDIESD_FLOAT32;
  in.device_type = MINDIESD_CPU;
  out = in;
  out.data = y;
  args.struct_size = sizeof(args);
  args.input = &in;
  args.output = &out;
  if (mindiesd_rms_norm(&args) != MINDIESD_OK || y[0] != 1.0F) {
    fprintf(stderr, "rms_norm: %s, y = %g\n", mindiesd_last_error(), (double)y[0]);
    return 1;
  }
  args.struct_size = 3;
  if (mindiesd_rms_norm(&args) != MINDIESD_INVALID_ARGUMENT ||
      strstr(mindiesd_last_error(), "struct_size") == NULL) {
    fprintf(stderr, "struct_size 3 was accepted\n");
    return 1;
  }
  return 0;
}
