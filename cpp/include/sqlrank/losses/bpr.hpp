// BPR (Rendle et al. 2009): loss = sum over pairs of log(1 + exp(-(x_better - x_worse))).
//
// Implicit lists: negative number t is paired with positive number t mod P, so every positive meets rho negatives of
// its own. Explicit lists: every entry is paired with one entry of another level; the entries of a level spread evenly
// over the others. The queue orders the entries of a level at random, anew in every epoch, so the partners are random.
// A pair bends the loss by at most 1/4 [1 -1; -1 1], which diag(1/2, 1/2) bounds.
#pragma once

#include "sqlrank/losses/loss.hpp"
#include "sqlrank/math.hpp"

namespace sqlrank {

struct Bpr {
  static constexpr float kCurvature = 0.5f;

  template <bool WithValue>
  double operator()(const List& list, LossScratch& scratch, float* c, float* h) const {
    const std::int64_t n = list.size;
    for (std::int64_t i = 0; i < n; ++i) c[i] = 0.0f;
    if (h != nullptr) {
      for (std::int64_t i = 0; i < n; ++i) h[i] = 0.0f;
    }
    return list.levels == nullptr ? implicit<WithValue>(list, scratch, c, h)
                                  : explicit_<WithValue>(list, scratch, c, h);
  }

 private:
  // log(1 + exp d) = max(d, 0) + log(1 + exp -|d|), and its slope: digits are kept at both ends.
  struct Pair {
    float slope, rest;
    explicit Pair(float d) {
      rest = fast_exp(d < 0.0f ? d : -d);
      slope = (d < 0.0f ? rest : 1.0f) / (1.0f + rest);
    }
  };

  // Rounds of P pairs: both sides of a round are neighbours in memory.
  template <bool WithValue>
  static double implicit(const List& list, LossScratch& scratch, float* c, float* h) {
    const std::int64_t n = list.size, positives = list.positives < n ? list.positives : n;
    const float* x = list.scores;
    if (positives == 0) return 0.0;
    double linear = 0.0;
    for (std::int64_t begin = positives; begin < n; begin += positives) {
      const std::int64_t size = begin + positives < n ? positives : n - begin;
#pragma omp simd reduction(+ : linear)
      for (std::int64_t i = 0; i < size; ++i) {
        const float d = x[begin + i] - x[i];
        const Pair pair(d);
        c[i] -= pair.slope;
        c[begin + i] = pair.slope;
        if (!WithValue) continue;
        scratch.sums[begin - positives + i] = 1.0 + static_cast<double>(pair.rest);
        linear += d > 0.0f ? static_cast<double>(d) : 0.0;
      }
      if (h == nullptr) continue;
      for (std::int64_t i = 0; i < size; ++i) {
        h[i] += kCurvature;
        h[begin + i] = kCurvature;
      }
    }
    return WithValue ? linear + sum_of_logs(scratch.sums.data(), n - positives) : 0.0;
  }

  template <bool WithValue>
  static double explicit_(const List& list, LossScratch& scratch, float* c, float* h) {
    const std::int64_t n = list.size;
    std::int64_t pairs = 0;
    double linear = 0.0;
    for (std::int64_t begin = 0, end; begin < n; begin = end) {
      end = list.end_of_level(begin);
      const std::int64_t size = end - begin, others = n - size;
      if (others == 0) return 0.0;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t place = (2 * (i - begin) + 1) * others / (2 * size);
        const std::int64_t partner = place < begin ? place : place + size;
        const std::int64_t better = partner < i ? partner : i, worse = partner < i ? i : partner;
        const float d = list.scores[worse] - list.scores[better];
        const Pair pair(d);
        c[better] -= pair.slope;
        c[worse] += pair.slope;
        if (WithValue) {
          scratch.sums[pairs] = 1.0 + static_cast<double>(pair.rest);
          linear += d > 0.0f ? static_cast<double>(d) : 0.0;
        }
        ++pairs;
        if (h == nullptr) continue;
        h[better] += kCurvature;
        h[worse] += kCurvature;
      }
    }
    return WithValue ? linear + sum_of_logs(scratch.sums.data(), pairs) : 0.0;
  }
};

}  // namespace sqlrank
