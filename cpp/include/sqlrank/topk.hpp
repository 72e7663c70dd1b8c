// Top-n lists: the best items of many users, exact and without the full score matrix.
//
// The order is defined on scores summed in float64 in a fixed order (topk/exact.hpp), so it is the same for every
// instruction set, block size and number of threads; equal scores are ordered by item code, lower first. An item
// whose score is NaN or -inf is never listed.
#pragma once

#include <cstdint>

#include "sqlrank/parallel.hpp"

namespace sqlrank {

// Row r holds indices[indptr[r]] ... indices[indptr[r + 1] - 1]: item codes, ascending and distinct.
struct RowLists {
  const std::int64_t* indptr = nullptr;  // nullptr: there are no lists
  const std::int32_t* indices = nullptr;
};

// Factor rows are `stride` floats apart, a multiple of 8; columns from `rank` on are 0.
struct FactorRows {
  const float* data = nullptr;
  const std::int32_t* rows = nullptr;  // which rows of `data`, in order; nullptr: all
  std::int64_t count = 0;

  const float* row(std::int64_t i, std::int64_t stride) const { return data + (rows ? rows[i] : i) * stride; }
  std::int32_t code(std::int64_t i) const { return rows ? rows[i] : static_cast<std::int32_t>(i); }
};

struct TopKQuery {
  FactorRows users;
  FactorRows items;  // `rows` are the candidates, ascending and distinct
  std::int64_t rank = 0;
  std::int64_t stride = 0;
  std::int64_t n = 0;  // list length wanted
  RowLists exclude;    // row q belongs to query q, not to a user code
};

// List q is items[q * width] ... items[q * width + counts[q] - 1], best first.
struct TopKLists {
  std::int32_t* items = nullptr;
  float* scores = nullptr;  // the float64 score, rounded
  std::int32_t* counts = nullptr;
  std::int64_t width = 0;
};

// What happened inside, for tests and benchmarks: users whose order had to be settled in float64, tiles skipped.
struct TopKStats {
  std::int64_t exact_users = 0;
  std::int64_t tiles = 0;
  std::int64_t tiles_pruned = 0;
};

struct TopKKernels {
  void (*recommend)(Executor& executor, const TopKQuery& query, const TopKLists& out, TopKStats* stats);
  // Only the items in row q of `allow` compete for list q.
  void (*recommend_listed)(Executor& executor, const TopKQuery& query, const RowLists& allow, const TopKLists& out);
  // The same selection from a finished block of scores (count x columns); `candidates` names the columns that
  // compete (ascending), nullptr: all.
  void (*select)(Executor& executor, const float* scores, std::int64_t count, std::int64_t columns,
                 const std::int32_t* candidates, std::int64_t n_candidates, std::int64_t n, const RowLists& exclude,
                 const TopKLists& out);
  // out[p] = the score of user users.row(p) and item items.row(p)
  void (*score_pairs)(Executor& executor, const FactorRows& users, const FactorRows& items, std::int64_t stride,
                      float* out);
};

}  // namespace sqlrank
