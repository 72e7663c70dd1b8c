// The definition of a score and of the order, and the plain way to compute both.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "sqlrank/topk.hpp"

namespace sqlrank {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

struct Scored {
  double score;
  std::int32_t code;
};

struct Better {
  bool operator()(const Scored& a, const Scored& b) const {
    return a.score > b.score || (a.score == b.score && a.code < b.code);
  }
};

// A factor row in float64. The product of two floats is exact in double, so only the order of the additions matters:
// column c goes to lane c % 8, and the eight lanes are added as ((0+4)+(2+6)) + ((1+5)+(3+7)).
class ExactUser {
 public:
  void assign(const float* row, std::int64_t stride) {
    values_.assign(row, row + stride);
    squares_ = 0.0;
    for (const double value : values_) squares_ += value * value;
  }

  double squared_norm() const { return squares_; }

  double score(const float* item) const {
    typedef float Narrow __attribute__((vector_size(32)));
    typedef double Wide __attribute__((vector_size(64)));
    Wide sum = {};
    for (std::size_t c = 0; c < values_.size(); c += 8) {
      Narrow narrow;
      Wide user;
      std::memcpy(&narrow, item + c, sizeof narrow);
      std::memcpy(&user, values_.data() + c, sizeof user);
      sum += user * __builtin_convertvector(narrow, Wide);
    }
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
  }

 private:
  std::vector<double> values_;
  double squares_ = 0.0;
};

// Walks along an ascending list while the caller asks for ascending codes.
class SortedCursor {
 public:
  SortedCursor(const RowLists& lists, std::int64_t row) {
    if (lists.indptr == nullptr) return;
    at_ = lists.indices + lists.indptr[row];
    end_ = lists.indices + lists.indptr[row + 1];
  }
  bool contains(std::int32_t code) {
    while (at_ != end_ && *at_ < code) ++at_;
    return at_ != end_ && *at_ == code;
  }

 private:
  const std::int32_t* at_ = nullptr;
  const std::int32_t* end_ = nullptr;
};

// The n best of everything offered, in any order of offering.
class BestOf {
 public:
  void reset(std::int64_t n) {
    n_ = static_cast<std::size_t>(n);
    entries_.clear();
    worst_ = {kNever, std::numeric_limits<std::int32_t>::min()};
  }

  // What is not better than this has no chance; NaN and -inf never have.
  double threshold() const { return worst_.score; }

  void offer(double score, std::int32_t code) {
    const Scored entry{score, code};
    if (!Better{}(entry, worst_)) return;
    entries_.push_back(entry);
    if (entries_.size() >= 2 * n_ + 64) shrink();
  }

  void write(const TopKLists& out, std::int64_t list) {
    const std::size_t count = std::min(n_, entries_.size());
    const auto middle = entries_.begin() + static_cast<std::ptrdiff_t>(count);
    std::partial_sort(entries_.begin(), middle, entries_.end(), Better{});
    for (std::size_t i = 0; i < count; ++i) {
      const auto slot = static_cast<std::size_t>(list * out.width) + i;
      out.items[slot] = entries_[i].code;
      out.scores[slot] = static_cast<float>(entries_[i].score);
    }
    out.counts[list] = static_cast<std::int32_t>(count);
    last_score_ = count == n_ && n_ > 0 ? entries_[n_ - 1].score : kNever;
  }

  // The score of entry n of the list just written, -inf when it was shorter.
  double last_score() const { return last_score_; }

 private:
  void shrink() {
    if (n_ == 0) {
      entries_.clear();
      return;
    }
    const auto last = entries_.begin() + static_cast<std::ptrdiff_t>(n_ - 1);
    std::nth_element(entries_.begin(), last, entries_.end(), Better{});
    worst_ = *last;
    entries_.resize(n_);
  }

  std::size_t n_ = 0;
  Scored worst_{};
  double last_score_ = kNever;
  std::vector<Scored> entries_;
};

struct ExactScratch {
  ExactUser user;
  BestOf best;
};

// One list by scoring every candidate in float64.
void recommend_exactly(const TopKQuery& query, std::int64_t q, const TopKLists& out, ExactScratch& scratch) {
  scratch.user.assign(query.users.row(q, query.stride), query.stride);
  scratch.best.reset(std::min(query.n, out.width));
  SortedCursor excluded(query.exclude, q);
  for (std::int64_t i = 0; i < query.items.count; ++i) {
    const std::int32_t code = query.items.code(i);
    if (excluded.contains(code)) continue;
    scratch.best.offer(scratch.user.score(query.items.row(i, query.stride)), code);
  }
  scratch.best.write(out, q);
}

}  // namespace
}  // namespace sqlrank
