// ListRank-MF (Shi, Larson, Hanjalic 2010): the cross-entropy between two distributions of which item comes first,
//
//   p_l = exp r_l / sum of exp r,   q_l = exp g(x_l) / sum of exp g(x),   g the sigmoid
//   loss = - sum of p_l log q_l = log(sum of exp g(x)) - sum of p_l g(x_l)
//   c_l  = g'(x_l) (q_l - p_l)
#pragma once

#include <cmath>

#include "sqlrank/losses/plackett_luce.hpp"

namespace sqlrank {

struct ListRank {
  template <bool WithValue>
  double operator()(const List& list, LossScratch& scratch, float* c, float* h) const {
    const std::int64_t n = list.size;
    if (n == 0) return 0.0;
    float* weight = scratch.weight.data();
    float* slope = scratch.slope.data();
    SigmoidLink::apply<false>(list.scores, n, 0, weight, slope);
    const double all = total(weight, n);
    // The first level is the highest: no exponential of a difference to it overflows.
    const float top = list.level(0);
    if (list.levels != nullptr) {
      for (std::int64_t i = 0; i < n; ++i) c[i] = fast_exp(list.levels[i] - top);
    } else {
      for (std::int64_t i = 0; i < n; ++i) c[i] = fast_exp((i < list.positives ? 1.0f : 0.0f) - top);
    }
    const auto share = static_cast<float>(1.0 / total(c, n)), part = static_cast<float>(1.0 / all);
    double value = 0.0;
    if (WithValue) {
      double target = 0.0;
#pragma omp simd reduction(+ : target)
      for (std::int64_t i = 0; i < n; ++i) target += static_cast<double>(c[i] * share * sigmoid(list.scores[i]));
      value = std::log(all) - target;
    }
    if (h != nullptr) {
      for (std::int64_t i = 0; i < n; ++i) {
        h[i] = SigmoidLink::kPartitionCurvature * weight[i] * part + SigmoidLink::kTargetCurvature * c[i] * share;
      }
    }
    for (std::int64_t i = 0; i < n; ++i) c[i] = slope[i] * (weight[i] * part - c[i] * share);
    return value;
  }

 private:
  static double total(const float* values, std::int64_t n) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(values[i]);
    return sum;
  }
};

}  // namespace sqlrank
