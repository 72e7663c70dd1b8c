#include "sqlrank/metrics.hpp"

#include "common.hpp"

namespace sqlrank::bindings {

namespace {

using Offsets = In<std::int64_t>;
using Codes = In<std::int32_t>;

// Offsets must rise and end inside their array: kernels trust them.
ItemRows checked_rows(const Offsets& indptr, const Codes& items) {
  require(indptr.size() >= 1, "indptr must have one entry more than there are rows");
  const std::int64_t* offsets = indptr.data();
  const auto rows = static_cast<std::int64_t>(indptr.size()) - 1;
  require(offsets[0] >= 0, "indptr must not be negative");
  for (std::int64_t row = 0; row < rows; ++row) require(offsets[row] <= offsets[row + 1], "indptr must not fall");
  require(offsets[rows] <= static_cast<std::int64_t>(items.size()), "indptr must end inside the items");
  return {rows, offsets, items.data()};
}

Truth checked_truth(const Offsets& indptr, const Codes& items, const In<double>& gains,
                    const In<std::uint8_t>& relevant) {
  const ItemRows rows = checked_rows(indptr, items);
  require(gains.size() == items.size() && relevant.size() == items.size(),
          "gains and relevant must have one entry per item of the truth");
  return {rows, gains.data(), relevant.data()};
}

void require_codes(const ItemRows& rows, std::int64_t bound, const char* message) {
  for (std::int64_t e = rows.indptr[0]; e < rows.indptr[rows.rows]; ++e) {
    require(rows.items[e] >= 0 && rows.items[e] < bound, message);
  }
}

void list_metrics(Offsets list_indptr, Codes list_items, Offsets truth_indptr, Codes truth_items, In<double> gains,
                  In<std::uint8_t> relevant, Codes kinds, Codes cutoffs, In<double> discounts, In<double> item_bits,
                  Out2<double> out, int threads) {
  const ItemRows lists = checked_rows(list_indptr, list_items);
  const Truth truth = checked_truth(truth_indptr, truth_items, gains, relevant);
  require(lists.rows == truth.rows.rows, "lists and truth must have the same number of rows");
  require(kinds.size() == cutoffs.size(), "kinds and cutoffs must have the same length");
  require(static_cast<std::int64_t>(out.shape(0)) == lists.rows && out.shape(1) == kinds.size(),
          "out must have one row per user and one column per metric");
  for (std::size_t m = 0; m < kinds.size(); ++m) {
    require(kinds.data()[m] >= 0 && kinds.data()[m] < kMetricKinds, "unknown metric kind");
    require(cutoffs.data()[m] >= 1 && static_cast<std::size_t>(cutoffs.data()[m]) <= discounts.size(),
            "cutoffs must run from 1 to the number of discounts");
    if (kinds.data()[m] == static_cast<std::int32_t>(MetricKind::novelty)) {
      require_codes(lists, static_cast<std::int64_t>(item_bits.size()), "item_bits must cover the items of the lists");
    }
  }
  const MetricRequest request{static_cast<std::int64_t>(kinds.size()),     kinds.data(),     cutoffs.data(),
                              static_cast<std::int32_t>(discounts.size()), discounts.data(), item_bits.data()};
  run_parallel(threads, [&](Executor& executor) {
    kernels().metrics->list_metrics(executor, lists, truth, request, out.data());
  });
}

void rank_rows(Offsets indptr, Codes items, In<float> scores, Offsets out_indptr, Out<std::int32_t> out, int threads) {
  const ItemRows rows = checked_rows(indptr, items);
  require(scores.size() == items.size(), "scores and items must have the same length");
  require(out_indptr.size() == indptr.size(), "out_indptr and indptr must have the same length");
  const std::int64_t* wanted = out_indptr.data();
  require(wanted[0] == 0 && wanted[rows.rows] == static_cast<std::int64_t>(out.size()), "out_indptr must span out");
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const std::int64_t count = wanted[row + 1] - wanted[row];
    require(count >= 0 && count <= rows.indptr[row + 1] - rows.indptr[row], "out_indptr asks for more than a row has");
  }
  run_parallel(threads, [&](Executor& executor) {
    kernels().metrics->rank_rows(executor, rows, scores.data(), wanted, out.data());
  });
}

void row_auc(Offsets indptr, In<float> scores, Offsets excluded_indptr, Codes excluded_items, Offsets truth_indptr,
             Codes truth_items, In<std::uint8_t> relevant, Out<double> out, int threads) {
  const ItemRows excluded = checked_rows(excluded_indptr, excluded_items);
  const ItemRows rows = checked_rows(truth_indptr, truth_items);
  require(relevant.size() == truth_items.size(), "relevant must have one entry per item of the truth");
  require(indptr.size() == truth_indptr.size() && excluded.rows == rows.rows &&
              static_cast<std::int64_t>(out.size()) == rows.rows,
          "scores, excluded, truth and out must have the same number of rows");
  const std::int64_t* offsets = indptr.data();
  require(offsets[0] >= 0 && offsets[rows.rows] <= static_cast<std::int64_t>(scores.size()),
          "indptr must stay inside the scores");
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    require(offsets[row] <= offsets[row + 1], "indptr must not fall");
    const ItemRows one{1, excluded.indptr + row, excluded.items};
    require_codes(one, offsets[row + 1] - offsets[row], "excluded items must be places in their row");
  }
  require_codes(rows, std::int64_t{1} << 31, "items of the truth must not be negative");
  const Truth truth{rows, nullptr, relevant.data()};
  run_parallel(threads, [&](Executor& executor) {
    kernels().metrics->row_auc(executor, offsets, scores.data(), excluded, truth, out.data());
  });
}

void contained(Offsets indptr, Codes items, Offsets other_indptr, Codes other_items, Out<std::uint8_t> out,
               int threads) {
  const ItemRows rows = checked_rows(indptr, items);
  const ItemRows others = checked_rows(other_indptr, other_items);
  require(rows.rows == others.rows, "both must have the same number of rows");
  require(static_cast<std::int64_t>(out.size()) == rows.indptr[rows.rows] - rows.indptr[0],
          "out must have one entry per item");
  run_parallel(threads, [&](Executor& executor) { kernels().metrics->contained(executor, rows, others, out.data()); });
}

}  // namespace

void bind_metrics(nb::module_& m) {
  m.def("list_metrics", &list_metrics, nb::arg("list_indptr"), nb::arg("list_items"), nb::arg("truth_indptr"),
        nb::arg("truth_items"), nb::arg("gains"), nb::arg("relevant"), nb::arg("kinds"), nb::arg("cutoffs"),
        nb::arg("discounts"), nb::arg("item_bits"), nb::arg("out").noconvert(), nb::arg("threads") = 1,
        "Fill out[user, metric] for ranked lists; NaN where a metric is not defined.");
  m.def("rank_rows", &rank_rows, nb::arg("indptr"), nb::arg("items"), nb::arg("scores"), nb::arg("out_indptr"),
        nb::arg("out").noconvert(), nb::arg("threads") = 1,
        "The best items of each row by score; ties go to the earlier place in the row.");
  m.def("row_auc", &row_auc, nb::arg("indptr"), nb::arg("scores"), nb::arg("excluded_indptr"),
        nb::arg("excluded_items"), nb::arg("truth_indptr"), nb::arg("truth_items"), nb::arg("relevant"),
        nb::arg("out").noconvert(), nb::arg("threads") = 1, "Area under the ROC curve of each row of scores.");
  m.def("contained", &contained, nb::arg("indptr"), nb::arg("items"), nb::arg("other_indptr"), nb::arg("other_items"),
        nb::arg("out").noconvert(), nb::arg("threads") = 1,
        "Mark the items of each row that are also in the same row of the other.");
}

}  // namespace sqlrank::bindings
