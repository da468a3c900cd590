// The functions that `refit migrate` writes into libtorch programs: the names, arguments and result
// types of the Python API, over mindiesd/torch.h. Required arguments are positional, the others are
// fields of the last one:
//
//   mindiesd::attention_forward(query, key, value, {.attn_mask = mask, .scale = 0.125})
//
// What the kernels do not compute (float64, tensors that require a gradient, a device without a
// library) goes to torch's own operators, so that a migrated program accepts what the original did.
// Bad arguments raise c10::Error. With CUDA define MINDIESD_TORCH_CUDA, as mindiesd/torch.h says.

#ifndef MINDIESD_FUNCTIONAL_H_
#define MINDIESD_FUNCTIONAL_H_

#include "mindiesd/functional/activation.h"
#include "mindiesd/functional/attention.h"
#include "mindiesd/functional/norm.h"
#include "mindiesd/functional/rotary.h"
#include "mindiesd/functional/softmax.h"

#endif  // MINDIESD_FUNCTIONAL_H_
