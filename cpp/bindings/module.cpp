#include "common.hpp"

namespace sqlrank::bindings {

void bind_interactions(nb::module_& m);
void bind_parallel(nb::module_& m);
void bind_random(nb::module_& m);
void bind_topk(nb::module_& m);
void bind_engine(nb::module_& m);
void bind_generate(nb::module_& m);
void bind_metrics(nb::module_& m);
void bind_newton(nb::module_& m);

}  // namespace sqlrank::bindings

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of sqlrank: kernels on NumPy arrays. Internal: use the public functions.";
  m.attr("isa") = sqlrank::kernels().isa;
  sqlrank::bindings::bind_interactions(m);
  sqlrank::bindings::bind_parallel(m);
  sqlrank::bindings::bind_random(m);
  sqlrank::bindings::bind_topk(m);
  sqlrank::bindings::bind_engine(m);
  sqlrank::bindings::bind_generate(m);
  sqlrank::bindings::bind_metrics(m);
  sqlrank::bindings::bind_newton(m);
}
