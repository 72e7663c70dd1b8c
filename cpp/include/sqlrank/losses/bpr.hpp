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
    SQLRANK_INLINE explicit Pair(float d) {
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

  // Partners first, then all slopes at once, then the sums: the middle part is what the compiler can vectorise.
  template <bool WithValue>
  static double explicit_(const List& list, LossScratch& scratch, float* c, float* h) {
    const std::int64_t n = list.size;
    scratch.reserve_sorting(n);
    std::int32_t* partner = scratch.order.data();
    for (std::int64_t begin = 0, end; begin < n; begin = end) {
      end = list.end_of_level(begin);
      if (end - begin == n) return 0.0;
      find_partners(begin, end, n, partner);
    }
    float* margin = scratch.weight.data();
    float* slope = scratch.slope.data();
    double* sums = scratch.sums.data();
    for (std::int64_t i = 0; i < n; ++i) {
      const float ahead = list.scores[partner[i]] - list.scores[i];
      margin[i] = partner[i] < i ? -ahead : ahead;
    }
    double linear = 0.0;
#pragma omp simd reduction(+ : linear)
    for (std::int64_t i = 0; i < n; ++i) {
      const Pair pair(margin[i]);
      slope[i] = pair.slope;
      if (WithValue) {
        sums[i] = 1.0 + static_cast<double>(pair.rest);
        linear += margin[i] > 0.0f ? static_cast<double>(margin[i]) : 0.0;
      }
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const float pull = partner[i] < i ? slope[i] : -slope[i];
      c[i] += pull;
      c[partner[i]] -= pull;
      if (h == nullptr) continue;
      h[i] += kCurvature;
      h[partner[i]] += kCurvature;
    }
    return WithValue ? linear + sum_of_logs(scratch.sums.data(), n) : 0.0;
  }

  // Entry t of a level of `size` meets the one at place (2 t + 1) others / (2 size) of the others, found without a
  // division per entry.
  static void find_partners(std::int64_t begin, std::int64_t end, std::int64_t n, std::int32_t* partner) {
    const std::int64_t size = end - begin, others = n - size;
    std::int64_t place = others / (2 * size), rest = others % (2 * size);
    const std::int64_t step = others / size, more = 2 * (others % size);
    for (std::int64_t i = begin; i < end; ++i) {
      partner[i] = static_cast<std::int32_t>(place < begin ? place : place + size);
      place += step;
      rest += more;
      const bool over = rest >= 2 * size;
      place += over;
      rest -= over ? 2 * size : 0;
    }
  }
};

}  // namespace sqlrank
