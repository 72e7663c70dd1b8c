#include "sqlrank/kernels.hpp"

namespace sqlrank {

extern const InteractionsKernels interactions_kernels;
extern const RandomKernels random_kernels;
extern const TopKKernels topk_kernels;
extern const EngineKernels engine_kernels;
extern const GenerateKernels generate_kernels;
extern const MetricKernels metric_kernels;
extern const NewtonKernels newton_kernels;

}  // namespace sqlrank

extern "C" const sqlrank::Kernels* sqlrank_kernels() {
  static const sqlrank::Kernels table{SQLRANK_ISA,
                                      &sqlrank::interactions_kernels,
                                      &sqlrank::random_kernels,
                                      &sqlrank::topk_kernels,
                                      &sqlrank::engine_kernels,
                                      &sqlrank::generate_kernels,
                                      &sqlrank::metric_kernels,
                                      &sqlrank::newton_kernels};
  return &table;
}
