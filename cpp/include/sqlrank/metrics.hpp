// Ranking metrics of many users at once. The definitions are written out in src/sqlrank/evaluation/metrics.py.
#pragma once

#include <cstdint>

#include "sqlrank/parallel.hpp"

namespace sqlrank {

// Ragged rows of item codes: row r is items[indptr[r]] .. items[indptr[r + 1] - 1]. The first offset need not be 0, so
// a block of a larger array's rows is one too.
struct ItemRows {
  std::int64_t rows;
  const std::int64_t* indptr;
  const std::int32_t* items;
};

// What is to be found: the test items of each user, codes ascending within a row, with the gain of each for NDCG and
// whether it counts as relevant for everything else.
struct Truth {
  ItemRows rows;
  const double* gains;
  const std::uint8_t* relevant;
};

// The numbers are the Python side's too (evaluation/kernels.py).
enum class MetricKind : std::int32_t {
  precision = 0,
  recall = 1,
  recall_capped = 2,
  ndcg = 3,
  map = 4,
  mrr = 5,
  hit = 6,
  novelty = 7
};
constexpr std::int32_t kMetricKinds = 8;

struct MetricRequest {
  std::int64_t count;           // metrics asked for
  const std::int32_t* kinds;    // [count], of MetricKind
  const std::int32_t* cutoffs;  // [count], each from 1 to deepest
  std::int32_t deepest;
  const double* discounts;  // [deepest]: 1 / log2(place + 1), made by the caller: the same bits on every machine
  const double* item_bits;  // self-information of every item that lists can hold; null unless novelty is asked for
};

struct MetricKernels {
  // out[user * count + m] = metric m of the user's list; NaN where it is not defined (no relevant item, no positive
  // gain, empty list). Row r of `lists`, best item first, belongs to row r of `truth`.
  void (*list_metrics)(Executor& executor, ItemRows lists, Truth truth, MetricRequest request, double* out);

  // The best items of each row by score (falling, then place in the row): row r of the result has
  // out_indptr[r + 1] - out_indptr[r] items, no more than the row has.
  void (*rank_rows)(Executor& executor, ItemRows rows, const float* scores, const std::int64_t* out_indptr,
                    std::int32_t* out_items);

  // Area under the ROC curve of each row of scores: scores[indptr[r]] .. scores[indptr[r + 1] - 1]. The codes in
  // `truth` and `excluded` are places in that row; those of `truth` beyond its end are left out, and the two have no
  // place in common. NaN where the row has nothing relevant or nothing else.
  void (*row_auc)(Executor& executor, const std::int64_t* indptr, const float* scores, ItemRows excluded, Truth truth,
                  double* out);

  // out[e] = whether entry e of row r (counted from the first entry of the first row) is in row r of `others`. Codes
  // ascend in the rows of both.
  void (*contained)(Executor& executor, ItemRows rows, ItemRows others, std::uint8_t* out);
};

}  // namespace sqlrank
