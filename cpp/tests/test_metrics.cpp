// The metric kernels under sanitizers: known answers, the same bits for any number of threads, empty rows.
#include <cmath>
#include <cstring>
#include <vector>

#include "check.hpp"
#include "sqlrank/kernels.hpp"
#include "sqlrank/pool.hpp"

using namespace sqlrank;

static const MetricKernels& metric() { return *sqlrank_kernels()->metrics; }

static void test_known_answers(Executor& executor) {
  // User 0 is shown 4, 7, 1 and likes 1 and 4 of 1, 4, 5; user 1 likes 2 and is shown nothing; user 2 likes nothing.
  const std::vector<std::int64_t> list_offsets{0, 3, 3, 4}, truth_offsets{0, 3, 4, 4};
  const std::vector<std::int32_t> lists{4, 7, 1, 3}, truth_items{1, 4, 5, 2};
  const std::vector<double> gains{1, 3, 0, 1};
  const std::vector<std::uint8_t> relevant{1, 1, 0, 1};
  const std::vector<std::int32_t> kinds{0, 1, 2, 3, 4, 5, 6, 7}, cutoffs(8, 3);
  const std::vector<double> discounts{1.0, 1 / std::log2(3.0), 0.5};
  const std::vector<double> bits{0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<double> out(24, -1.0);
  const Truth truth{{3, truth_offsets.data(), truth_items.data()}, gains.data(), relevant.data()};
  const MetricRequest request{8, kinds.data(), cutoffs.data(), 3, discounts.data(), bits.data()};
  metric().list_metrics(executor, {3, list_offsets.data(), lists.data()}, truth, request, out.data());
  const double ndcg = (3 + 1 * 0.5) / (3 + 1 / std::log2(3.0));
  const double wanted[8] = {2.0 / 3, 1, 1, ndcg, (1 + 2.0 / 3) / 2, 1, 1, 4};
  for (int m = 0; m < 8; ++m) CHECK(std::fabs(out[m] - wanted[m]) < 1e-15);
  for (int m = 0; m < 7; ++m) CHECK(out[8 + m] == 0.0);
  CHECK(std::isnan(out[15]));
  for (int m = 0; m < 7; ++m) CHECK(std::isnan(out[16 + m]));
  CHECK(out[23] == 3.0);
}

// `rows` rows of 0 to 12 of the codes 0 .. 59, ascending.
struct RandomRows {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> items;
  RandomRows(std::int64_t rows, std::uint32_t seed) {
    Stream stream(seed, Purpose::test, 0, 0);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::int32_t code = -1;
      for (std::uint32_t i = stream.bounded(13); i > 0; --i) {
        code += 1 + static_cast<std::int32_t>(stream.bounded(5));
        items.push_back(code);
      }
      offsets.push_back(static_cast<std::int64_t>(items.size()));
    }
  }
  ItemRows view() const { return {static_cast<std::int64_t>(offsets.size()) - 1, offsets.data(), items.data()}; }
};

struct Results {
  std::vector<double> lists, areas;
  std::vector<std::int32_t> ranked;
  std::vector<std::uint8_t> marks;
};

static Results run_all(Pool& pool, int threads) {
  constexpr std::int64_t kRows = 3000, kColumns = 60;
  PoolExecutor executor(pool, threads, nullptr);
  const RandomRows lists(kRows, 1), wanted(kRows, 2);
  const std::vector<double> gains(wanted.items.size(), 1.0), bits(64, 0.5), discounts(10, 1.0);
  const std::vector<std::uint8_t> relevant(wanted.items.size(), 1);
  const Truth truth{wanted.view(), gains.data(), relevant.data()};
  const std::vector<std::int32_t> kinds{0, 1, 2, 3, 4, 5, 6, 7}, cutoffs{1, 2, 3, 4, 5, 6, 7, 10};
  Results out;
  out.lists.resize(kRows * 8);
  metric().list_metrics(executor, lists.view(), truth,
                        {8, kinds.data(), cutoffs.data(), 10, discounts.data(), bits.data()}, out.lists.data());

  out.marks.resize(lists.items.size());
  metric().contained(executor, lists.view(), wanted.view(), out.marks.data());

  std::vector<float> scores(lists.items.size());
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<float>(i * 7919 % 5);
  std::vector<std::int64_t> offsets{0};
  for (std::int64_t row = 0; row < kRows; ++row) {
    const std::int64_t length = lists.offsets[row + 1] - lists.offsets[row];
    offsets.push_back(offsets.back() + (length < 4 ? length : 4));
  }
  out.ranked.resize(static_cast<std::size_t>(offsets.back()));
  metric().rank_rows(executor, lists.view(), scores.data(), offsets.data(), out.ranked.data());

  std::vector<float> dense(kRows * kColumns);
  for (std::size_t i = 0; i < dense.size(); ++i) dense[i] = static_cast<float>(i * 104729 % 31);
  std::vector<std::int64_t> dense_offsets;
  for (std::int64_t row = 0; row <= kRows; ++row) dense_offsets.push_back(row * kColumns);
  const std::vector<std::int64_t> nothing(kRows + 1, 0);
  out.areas.resize(kRows);
  metric().row_auc(executor, dense_offsets.data(), dense.data(), {kRows, nothing.data(), nullptr}, truth,
                   out.areas.data());
  return out;
}

template <class T>
static bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

int main() {
  Pool pool;
  PoolExecutor executor(pool, 2, nullptr);
  test_known_answers(executor);
  const Results one = run_all(pool, 1);
  for (const int threads : {2, 5}) {
    const Results many = run_all(pool, threads);
    CHECK(same_bits(one.lists, many.lists));
    CHECK(same_bits(one.areas, many.areas));
    CHECK(same_bits(one.ranked, many.ranked));
    CHECK(same_bits(one.marks, many.marks));
  }
  return report("metrics");
}
