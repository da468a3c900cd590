// Implements the torch operators mindiesd::* from C, so that a call in a compiled graph, which
// reaches them through torch's dispatcher, costs no Python. Entry point: implement.
//
// A call's key is made of its scalars and of the types, devices, sizes and strides of its tensors,
// and which of those begin at one address. A key that is new is computed by the operator of the
// same name in another namespace, which Python implements; what that hands to the C interface is
// kept (keep) and repeated for the next call with the key: results allocated, addresses put in,
// launched. What the C interface refuses goes to Python again, which says why.

#pragma once

#include "stable_abi.h"

namespace mindiesd::python {

// implement(((name, kinds), ...), namespace, address of mindiesd_set_num_threads): registers an
// implementation for each operator of mindiesd; gives whether the loaded torch lets it. `kinds` has
// a letter for each argument: t tensor, T optional tensor, n number, N optional number.
PyObject* implement(PyObject*, PyObject* const* args, Py_ssize_t count);

// keep(description): what Python computes right now is repeated so for the operator's next calls
// with the same key; None: Python computes those too. Gives whether a call waits for it, which is
// asked with no argument, too.
//
// The description is (function, struct, stream field, slots, results), with (sizes, strides,
// dtype, device type, device id) for a result, or for torch's attention
// (heads before sequence, causal, scale).
PyObject* keep(PyObject*, PyObject* const* args, Py_ssize_t count);

// failed(text): the call that Python computes right now raises an error of that text.
PyObject* failed(PyObject*, PyObject* const* args, Py_ssize_t count);

// Drops everything that was kept.
void forget_operators();

// While it is set in this thread, Python computes every call.
void set_recording(bool on);
bool is_recording();

}  // namespace mindiesd::python
