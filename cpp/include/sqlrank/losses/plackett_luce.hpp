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
  static bool spreads(const float*, std::int64_t) { return false; }

  // g'^2 + |g''| bounds the curvature of log-sum-exp(g), |g''| that of g.
  static constexpr float kPartitionCurvature = 1.0f / 16 + 0.0963f, kTargetCurvature = 0.0963f;

  // Fills weight = exp g and slope = g'; returns the sum of g over the first k scores, less the shift's part (none
  // here).
  template <bool WithValue>
  static double apply(const float* x, std::int64_t n, std::int64_t k, float* weight, float* slope) {
    double sum = 0.0;
    if (WithValue) {
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = 0; i < k; ++i) sum += static_cast<double>(both(x[i], weight + i, slope + i));
    }
#pragma omp simd
    for (std::int64_t i = WithValue ? k : 0; i < n; ++i) both(x[i], weight + i, slope + i);
    return sum;
  }

 private:
  // One exponential and one division for the sigmoid and its slope, which keeps its digits where the sigmoid is flat.
  static SQLRANK_INLINE float both(float x, float* weight, float* slope) {
    const float e = fast_exp(x < 0.0f ? x : -x), share = 1.0f / (1.0f + e), rest = e * share;
    const float g = x < 0.0f ? rest : share;
    *weight = fast_exp(g);
    *slope = share * rest;
    return g;
  }
};

// g = identity: the classical model. Scores are shifted by the list's maximum. Where some lie so far below it that
// their weights would leave the range of floats, the list is worked out in logarithms instead.
struct IdentityLink {
  static bool spreads(const float* x, std::int64_t n) {
    float low = x[0], high = x[0];
    for (std::int64_t i = 1; i < n; ++i) {
      low = x[i] < low ? x[i] : low;
      high = high < x[i] ? x[i] : high;
    }
    return high - low > 80.0f;
  }

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
    if (Link::spreads(list.scores, n)) return in_logarithms(list.scores, n, top, scratch.sums.data(), c, h);
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
  // The identity link for scores of any spread: log S by adding logarithms from the end, log(sum of 1/S) from the
  // front.
  static double in_logarithms(const float* x, std::int64_t n, std::int64_t top, double* log_sums, float* c, float* h) {
    log_sums[n - 1] = static_cast<double>(x[n - 1]);
    for (std::int64_t i = n - 2; i >= 0; --i) log_sums[i] = log_add(log_sums[i + 1], static_cast<double>(x[i]));
    double value = 0.0, log_inverse = -log_sums[0];
    for (std::int64_t i = 0; i < n; ++i) {
      if (i < top) {
        value += log_sums[i] - static_cast<double>(x[i]);
        if (i > 0) log_inverse = log_add(log_inverse, -log_sums[i]);
      }
      const double share = std::exp(static_cast<double>(x[i]) + log_inverse);
      c[i] = static_cast<float>(share - (i < top ? 1.0 : 0.0));
      if (h != nullptr)
        h[i] = Link::kPartitionCurvature * static_cast<float>(share) + (i < top ? Link::kTargetCurvature : 0.0f);
    }
    return value;
  }

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
