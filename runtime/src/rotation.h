// The rotation of one operand by tables, read and checked: what mindiesd_rotary, mindiesd_rotary_qk
// and mindiesd_joint_heads share. Entry points: expect_rotation, read_rotation, move_heads_last.

#pragma once

#include "rows.h"

namespace mindiesd::runtime {

struct Tables {
  const mindiesd_tensor* cos;
  const mindiesd_tensor* sin;  // null: cos holds matrices
  std::int32_t rotation;       // mindiesd_rotation
};

Check expect_rotation(const Tables& tables);

// One operand: its output, its tables, and that the output shares no memory with them. `kept`: of
// simplify.
Check read_rotation(const View& input, const View& output, const Tables& tables, int kept,
                    kernels::Rotary* problem);

// Brings dimension `from` of the rows to their end.
void move_heads_last(kernels::Rotary* p, int from);

}  // namespace mindiesd::runtime
