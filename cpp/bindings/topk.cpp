#include <nanobind/stl/optional.h>

#include <optional>
#include <tuple>

#include "common.hpp"

namespace sqlrank::bindings {

namespace {

using Codes = std::optional<In<std::int32_t>>;
using Offsets = std::optional<In<std::int64_t>>;

std::int64_t length(const In<std::int32_t>& array) { return static_cast<std::int64_t>(array.size()); }

void check_codes(const std::int32_t* codes, std::int64_t count, std::int64_t limit, const char* message) {
  for (std::int64_t i = 0; i < count; ++i) require(codes[i] >= 0 && codes[i] < limit, message);
}

FactorRows factor_rows(const In2<float>& factors, const Codes& rows) {
  FactorRows result;
  result.data = factors.data();
  result.count = static_cast<std::int64_t>(factors.shape(0));
  if (rows) {
    check_codes(rows->data(), length(*rows), result.count, "a code is outside the factor rows");
    result.rows = rows->data();
    result.count = length(*rows);
  }
  return result;
}

RowLists row_lists(const Offsets& indptr, const Codes& indices, std::int64_t rows) {
  RowLists lists;
  require(indptr.has_value() == indices.has_value(), "indptr and indices belong together");
  if (!indptr) return lists;
  lists.indptr = indptr->data();
  lists.indices = indices->data();
  require(static_cast<std::int64_t>(indptr->size()) == rows + 1,
          "indptr must have one entry more than there are users");
  require(lists.indptr[0] >= 0 && lists.indptr[rows] <= length(*indices), "indptr points outside its indices");
  for (std::int64_t r = 0; r < rows; ++r) require(lists.indptr[r] <= lists.indptr[r + 1], "indptr must not fall");
  return lists;
}

TopKLists top_lists(const Out2<std::int32_t>& items, const Out2<float>& scores, const Out<std::int32_t>& counts,
                    std::int64_t rows) {
  require(static_cast<std::int64_t>(items.shape(0)) == rows && static_cast<std::int64_t>(scores.shape(0)) == rows &&
              static_cast<std::int64_t>(counts.size()) == rows && items.shape(1) == scores.shape(1),
          "the out arrays need one row per user and equal widths");
  return {items.data(), scores.data(), counts.data(), static_cast<std::int64_t>(items.shape(1))};
}

TopKQuery make_query(const In2<float>& users, const Codes& user_rows, const In2<float>& items, const Codes& candidates,
                     std::int64_t rank, const Offsets& exclude_indptr, const Codes& exclude_indices) {
  TopKQuery query;
  query.users = factor_rows(users, user_rows);
  query.items = factor_rows(items, candidates);
  query.rank = rank;
  query.stride = static_cast<std::int64_t>(items.shape(1));
  require(users.shape(1) == items.shape(1), "user and item rows must be equally long");
  require(query.stride % 8 == 0, "factor rows must be padded with zeros to a multiple of 8");
  require(rank >= 0 && rank <= query.stride, "rank cannot exceed the length of the factor rows");
  query.exclude = row_lists(exclude_indptr, exclude_indices, query.users.count);
  return query;
}

std::tuple<std::int64_t, std::int64_t, std::int64_t> recommend(
    const In2<float>& users, const Codes& user_rows, const In2<float>& items, const Codes& candidates,
    std::int64_t rank, const Offsets& exclude_indptr, const Codes& exclude_indices, const Out2<std::int32_t>& out_items,
    const Out2<float>& out_scores, const Out<std::int32_t>& out_counts, int threads) {
  TopKQuery query = make_query(users, user_rows, items, candidates, rank, exclude_indptr, exclude_indices);
  const TopKLists out = top_lists(out_items, out_scores, out_counts, query.users.count);
  query.n = out.width;
  TopKStats stats;
  run_parallel(threads, [&](Executor& executor) { kernels().topk->recommend(executor, query, out, &stats); });
  return {stats.exact_users, stats.tiles, stats.tiles_pruned};
}

void recommend_listed(const In2<float>& users, const Codes& user_rows, const In2<float>& items, std::int64_t rank,
                      const In<std::int64_t>& allow_indptr, const In<std::int32_t>& allow_indices,
                      const Offsets& exclude_indptr, const Codes& exclude_indices, const Out2<std::int32_t>& out_items,
                      const Out2<float>& out_scores, const Out<std::int32_t>& out_counts, int threads) {
  TopKQuery query = make_query(users, user_rows, items, std::nullopt, rank, exclude_indptr, exclude_indices);
  const TopKLists out = top_lists(out_items, out_scores, out_counts, query.users.count);
  query.n = out.width;
  const RowLists allow = row_lists(allow_indptr, allow_indices, query.users.count);
  check_codes(allow.indices, length(allow_indices), query.items.count, "an allowed item is outside the factor rows");
  run_parallel(threads, [&](Executor& executor) { kernels().topk->recommend_listed(executor, query, allow, out); });
}

void select_top(const In2<float>& scores, const Codes& candidates, const Offsets& exclude_indptr,
                const Codes& exclude_indices, const Out2<std::int32_t>& out_items, const Out2<float>& out_scores,
                const Out<std::int32_t>& out_counts, int threads) {
  const auto rows = static_cast<std::int64_t>(scores.shape(0));
  const auto columns = static_cast<std::int64_t>(scores.shape(1));
  const TopKLists out = top_lists(out_items, out_scores, out_counts, rows);
  const RowLists exclude = row_lists(exclude_indptr, exclude_indices, rows);
  if (candidates) check_codes(candidates->data(), length(*candidates), columns, "a candidate is outside the scores");
  run_parallel(threads, [&](Executor& executor) {
    kernels().topk->select(executor, scores.data(), rows, columns, candidates ? candidates->data() : nullptr,
                           candidates ? length(*candidates) : columns, out.width, exclude, out);
  });
}

void score_pairs(const In2<float>& users, const In<std::int32_t>& user_rows, const In2<float>& items,
                 const In<std::int32_t>& item_rows, const Out<float>& out, int threads) {
  require(user_rows.size() == item_rows.size() && out.size() == user_rows.size(), "pairs need equal lengths");
  require(users.shape(1) == items.shape(1) && items.shape(1) % 8 == 0, "factor rows must be padded and equally long");
  const FactorRows left = factor_rows(users, user_rows);
  const FactorRows right = factor_rows(items, item_rows);
  const auto stride = static_cast<std::int64_t>(items.shape(1));
  run_parallel(threads,
               [&](Executor& executor) { kernels().topk->score_pairs(executor, left, right, stride, out.data()); });
}

}  // namespace

void bind_topk(nb::module_& m) {
  m.def("topk_recommend", &recommend, nb::arg("users"), nb::arg("user_rows").none(), nb::arg("items"),
        nb::arg("candidates").none(), nb::arg("rank"), nb::arg("exclude_indptr").none(),
        nb::arg("exclude_indices").none(), nb::arg("out_items").noconvert(), nb::arg("out_scores").noconvert(),
        nb::arg("out_counts").noconvert(), nb::arg("threads") = 1,
        "Best items per user into rows of the out arrays; returns (users settled in float64, tiles, tiles skipped).");
  m.def("topk_recommend_listed", &recommend_listed, nb::arg("users"), nb::arg("user_rows").none(), nb::arg("items"),
        nb::arg("rank"), nb::arg("allow_indptr"), nb::arg("allow_indices"), nb::arg("exclude_indptr").none(),
        nb::arg("exclude_indices").none(), nb::arg("out_items").noconvert(), nb::arg("out_scores").noconvert(),
        nb::arg("out_counts").noconvert(), nb::arg("threads") = 1, "Best of the items listed for each user.");
  m.def("topk_select", &select_top, nb::arg("scores"), nb::arg("candidates").none(), nb::arg("exclude_indptr").none(),
        nb::arg("exclude_indices").none(), nb::arg("out_items").noconvert(), nb::arg("out_scores").noconvert(),
        nb::arg("out_counts").noconvert(), nb::arg("threads") = 1, "Best columns of every row of a block of scores.");
  m.def("topk_score_pairs", &score_pairs, nb::arg("users"), nb::arg("user_rows"), nb::arg("items"),
        nb::arg("item_rows"), nb::arg("out").noconvert(), nb::arg("threads") = 1, "Scores of (user, item) pairs.");
}

}  // namespace sqlrank::bindings
