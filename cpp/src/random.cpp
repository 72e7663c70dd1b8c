#include "sqlrank/random.hpp"

#include <cmath>

namespace sqlrank {

namespace {

void words(std::uint64_t seed, std::uint32_t purpose, std::uint32_t a, std::uint32_t b, std::uint32_t* out,
           std::int64_t n) {
  Stream stream(seed, static_cast<Purpose>(purpose), a, b);
  for (std::int64_t i = 0; i < n; ++i) out[i] = stream.next();
}

void bounded(std::uint64_t seed, std::uint32_t purpose, std::uint32_t a, std::uint32_t b, std::uint32_t bound,
             std::uint32_t* out, std::int64_t n) {
  Stream stream(seed, static_cast<Purpose>(purpose), a, b);
  for (std::int64_t i = 0; i < n; ++i) out[i] = stream.bounded(bound);
}

// Box-Muller: two normals from two uniforms.
void normal_row(Stream& stream, std::int64_t columns, float scale, float* out) {
  constexpr double kTwoPi = 6.283185307179586;
  for (std::int64_t c = 0; c < columns; c += 2) {
    const double radius = std::sqrt(-2.0 * std::log(stream.uniform()));
    const double angle = kTwoPi * stream.uniform();
    out[c] = scale * static_cast<float>(radius * std::cos(angle));
    if (c + 1 < columns) out[c + 1] = scale * static_cast<float>(radius * std::sin(angle));
  }
}

void normal_rows(std::uint64_t seed, std::uint32_t side, std::int64_t first_row, std::int64_t rows,
                 std::int64_t columns, std::int64_t stride, float scale, float* out) {
  for (std::int64_t r = 0; r < rows; ++r) {
    Stream stream(seed, Purpose::factors, side, static_cast<std::uint32_t>(first_row + r));
    float* row = out + r * stride;
    normal_row(stream, columns, scale, row);
    for (std::int64_t c = columns; c < stride; ++c) row[c] = 0.0f;
  }
}

}  // namespace

extern const RandomKernels random_kernels;
const RandomKernels random_kernels{words, bounded, normal_rows};

}  // namespace sqlrank
