// What the operations over rows share: the checks of input and output, and the row space that goes
// to a kernel. Entry points: read_input, read_output, read_operand, read_vector, simplify.

#pragma once

#include <initializer_list>

#include "device.h"
#include "view.h"

namespace mindiesd::runtime {

// A floating tensor of one dimension at least.
Check read_input(const mindiesd_tensor* tensor, const char* name, View* input);

// A floating tensor of input's shape and device that does not overlap itself; `may_be_input`: it
// may be the same view as the input, else it shares no memory with it.
Check read_output(const mindiesd_tensor* tensor, const char* name, const View& input,
                  bool may_be_input, View* output);

// A floating operand that broadcasts to input by its trailing dimensions, as which it comes back.
Check read_operand(const mindiesd_tensor* tensor, const char* name, const View& input, View* view);

// A floating vector [size] on input's device. `what` names the size in messages.
struct Vector {
  const void* data = nullptr;
  kernels::DataType type = kernels::DataType::kFloat32;
  std::int64_t step = 1;
};
Check read_vector(const mindiesd_tensor* tensor, const char* name, const View& input,
                  std::int64_t size, const char* what, const View& output, Vector* vector);

// Drops leading dimensions of one element and merges neighbours that every operand walks with one
// stride, the last `kept` of them excepted: kernels like few dimensions.
void simplify(kernels::RowSpace* rows, std::initializer_list<kernels::RowOperand*> operands,
              int kept = 0);

}  // namespace mindiesd::runtime
