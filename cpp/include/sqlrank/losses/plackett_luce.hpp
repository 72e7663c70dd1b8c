// The Plackett-Luce negative log-likelihood of a list (the paper's equation 2, with the corrected gradient):
//
//   loss = sum over t <= K of ( log S_t - g(x_t) ),   S_t = sum over l >= t of exp g(x_l)
//   c_l  = g'(x_l) ( exp g(x_l) * sum over t <= min(l, K) of 1/S_t  -  [l <= K] )
//
// Suffix sums S and prefix sums of 1/S make both linear in the list's length.
#pragma once

#include "sqlrank/losses/loss.hpp"
#include "sqlrank/math.hpp"

namespace sqlrank {

// g = sigmoid, the paper's: exp g is bounded in (1, e).
struct SigmoidLink {
  // g'^2 + |g''| bounds the curvature of log-sum-exp(g), |g''| that of g.
  static constexpr float kPartitionCurvature = 1.0f / 16 + 0.0963f, kTargetCurvature = 0.0963f;

  // Fills weight = exp g and slope = g'; returns the sum of g over the first k scores, less the shift's part (none
  // here).
  template <bool WithValue>
  static double apply(const float* x, std::int64_t n, std::int64_t k, float* weight, float* slope) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
      const float g = sigmoid(x[i]);
      weight[i] = fast_exp(g);
      slope[i] = g * (1.0f - g);
    }
    if (WithValue) {
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = 0; i < k; ++i) sum += static_cast<double>(sigmoid(x[i]));
    }
    return sum;
  }
};

// g = identity: the classical model. Scores are shifted by the list's maximum; scores more than 87 below it count as
// 87 below, so that no sum underflows.
struct IdentityLink {
  static constexpr float kPartitionCurvature = 1.0f, kTargetCurvature = 0.0f;

  template <bool WithValue>
  static double apply(const float* x, std::int64_t n, std::int64_t k, float* weight, float* slope) {
    float top = x[0];
#pragma omp simd reduction(max : top)
    for (std::int64_t i = 0; i < n; ++i) top = top < x[i] ? x[i] : top;
    for (std::int64_t i = 0; i < n; ++i) {
      weight[i] = fast_exp(x[i] - top);
      slope[i] = 1.0f;
    }
    double sum = 0.0;
    if (WithValue) {
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = 0; i < k; ++i) sum += static_cast<double>(x[i] - top);
    }
    return sum;
  }
};

template <class Link>
struct PlackettLuce {
  std::int64_t k = kFullList;

  template <bool WithValue>
  double operator()(const List& list, LossScratch& scratch, float* c, float* h) const {
    const std::int64_t n = list.size, top = depth(list, k);
    if (n == 0 || top == 0) {
      for (std::int64_t i = 0; i < n; ++i) c[i] = 0.0f;
      if (h != nullptr) {
        for (std::int64_t i = 0; i < n; ++i) h[i] = 0.0f;
      }
      return 0.0;
    }
    float* weight = scratch.weight.data();
    float* slope = scratch.slope.data();
    double* sums = scratch.sums.data();
    double value = -Link::template apply<WithValue>(list.scores, n, top, weight, slope);
    suffix_sums(weight, n, sums);
    if (WithValue) value += sum_of_logs(sums, top);
    for (std::int64_t i = 0; i < top; ++i) sums[i] = 1.0 / sums[i];
    prefix_sums(sums, top, sums);
    coefficients(weight, slope, sums, n, top, c, h);
    return value;
  }

 private:
  static void coefficients(const float* weight, const float* slope, const double* inverse_sums, std::int64_t n,
                           std::int64_t top, float* c, float* h) {
    const double last = inverse_sums[top - 1];
    for (std::int64_t i = 0; i < top; ++i) {
      c[i] = slope[i] * static_cast<float>(static_cast<double>(weight[i]) * inverse_sums[i] - 1.0);
    }
    for (std::int64_t i = top; i < n; ++i) {
      c[i] = slope[i] * static_cast<float>(static_cast<double>(weight[i]) * last);
    }
    if (h == nullptr) return;
    for (std::int64_t i = 0; i < top; ++i) {
      h[i] = Link::kPartitionCurvature * static_cast<float>(static_cast<double>(weight[i]) * inverse_sums[i]) +
             Link::kTargetCurvature;
    }
    for (std::int64_t i = top; i < n; ++i) {
      h[i] = Link::kPartitionCurvature * static_cast<float>(static_cast<double>(weight[i]) * last);
    }
  }
};

}  // namespace sqlrank
