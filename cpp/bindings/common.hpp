// What every binding file needs: array types, and kernels run without the GIL on the shared pool.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <stdexcept>
#include <tuple>

#include "sqlrank/kernels.hpp"
#include "sqlrank/pool.hpp"

namespace sqlrank::bindings {

namespace nb = nanobind;

// NumPy arrays in; read-only ones are welcome. Out arrays are allocated by the caller and not const.
template <class T>
using In = nb::ndarray<nb::numpy, const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<nb::numpy, const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out2 = nb::ndarray<nb::numpy, T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Python's signals (Ctrl-C) are looked at by the thread that runs the job.
inline void check_python_signals() {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// Runs function(executor) with the GIL released.
template <class Function>
void run_parallel(int threads, Function&& function) {
  nb::gil_scoped_release release;
  PoolExecutor executor(global_pool(), threads, check_python_signals);
  function(executor);
}

inline void require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// A NumPy array that owns a C++ vector's memory.
template <class Vector>
auto to_numpy(Vector&& vector) {
  using Value = typename std::decay_t<Vector>::value_type;
  auto* owned = new std::decay_t<Vector>(std::forward<Vector>(vector));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::decay_t<Vector>*>(p); });
  return nb::ndarray<nb::numpy, Value, nb::ndim<1>, nb::c_contig>(owned->data(), {owned->size()}, owner);
}

}  // namespace sqlrank::bindings
