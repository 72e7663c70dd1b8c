// Exponentials and sums of logarithms that the compiler can vectorise. Plain arithmetic: the same bits for the same
// instruction set, whatever the C library.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

// A loop with a call in it is not vectorised.
#define SQLRANK_INLINE __attribute__((always_inline)) inline

namespace sqlrank {

// exp(x) to about one unit in the last place; x is clamped to [-87, 88], where the result is a normal float.
SQLRANK_INLINE float fast_exp(float x) {
  x = x < -87.0f ? -87.0f : (x > 88.0f ? 88.0f : x);
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  const float shifted = x * 1.44269504088896341f + kRound;
  const float n = shifted - kRound;
  float r = x - n * 0.693359375f;  // ln 2 in two parts
  r = r + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  std::int32_t exponent, bits;
  std::memcpy(&exponent, &shifted, sizeof exponent);
  std::memcpy(&bits, &p, sizeof bits);
  bits += static_cast<std::int32_t>(static_cast<std::uint32_t>(exponent) << 23);
  std::memcpy(&p, &bits, sizeof p);
  return p;
}

SQLRANK_INLINE float sigmoid(float x) { return 1.0f / (1.0f + fast_exp(-x)); }

// log(exp a + exp b) without overflow.
inline double log_add(double a, double b) {
  const double high = a < b ? b : a, low = a < b ? a : b;
  return high + std::log1p(std::exp(low - high));
}

// Sum of log(values[i]) for positive normal numbers: the mantissas are multiplied, the exponents added, and one
// logarithm is taken per 256 numbers of a lane. NaN and infinity make the sum NaN.
inline double sum_of_logs(const double* values, std::int64_t n) {
  constexpr int kLanes = 8;
  constexpr std::int64_t kTerms = 256;  // mantissas are below 2: the product stays below 2^256
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1, kOne = std::uint64_t{1023} << 52;
  double total = 0.0;
  std::int64_t exponents[kLanes] = {};
  std::uint64_t largest[kLanes] = {};
  for (std::int64_t begin = 0; begin < n; begin += kLanes * kTerms) {
    const std::int64_t end = begin + kLanes * kTerms < n ? begin + kLanes * kTerms : n;
    double product[kLanes] = {1, 1, 1, 1, 1, 1, 1, 1};
    std::int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
#pragma omp simd
      for (int lane = 0; lane < kLanes; ++lane) {
        std::uint64_t bits;
        std::memcpy(&bits, values + i + lane, sizeof bits);
        exponents[lane] += static_cast<std::int64_t>(bits >> 52) - 1023;
        largest[lane] = largest[lane] < bits ? bits : largest[lane];
        bits = (bits & kMantissa) | kOne;
        double mantissa;
        std::memcpy(&mantissa, &bits, sizeof mantissa);
        product[lane] *= mantissa;
      }
    }
    for (; i < end; ++i) total += std::log(values[i]);
    for (int lane = 0; lane < kLanes; ++lane) total += std::log(product[lane]);
  }
  std::int64_t exponent = 0;
  for (const std::int64_t e : exponents) exponent += e;
  for (const std::uint64_t bits : largest) {
    if ((bits >> 52) >= 0x7FF) return std::nan("");
  }
  return total + static_cast<double>(exponent) * 0.693147180559945309417;
}

// Running sums from both ends, in place where `out` may be `values`. The list is cut into four parts whose sums run
// side by side: a single running sum would wait for its own last addition at every entry.
template <class Value>
inline void prefix_sums(const Value* values, std::int64_t n, double* out) {
  const std::int64_t part = n / 4;
  double sum[4] = {0, 0, 0, 0};
  for (std::int64_t i = 0; i < part; ++i) {
    for (int s = 0; s < 4; ++s) {
      sum[s] += static_cast<double>(values[s * part + i]);
      out[s * part + i] = sum[s];
    }
  }
  double before = 0.0;
  for (int s = 0; s < 4; ++s) {
    if (s > 0) {
      for (std::int64_t i = s * part; i < (s + 1) * part; ++i) out[i] += before;
    }
    before += sum[s];
  }
  for (std::int64_t i = 4 * part; i < n; ++i) {
    before += static_cast<double>(values[i]);
    out[i] = before;
  }
}

template <class Value>
inline void suffix_sums(const Value* values, std::int64_t n, double* out) {
  const std::int64_t part = n / 4;
  double after = 0.0;
  for (std::int64_t i = n - 1; i >= 4 * part; --i) {
    after += static_cast<double>(values[i]);
    out[i] = after;
  }
  double sum[4] = {0, 0, 0, 0};
  for (std::int64_t i = part - 1; i >= 0; --i) {
    for (int s = 0; s < 4; ++s) {
      sum[s] += static_cast<double>(values[s * part + i]);
      out[s * part + i] = sum[s];
    }
  }
  for (int s = 3; s >= 0; --s) {
    for (std::int64_t i = s * part; i < (s + 1) * part; ++i) out[i] += after;
    after += sum[s];
  }
}

}  // namespace sqlrank
