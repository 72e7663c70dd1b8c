#include <nanobind/stl/optional.h>

#include <optional>

#include "common.hpp"

namespace sqlrank::bindings {

static void race(std::uint64_t seed, In2<float> user_factors, In2<float> item_factors, In<double> log_popularity,
                 In<std::uint32_t> keep, In<std::int32_t> other, In<std::int32_t> exposure, In<std::int64_t> indptr,
                 double noise, Out<std::int32_t> indices, std::optional<Out<float>> utilities,
                 std::optional<Out<std::int64_t>> seconds, std::uint32_t span, int threads) {
  const std::size_t users = user_factors.shape(0), items = item_factors.shape(0), rank = user_factors.shape(1);
  require(item_factors.shape(1) == rank, "users and items must have factors of one length");
  require(log_popularity.size() == items && keep.size() == items && other.size() == items,
          "popularity must have one entry per item");
  require(items >= 1 && items <= 0x7FFFFFFFu, "there must be between 1 and 2^31 - 1 items");
  require(exposure.size() == users && indptr.size() == users + 1, "exposure and indptr must fit the users");
  require(indptr.data()[0] == 0 && indptr.data()[users] == static_cast<std::int64_t>(indices.size()),
          "indptr must run from 0 to the length of indices");
  for (std::size_t u = 0; u < users; ++u) {
    const std::int64_t n = indptr.data()[u + 1] - indptr.data()[u];
    require(n >= 0 && n <= exposure.data()[u] && exposure.data()[u] <= static_cast<std::int64_t>(items),
            "exposure must lie between a user's events and the number of items");
  }
  require(!utilities || utilities->size() == indices.size(), "utilities must be as long as indices");
  require(!seconds || seconds->size() == indices.size(), "seconds must be as long as indices");
  require(noise > 0 && span >= 1, "noise and span must be positive");
  const RaceModel model{user_factors.data(),
                        item_factors.data(),
                        log_popularity.data(),
                        {keep.data(), other.data()},
                        exposure.data(),
                        indptr.data(),
                        static_cast<std::int64_t>(users),
                        static_cast<std::int64_t>(items),
                        static_cast<std::int64_t>(rank),
                        noise};
  const RaceResult result{indices.data(), utilities ? utilities->data() : nullptr, seconds ? seconds->data() : nullptr,
                          span};
  run_parallel(threads, [&](Executor& executor) { kernels().generate->race(executor, seed, model, result); });
}

void bind_generate(nb::module_& m) {
  m.def(
      "alias_table",
      [](In<double> log_weights, Out<std::uint32_t> keep, Out<std::int32_t> other) {
        require(log_weights.size() >= 1 && log_weights.size() <= 0x7FFFFFFFu, "there must be weights");
        require(keep.size() == log_weights.size() && other.size() == log_weights.size(),
                "keep and other must be as long as the weights");
        kernels().generate->alias_table(log_weights.data(), static_cast<std::int64_t>(log_weights.size()), keep.data(),
                                        other.data());
      },
      nb::arg("log_weights"), nb::arg("keep").noconvert(), nb::arg("other").noconvert(),
      "Walker's alias table of the distribution proportional to exp(log_weights).");
  m.def("generate_race", &race, nb::arg("seed"), nb::arg("user_factors"), nb::arg("item_factors"),
        nb::arg("log_popularity"), nb::arg("keep"), nb::arg("other"), nb::arg("exposure"), nb::arg("indptr"),
        nb::arg("noise"), nb::arg("indices").noconvert(), nb::arg("utilities").noconvert().none(),
        nb::arg("seconds").noconvert().none(), nb::arg("span") = 1, nb::arg("threads") = 1,
        "Run every user's exponential race among the items the user is shown; fills `indices` (item codes, ascending "
        "within a user) and, where given, `utilities` (-log of the arrival times) and `seconds` (uniform below span).");
}

}  // namespace sqlrank::bindings
