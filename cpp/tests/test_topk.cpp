// Top-n lists against sorting all scores, under the sanitizers: shapes around the tile sizes, ties, exclusions.
#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "sqlrank/kernels.hpp"
#include "sqlrank/pool.hpp"

using namespace sqlrank;

namespace {

struct Problem {
  std::int64_t users, items, rank, n;
  bool ties;
};

std::int64_t stride_of(std::int64_t rank) { return ceil_div(rank, 16) * 16; }

std::vector<float> factors(const Problem& problem, std::uint32_t side, std::int64_t rows) {
  const std::int64_t stride = stride_of(problem.rank);
  std::vector<float> out(static_cast<std::size_t>(rows * stride));
  sqlrank_kernels()->random->normal_rows(3, side, 0, rows, problem.rank, stride, 1.0f, out.data());
  if (problem.ties) {
    for (float& value : out) value = std::round(value);
  }
  return out;
}

double score(const float* user, const float* item, std::int64_t stride) {
  double lane[8] = {};
  for (std::int64_t c = 0; c < stride; ++c) lane[c % 8] += static_cast<double>(user[c]) * static_cast<double>(item[c]);
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

void compare(const Problem& problem, int threads) {
  const std::int64_t stride = stride_of(problem.rank);
  const auto users = factors(problem, 0, problem.users), items = factors(problem, 1, problem.items);
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> indices;
  for (std::int64_t u = 0; u < problem.users; ++u) {
    for (std::int64_t i = u % 5; i < problem.items; i += 3 + u % 7) indices.push_back(static_cast<std::int32_t>(i));
    indptr.push_back(static_cast<std::int64_t>(indices.size()));
  }
  TopKQuery query;
  query.users = {users.data(), nullptr, problem.users};
  query.items = {items.data(), nullptr, problem.items};
  query.rank = problem.rank;
  query.stride = stride;
  query.n = problem.n;
  query.exclude = {indptr.data(), indices.data()};
  std::vector<std::int32_t> codes(static_cast<std::size_t>(problem.users * problem.n));
  std::vector<std::int32_t> counts(static_cast<std::size_t>(problem.users));
  std::vector<float> scores(codes.size());
  const TopKLists out{codes.data(), scores.data(), counts.data(), problem.n};
  TopKStats stats;
  PoolExecutor executor(global_pool(), threads, nullptr);
  sqlrank_kernels()->topk->recommend(executor, query, out, &stats);

  bool right = true;
  for (std::int64_t u = 0; u < problem.users; ++u) {
    std::vector<std::pair<double, std::int32_t>> all;
    for (std::int32_t i = 0; i < problem.items; ++i) {
      const auto begin = indices.begin() + indptr[static_cast<std::size_t>(u)];
      const auto end = indices.begin() + indptr[static_cast<std::size_t>(u) + 1];
      if (std::binary_search(begin, end, i)) continue;
      all.emplace_back(-score(users.data() + u * stride, items.data() + i * stride, stride), i);
    }
    std::sort(all.begin(), all.end());
    const auto expected = std::min<std::size_t>(all.size(), static_cast<std::size_t>(problem.n));
    right = right && counts[static_cast<std::size_t>(u)] == static_cast<std::int32_t>(expected);
    for (std::size_t i = 0; right && i < expected; ++i) {
      right = codes[static_cast<std::size_t>(u * problem.n) + i] == all[i].second;
    }
  }
  CHECK(right);
}

}  // namespace

int main() {
  for (const bool ties : {false, true}) {
    for (const int threads : {1, 3}) {
      compare({9, 256, 1, 3, ties}, threads);
      compare({33, 300, 17, 20, ties}, threads);
      compare({140, 1001, 40, 7, ties}, threads);
      compare({5, 40, 8, 60, ties}, threads);
      compare({20, 1000, 12, 200, ties}, threads);
    }
  }
  return report("topk");
}
