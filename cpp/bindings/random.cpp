#include "common.hpp"

namespace sqlrank::bindings {

void bind_random(nb::module_& m) {
  m.def(
      "philox_block",
      [](std::uint32_t c0, std::uint32_t c1, std::uint32_t c2, std::uint32_t c3, std::uint32_t k0, std::uint32_t k1) {
        const PhiloxBlock block = philox4x32({{c0, c1, c2, c3}}, k0, k1);
        return std::make_tuple(block.word[0], block.word[1], block.word[2], block.word[3]);
      },
      nb::arg("c0"), nb::arg("c1"), nb::arg("c2"), nb::arg("c3"), nb::arg("k0"), nb::arg("k1"),
      "One block of Philox4x32-10.");
  m.def(
      "random_words",
      [](std::uint64_t seed, std::uint32_t purpose, std::uint32_t a, std::uint32_t b, Out<std::uint32_t> out) {
        kernels().random->words(seed, purpose, a, b, out.data(), static_cast<std::int64_t>(out.size()));
      },
      nb::arg("seed"), nb::arg("purpose"), nb::arg("a"), nb::arg("b"), nb::arg("out").noconvert(),
      "Fill `out` with the numbers of the stream (seed, purpose, a, b).");
  m.def(
      "random_bounded",
      [](std::uint64_t seed, std::uint32_t purpose, std::uint32_t a, std::uint32_t b, std::uint32_t bound,
         Out<std::uint32_t> out) {
        require(bound >= 1, "bound must be at least 1");
        kernels().random->bounded(seed, purpose, a, b, bound, out.data(), static_cast<std::int64_t>(out.size()));
      },
      nb::arg("seed"), nb::arg("purpose"), nb::arg("a"), nb::arg("b"), nb::arg("bound"), nb::arg("out").noconvert(),
      "Fill `out` with unbiased integers in [0, bound).");
  m.def(
      "normal_rows",
      [](std::uint64_t seed, std::uint32_t side, std::int64_t first_row, std::int64_t columns, float scale,
         Out2<float> out, int threads) {
        const auto rows = static_cast<std::int64_t>(out.shape(0));
        const auto stride = static_cast<std::int64_t>(out.shape(1));
        require(columns >= 0 && columns <= stride, "columns must fit into the rows of out");
        constexpr std::int64_t kRows = 256;
        run_parallel(threads, [&](Executor& executor) {
          parallel_for(executor, ceil_div(rows, kRows), [&](std::int64_t block, int) {
            const std::int64_t begin = block * kRows;
            const std::int64_t count = rows - begin < kRows ? rows - begin : kRows;
            kernels().random->normal_rows(seed, side, first_row + begin, count, columns, stride, scale,
                                          out.data() + begin * stride);
          });
        });
      },
      nb::arg("seed"), nb::arg("side"), nb::arg("first_row"), nb::arg("columns"), nb::arg("scale"),
      nb::arg("out").noconvert(), nb::arg("threads") = 1,
      "Fill the rows of `out` with N(0, scale^2); row r depends on (seed, side, first_row + r) alone.");
}

}  // namespace sqlrank::bindings
