// The table of one instruction set's kernels. The module opens the object that fits the machine and asks for it.
#pragma once

#include "sqlrank/engine.hpp"
#include "sqlrank/generate.hpp"
#include "sqlrank/interactions.hpp"
#include "sqlrank/metrics.hpp"
#include "sqlrank/newton.hpp"
#include "sqlrank/random.hpp"
#include "sqlrank/topk.hpp"

namespace sqlrank {

struct Kernels {
  const char* isa;
  const InteractionsKernels* interactions;
  const RandomKernels* random;
  const TopKKernels* topk;
  const EngineKernels* engine;
  const GenerateKernels* generate;
  const MetricKernels* metrics;
  const NewtonKernels* newton;
};

// The table in use; the module loads it once (cpp/runtime/dispatch.cpp).
const Kernels& kernels();

}  // namespace sqlrank

extern "C" __attribute__((visibility("default"))) const sqlrank::Kernels* sqlrank_kernels();
