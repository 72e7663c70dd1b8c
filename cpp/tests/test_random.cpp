#include <cmath>
#include <vector>

#include "check.hpp"
#include "sqlrank/kernels.hpp"

using namespace sqlrank;

static bool equal(PhiloxBlock got, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return got.word[0] == a && got.word[1] == b && got.word[2] == c && got.word[3] == d;
}

int main() {
  // Known answers published with the generator.
  CHECK(equal(philox4x32({{0, 0, 0, 0}}, 0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  CHECK(equal(philox4x32({{~0u, ~0u, ~0u, ~0u}}, ~0u, ~0u), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  CHECK(equal(philox4x32({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0), 0xd16cfe09,
              0x94fdcceb, 0x5001e420, 0x24126ea1));

  const RandomKernels& random = *sqlrank_kernels()->random;
  std::vector<std::uint32_t> words(1000);
  const std::uint64_t seed = 0x123456789abcdef0u;
  random.words(seed, 2, 7, 11, words.data(), 1000);
  for (std::uint32_t block = 0; block < 250; ++block) {
    const PhiloxBlock one =
        philox4x32({{block, 2, 7, 11}}, static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
    CHECK(equal(one, words[4 * block], words[4 * block + 1], words[4 * block + 2], words[4 * block + 3]));
  }

  // Bounded integers: in range, and flat to five standard deviations.
  for (const std::uint32_t bound : {1u, 2u, 3u, 10u, 1000u, 0x80000001u, 0xffffffffu}) {
    std::vector<std::uint32_t> draws(100000);
    random.bounded(5, 0, 0, bound, bound, draws.data(), 100000);
    std::vector<int> histogram(3, 0);
    for (const std::uint32_t draw : draws) {
      CHECK(draw < bound);
      ++histogram[static_cast<std::size_t>(std::uint64_t{3} * draw / bound)];
    }
    if (bound % 3 == 0 || bound > 1000) {
      for (const int count : histogram) CHECK(std::fabs(count - 1e5 / 3) < 5 * std::sqrt(1e5 * 2 / 9));
    }
  }

  std::vector<float> rows(50 * 16), tail(10 * 16);
  random.normal_rows(9, 1, 0, 50, 11, 16, 0.1f, rows.data());
  random.normal_rows(9, 1, 40, 10, 11, 16, 0.1f, tail.data());
  double sum = 0, squares = 0;
  for (int r = 0; r < 50; ++r) {
    for (int c = 0; c < 16; ++c) {
      const float x = rows[r * 16 + c];
      if (c >= 11) CHECK(x == 0.0f);
      if (r >= 40) CHECK(x == tail[(r - 40) * 16 + c]);
      sum += x;
      squares += x * x;
    }
  }
  CHECK(std::fabs(sum / 550) < 5 * 0.1 / std::sqrt(550.0));
  CHECK(std::fabs(squares / 550 - 0.01) < 5 * 0.01 * std::sqrt(2.0 / 550));
  return report("random");
}
