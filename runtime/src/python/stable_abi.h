// The part of CPython's stable ABI (docs.python.org/3/c-api/stable.html) that replay.cpp uses, as
// of Python 3.10. Declared here, so that neither the build needs Python's headers nor the library a
// version of Python; the interpreter that loads it supplies the functions. Not for free-threaded
// builds, whose objects begin otherwise.

#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct PyTypeObject;

struct PyObject {
  std::intptr_t ob_refcnt;
  PyTypeObject* ob_type;
};

using Py_ssize_t = std::ptrdiff_t;
// The type of ml_meth that METH_FASTCALL means.
using PyCFunctionFast = PyObject* (*)(PyObject* self, PyObject* const* args, Py_ssize_t count);

struct PyMethodDef {
  const char* ml_name;
  PyCFunctionFast ml_meth;
  int ml_flags;
  const char* ml_doc;
};
constexpr int kMethodFast = 0x0080;  // METH_FASTCALL

// NOLINTBEGIN(bugprone-reserved-identifier)
extern PyObject _Py_NoneStruct, _Py_NotImplementedStruct, _Py_TrueStruct, _Py_FalseStruct;
// NOLINTEND(bugprone-reserved-identifier)
extern PyTypeObject PyLong_Type, PyFloat_Type, PyUnicode_Type, PyTuple_Type;
extern PyObject* PyExc_TypeError;

void Py_IncRef(PyObject*);
void Py_DecRef(PyObject*);

PyObject* PyCFunction_NewEx(PyMethodDef* method, PyObject* self, PyObject* module);
PyObject* PyObject_CallNoArgs(PyObject* callable);
PyObject* PyObject_CallObject(PyObject* callable, PyObject* args);
PyObject* PyObject_Call(PyObject* callable, PyObject* args, PyObject* keywords);
PyObject* PyObject_CallFunctionObjArgs(PyObject* callable, ...);
PyObject* PyObject_GetAttr(PyObject* object, PyObject* name);
PyObject* PyObject_GetAttrString(PyObject* object, const char* name);
int PyObject_IsTrue(PyObject* object);

PyObject* PyTuple_New(Py_ssize_t size);
Py_ssize_t PyTuple_Size(PyObject* tuple);
PyObject* PyTuple_GetItem(PyObject* tuple, Py_ssize_t index);
int PyTuple_SetItem(PyObject* tuple, Py_ssize_t index, PyObject* item);
Py_ssize_t PyDict_Size(PyObject* dict);
int PyDict_Next(PyObject* dict, Py_ssize_t* position, PyObject** key, PyObject** value);
PyObject* PyDict_GetItemString(PyObject* dict, const char* key);

PyObject* PyLong_FromLong(long value);
PyObject* PyLong_FromLongLong(long long value);
long PyLong_AsLong(PyObject* number);
long long PyLong_AsLongLong(PyObject* number);
void* PyLong_AsVoidPtr(PyObject* number);
double PyFloat_AsDouble(PyObject* number);
const char* PyUnicode_AsUTF8AndSize(PyObject* text, Py_ssize_t* size);
PyObject* PyUnicode_InternFromString(const char* text);
int PyBytes_AsStringAndSize(PyObject* bytes, char** data, Py_ssize_t* size);
void* PyCapsule_GetPointer(PyObject* capsule, const char* name);

PyObject* PyErr_Occurred(void);
void PyErr_Clear(void);
void PyErr_SetString(PyObject* type, const char* text);

struct PyThreadState;
PyThreadState* PyEval_SaveThread(void);
void PyEval_RestoreThread(PyThreadState* state);

}  // extern "C"
