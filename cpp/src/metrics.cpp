#include "sqlrank/metrics.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace sqlrank {

namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kUsersPerTask = 256;

// Calls function(row, worker) for every row. A row's result depends on the row alone: no order, no thread matters.
template <class Function>
void for_each_row(Executor& executor, std::int64_t rows, std::int64_t rows_per_task, Function&& function) {
  parallel_for(executor, ceil_div(rows, rows_per_task), [&](std::int64_t task, int worker) {
    const std::int64_t end = std::min(rows, (task + 1) * rows_per_task);
    for (std::int64_t row = task * rows_per_task; row < end; ++row) function(row, worker);
  });
}

// One user's list against the truth: everything the metrics are made of.
struct Match {
  std::vector<std::uint8_t> hits;  // [deepest] place l holds a relevant item
  std::vector<double> gains;       // [deepest]
  std::vector<double> ideal;       // [deepest] the largest gains, falling
  const std::int32_t* items = nullptr;
  std::int32_t length = 0;    // places of the list that are looked at, <= deepest
  std::int64_t relevant = 0;  // relevant items of the user, found or not
};

void match_list(const ItemRows& lists, const Truth& truth, std::int64_t user, std::int32_t deepest, Match& match) {
  const std::int64_t first = truth.rows.indptr[user], last = truth.rows.indptr[user + 1];
  const std::int32_t* begin = truth.rows.items + first;
  const std::int32_t* end = truth.rows.items + last;
  match.items = lists.items + lists.indptr[user];
  match.length =
      static_cast<std::int32_t>(std::min<std::int64_t>(deepest, lists.indptr[user + 1] - lists.indptr[user]));
  match.hits.assign(static_cast<std::size_t>(deepest), 0);
  match.gains.assign(static_cast<std::size_t>(deepest), 0.0);
  for (std::int32_t l = 0; l < match.length; ++l) {
    const std::int32_t* found = std::lower_bound(begin, end, match.items[l]);
    if (found == end || *found != match.items[l]) continue;
    const std::int64_t entry = first + (found - begin);
    match.hits[static_cast<std::size_t>(l)] = truth.relevant[entry];
    match.gains[static_cast<std::size_t>(l)] = truth.gains[entry];
  }
  match.relevant = std::accumulate(truth.relevant + first, truth.relevant + last, std::int64_t{0});
  match.ideal.assign(static_cast<std::size_t>(deepest), 0.0);
  std::partial_sort_copy(truth.gains + first, truth.gains + last, match.ideal.begin(), match.ideal.end(),
                         std::greater<double>());
}

std::int64_t count_hits(const Match& match, std::int32_t k) {
  return std::accumulate(match.hits.begin(), match.hits.begin() + k, std::int64_t{0});
}

double dcg(const std::vector<double>& gains, const double* discounts, std::int32_t k) {
  double sum = 0;
  for (std::int32_t l = 0; l < k; ++l) sum += gains[static_cast<std::size_t>(l)] * discounts[l];
  return sum;
}

double ndcg(const Match& match, const double* discounts, std::int32_t k) {
  const double ideal = dcg(match.ideal, discounts, k);
  return ideal > 0 ? dcg(match.gains, discounts, k) / ideal : kUndefined;
}

double average_precision(const Match& match, std::int32_t k) {
  double sum = 0;
  std::int64_t hits = 0;
  for (std::int32_t l = 0; l < k; ++l) {
    if (match.hits[static_cast<std::size_t>(l)] == 0) continue;
    sum += static_cast<double>(++hits) / (l + 1);
  }
  return sum / static_cast<double>(std::min<std::int64_t>(k, match.relevant));
}

double reciprocal_rank(const Match& match, std::int32_t k) {
  for (std::int32_t l = 0; l < k; ++l) {
    if (match.hits[static_cast<std::size_t>(l)] != 0) return 1.0 / (l + 1);
  }
  return 0.0;
}

double novelty(const Match& match, const double* item_bits, std::int32_t k) {
  const std::int32_t shown = std::min(k, match.length);
  double sum = 0;
  for (std::int32_t l = 0; l < shown; ++l) sum += item_bits[match.items[l]];
  return shown > 0 ? sum / shown : kUndefined;
}

double one_metric(const Match& match, const MetricRequest& request, std::int64_t m) {
  const std::int32_t k = request.cutoffs[m];
  const auto kind = static_cast<MetricKind>(request.kinds[m]);
  if (kind == MetricKind::ndcg) return ndcg(match, request.discounts, k);
  if (kind == MetricKind::novelty) return novelty(match, request.item_bits, k);
  if (match.relevant == 0) return kUndefined;
  const auto relevant = static_cast<double>(match.relevant);
  switch (kind) {
    case MetricKind::precision:
      return static_cast<double>(count_hits(match, k)) / k;
    case MetricKind::recall:
      return static_cast<double>(count_hits(match, k)) / relevant;
    case MetricKind::recall_capped:
      return static_cast<double>(count_hits(match, k)) / std::min<double>(k, relevant);
    case MetricKind::map:
      return average_precision(match, k);
    case MetricKind::mrr:
      return reciprocal_rank(match, k);
    default:
      return count_hits(match, k) > 0 ? 1.0 : 0.0;
  }
}

void list_metrics(Executor& executor, ItemRows lists, Truth truth, MetricRequest request, double* out) {
  std::vector<Match> matches(static_cast<std::size_t>(executor.threads()));
  for_each_row(executor, lists.rows, kUsersPerTask, [&](std::int64_t user, int worker) {
    Match& match = matches[static_cast<std::size_t>(worker)];
    match_list(lists, truth, user, request.deepest, match);
    for (std::int64_t m = 0; m < request.count; ++m) out[user * request.count + m] = one_metric(match, request, m);
  });
}

void rank_rows(Executor& executor, ItemRows rows, const float* scores, const std::int64_t* out_indptr,
               std::int32_t* out_items) {
  std::vector<std::vector<std::int64_t>> places(static_cast<std::size_t>(executor.threads()));
  for_each_row(executor, rows.rows, kUsersPerTask, [&](std::int64_t row, int worker) {
    std::vector<std::int64_t>& order = places[static_cast<std::size_t>(worker)];
    order.resize(static_cast<std::size_t>(rows.indptr[row + 1] - rows.indptr[row]));
    std::iota(order.begin(), order.end(), rows.indptr[row]);
    const std::int64_t wanted = out_indptr[row + 1] - out_indptr[row];
    std::partial_sort(order.begin(), order.begin() + wanted, order.end(), [&](std::int64_t a, std::int64_t b) {
      return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
    });
    for (std::int64_t l = 0; l < wanted; ++l) {
      out_items[out_indptr[row] + l] = rows.items[order[static_cast<std::size_t>(l)]];
    }
  });
}

// Twice the number of columns below `score`, plus the number equal to it.
std::int64_t twice_below(const float* scores, std::int64_t columns, float score) {
  std::int64_t total = 0;
#pragma omp simd reduction(+ : total)
  for (std::int64_t c = 0; c < columns; ++c) total += (scores[c] < score ? 1 : 0) + (scores[c] <= score ? 1 : 0);
  return total;
}

double auc_of_row(const float* scores, std::int64_t columns, const ItemRows& excluded, const Truth& truth,
                  std::int64_t row, std::vector<float>& good, std::vector<float>& out_of_play) {
  good.clear();
  out_of_play.clear();
  for (std::int64_t e = truth.rows.indptr[row]; e < truth.rows.indptr[row + 1]; ++e) {
    if (truth.relevant[e] != 0 && truth.rows.items[e] < columns) good.push_back(scores[truth.rows.items[e]]);
  }
  for (std::int64_t e = excluded.indptr[row]; e < excluded.indptr[row + 1]; ++e) {
    out_of_play.push_back(scores[excluded.items[e]]);
  }
  const auto n_good = static_cast<std::int64_t>(good.size());
  const auto n_out = static_cast<std::int64_t>(out_of_play.size());
  const std::int64_t others = columns - n_good - n_out;
  if (n_good == 0 || others <= 0) return kUndefined;
  std::int64_t twice_won = 0;  // integers: the sum is exact, whatever its order
  for (const float score : good) {
    twice_won += twice_below(scores, columns, score) - twice_below(good.data(), n_good, score) -
                 twice_below(out_of_play.data(), n_out, score);
  }
  return static_cast<double>(twice_won) / (2.0 * static_cast<double>(n_good) * static_cast<double>(others));
}

void row_auc(Executor& executor, const std::int64_t* indptr, const float* scores, ItemRows excluded, Truth truth,
             double* out) {
  std::vector<std::vector<float>> good(static_cast<std::size_t>(executor.threads()));
  std::vector<std::vector<float>> out_of_play(good.size());
  for_each_row(executor, truth.rows.rows, 1, [&](std::int64_t row, int worker) {
    const auto slot = static_cast<std::size_t>(worker);
    const std::int64_t columns = indptr[row + 1] - indptr[row];
    out[row] = auc_of_row(scores + indptr[row], columns, excluded, truth, row, good[slot], out_of_play[slot]);
  });
}

void contained(Executor& executor, ItemRows rows, ItemRows others, std::uint8_t* out) {
  const std::int64_t origin = rows.rows > 0 ? rows.indptr[0] : 0;
  for_each_row(executor, rows.rows, kUsersPerTask, [&](std::int64_t row, int) {
    const std::int32_t* other = others.items + others.indptr[row];
    const std::int32_t* end = others.items + others.indptr[row + 1];
    for (std::int64_t e = rows.indptr[row]; e < rows.indptr[row + 1]; ++e) {
      while (other != end && *other < rows.items[e]) ++other;
      out[e - origin] = other != end && *other == rows.items[e] ? 1 : 0;
    }
  });
}

}  // namespace

extern const MetricKernels metric_kernels;
const MetricKernels metric_kernels{list_metrics, rank_rows, row_auc, contained};

}  // namespace sqlrank
