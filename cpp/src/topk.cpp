#include "sqlrank/topk.hpp"

#include "topk/batch.hpp"
#include "topk/exact.hpp"

namespace sqlrank {

namespace {

constexpr std::int64_t kListsPerTask = 4;
constexpr std::int64_t kPairsPerTask = 4096;

// Calls function(row, worker) for every row, in tasks of `rows_per_task` rows.
template <class Function>
void for_rows(Executor& executor, std::int64_t rows, std::int64_t rows_per_task, Function&& function) {
  parallel_for(executor, ceil_div(rows, rows_per_task), [&](std::int64_t task, int worker) {
    const std::int64_t end = std::min(rows, (task + 1) * rows_per_task);
    for (std::int64_t row = task * rows_per_task; row < end; ++row) function(row, worker);
  });
}

// Few users, few items or long lists: packing and thresholds would cost more than they save.
bool worth_a_batch(const TopKQuery& query) {
  return query.users.count > 24 && query.items.count >= 256 && query.n > 0 && query.n * 4 <= query.items.count;
}

void recommend(Executor& executor, const TopKQuery& query, const TopKLists& out, TopKStats* stats) {
  if (worth_a_batch(query) && BatchRecommender(executor, query, out).run(stats)) return;
  std::vector<ExactScratch> scratch(static_cast<std::size_t>(executor.threads()));
  for_rows(executor, query.users.count, kListsPerTask, [&](std::int64_t q, int worker) {
    recommend_exactly(query, q, out, scratch[static_cast<std::size_t>(worker)]);
  });
  stats->exact_users += query.users.count;
}

void recommend_listed(Executor& executor, const TopKQuery& query, const RowLists& allow, const TopKLists& out) {
  std::vector<ExactScratch> scratch(static_cast<std::size_t>(executor.threads()));
  for_rows(executor, query.users.count, kListsPerTask, [&](std::int64_t q, int worker) {
    auto& [user, best] = scratch[static_cast<std::size_t>(worker)];
    user.assign(query.users.row(q, query.stride), query.stride);
    best.reset(std::min(query.n, out.width));
    SortedCursor excluded(query.exclude, q);
    for (std::int64_t at = allow.indptr[q]; at < allow.indptr[q + 1]; ++at) {
      const std::int32_t code = allow.indices[at];
      if (!excluded.contains(code)) best.offer(user.score(query.items.data + code * query.stride), code);
    }
    best.write(out, q);
  });
}

void select(Executor& executor, const float* scores, std::int64_t count, std::int64_t columns,
            const std::int32_t* candidates, std::int64_t n_candidates, std::int64_t n, const RowLists& exclude,
            const TopKLists& out) {
  std::vector<BestOf> scratch(static_cast<std::size_t>(executor.threads()));
  for_rows(executor, count, kListsPerTask, [&](std::int64_t q, int worker) {
    BestOf& best = scratch[static_cast<std::size_t>(worker)];
    best.reset(std::min(n, out.width));
    SortedCursor excluded(exclude, q);
    const float* row = scores + q * columns;
    for (std::int64_t i = 0; i < n_candidates; ++i) {
      const std::int32_t code = candidates ? candidates[i] : static_cast<std::int32_t>(i);
      // Codes ascend, so a later item with the threshold's own score loses the tie.
      if (row[code] > best.threshold() && !excluded.contains(code)) best.offer(row[code], code);
    }
    best.write(out, q);
  });
}

void score_pairs(Executor& executor, const FactorRows& users, const FactorRows& items, std::int64_t stride,
                 float* out) {
  std::vector<ExactUser> scratch(static_cast<std::size_t>(executor.threads()));
  for_rows(executor, users.count, kPairsPerTask, [&](std::int64_t p, int worker) {
    ExactUser& user = scratch[static_cast<std::size_t>(worker)];
    user.assign(users.row(p, stride), stride);
    out[p] = static_cast<float>(user.score(items.row(p, stride)));
  });
}

}  // namespace

extern const TopKKernels topk_kernels;
const TopKKernels topk_kernels{recommend, recommend_listed, select, score_pairs};

}  // namespace sqlrank
