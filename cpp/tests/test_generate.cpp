#include <cmath>
#include <vector>

#include "check.hpp"
#include "sqlrank/kernels.hpp"
#include "sqlrank/pool.hpp"

using namespace sqlrank;

// Users with one event, all events, and exposure by draws as well as by a race.
struct World {
  static constexpr std::int64_t kUsers = 500, kItems = 90, kRank = 5;
  std::vector<float> users, items;
  std::vector<double> popularity;
  std::vector<std::uint32_t> keep;
  std::vector<std::int32_t> other, exposure;
  std::vector<std::int64_t> indptr{0};

  World() : users(kUsers * kRank), items(kItems * kRank), popularity(kItems), keep(kItems), other(kItems) {
    const Kernels& table = *sqlrank_kernels();
    table.random->normal_rows(1, 0, 0, kUsers, kRank, kRank, 1.0f, users.data());
    table.random->normal_rows(1, 1, 0, kItems, kRank, kRank, 1.0f, items.data());
    for (std::int64_t i = 0; i < kItems; ++i) popularity[i] = -2.5 * std::log1p(static_cast<double>(i));
    table.generate->alias_table(popularity.data(), kItems, keep.data(), other.data());
    for (std::int64_t u = 0; u < kUsers; ++u) {
      const std::int64_t n = u % (kItems + 1), shown = u % 3 == 0 ? n : u % 3 == 1 ? kItems : (n + kItems) / 2;
      exposure.push_back(static_cast<std::int32_t>(shown));
      indptr.push_back(indptr.back() + n);
    }
  }

  struct Events {
    std::vector<std::int32_t> indices;
    std::vector<float> utilities;
    std::vector<std::int64_t> seconds;
  };

  Events run(int threads) const {
    const auto n = static_cast<std::size_t>(indptr.back());
    Events events{std::vector<std::int32_t>(n), std::vector<float>(n), std::vector<std::int64_t>(n)};
    PoolExecutor executor(global_pool(), threads, nullptr);
    const RaceModel model{users.data(),
                          items.data(),
                          popularity.data(),
                          {keep.data(), other.data()},
                          exposure.data(),
                          indptr.data(),
                          kUsers,
                          kItems,
                          kRank,
                          0.5};
    sqlrank_kernels()->generate->race(executor, 3, model,
                                      {events.indices.data(), events.utilities.data(), events.seconds.data(), 1000});
    return events;
  }
};

int main() {
  const World world;
  const World::Events one = world.run(1);
  for (const int threads : {2, 3, 8}) {
    const World::Events many = world.run(threads);
    CHECK(many.indices == one.indices);
    CHECK(many.utilities == one.utilities);
    CHECK(many.seconds == one.seconds);
  }
  for (std::int64_t u = 0; u < World::kUsers; ++u) {
    for (std::int64_t k = world.indptr[u]; k < world.indptr[u + 1]; ++k) {
      CHECK(one.indices[k] >= 0 && one.indices[k] < World::kItems);
      CHECK(k == world.indptr[u] || one.indices[k - 1] < one.indices[k]);
      CHECK(std::isfinite(one.utilities[k]));
      CHECK(one.seconds[k] >= 0 && one.seconds[k] < 1000);
    }
  }

  // One item, and weights so uneven that all but one share of the alias table is tiny.
  const double alone = -7.0;
  std::uint32_t keep = 0;
  std::int32_t other = -1;
  sqlrank_kernels()->generate->alias_table(&alone, 1, &keep, &other);
  CHECK(other == 0);
  return report("generate");
}
