// Squared error against the levels: loss = 1/2 sum of (x_l - r_l)^2, c_l = x_l - r_l, h_l = 1.
#pragma once

#include "sqlrank/losses/loss.hpp"

namespace sqlrank {

struct SquaredError {
  template <bool WithValue>
  double operator()(const List& list, LossScratch&, float* c, float* h) const {
    const std::int64_t n = list.size;
    const std::int64_t positives = list.positives < n ? list.positives : n;
    if (list.levels != nullptr) {
      for (std::int64_t i = 0; i < n; ++i) c[i] = list.scores[i] - list.levels[i];
    } else {
      for (std::int64_t i = 0; i < positives; ++i) c[i] = list.scores[i] - 1.0f;
      for (std::int64_t i = positives; i < n; ++i) c[i] = list.scores[i];
    }
    if (h != nullptr) {
      for (std::int64_t i = 0; i < n; ++i) h[i] = 1.0f;
    }
    double value = 0.0;
    if (WithValue) {
#pragma omp simd reduction(+ : value)
      for (std::int64_t i = 0; i < n; ++i) value += static_cast<double>(c[i]) * static_cast<double>(c[i]);
    }
    return 0.5 * value;
  }
};

}  // namespace sqlrank
