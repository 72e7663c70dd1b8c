// Per user, the items whose float32 score may still matter.
//
// Invariant: every competing item that is not among a user's survivors has a float32 score <= the user's threshold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "panels.hpp"
#include "sqlrank/topk.hpp"

namespace sqlrank {
namespace {

// Floats as integers in the same order.
inline std::int32_t ordered(float value) {
  std::int32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}
inline float unordered(std::int32_t key) {
  const std::int32_t bits = key ^ ((key >> 31) & 0x7fffffff);
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline bool listed(const RowLists& lists, std::int64_t row, std::int32_t code) {
  if (lists.indptr == nullptr) return false;
  const std::int32_t* base = lists.indices + lists.indptr[row];
  std::int64_t length = lists.indptr[row + 1] - lists.indptr[row];
  while (length > 1) {  // without branches to mispredict
    const std::int64_t half = length / 2;
    base += base[half] <= code ? half : 0;
    length -= half;
  }
  return length == 1 && *base == code;
}

class Survivors {
 public:
  // Keeps at least `keep` of the best for each of up to `users` users.
  Survivors(std::int64_t users, std::int64_t keep, const FactorRows& items, const RowLists& exclude)
      : keep_(static_cast<std::int32_t>(keep)),
        capacity_(static_cast<std::int32_t>(2 * keep + 16 + kPanel)),
        items_(items),
        exclude_(exclude),
        scores_(static_cast<std::size_t>(users * capacity_)),
        codes_(scores_.size()),
        count_(static_cast<std::size_t>(users)),
        checked_(count_.size()),
        threshold_(count_.size()) {}

  static std::int64_t bytes_per_user(std::int64_t keep) { return (2 * keep + 16 + kPanel) * 8; }

  // Slots 0, 1, ... now belong to queries first_query, first_query + 1, ...
  void reset(std::int64_t first_query) {
    first_query_ = first_query;
    std::fill(count_.begin(), count_.end(), 0);
    std::fill(checked_.begin(), checked_.end(), 0);
    std::fill(threshold_.begin(), threshold_.end(), -std::numeric_limits<float>::infinity());
  }

  float threshold(std::int64_t slot) const { return threshold_[static_cast<std::size_t>(slot)]; }
  std::int32_t count(std::int64_t slot) const { return count_[static_cast<std::size_t>(slot)]; }
  const std::int32_t* codes(std::int64_t slot) const { return codes_.data() + slot * capacity_; }

  // Adds the lanes of a panel row named by `mask`; returns whether the threshold rose.
  bool add(std::int64_t slot, std::uint32_t mask, const float* scores, const std::int32_t* positions) {
    std::int32_t& count = count_[static_cast<std::size_t>(slot)];
    float* to_scores = scores_.data() + slot * capacity_;
    std::int32_t* to_codes = codes_.data() + slot * capacity_;
    for (; mask != 0; mask &= mask - 1) {
      const int lane = __builtin_ctz(mask);
      to_scores[count] = scores[lane];
      to_codes[count] = positions[lane];
      ++count;
    }
    return count + kPanel > capacity_ && tighten(slot);
  }

  // Drops excluded items, then raises the threshold as far as `keep` survivors allow.
  bool tighten(std::int64_t slot) {
    const auto s = static_cast<std::size_t>(slot);
    drop_excluded(slot);
    if (count_[s] <= keep_) return false;
    float* scores = scores_.data() + slot * capacity_;
    const std::int32_t best = find_threshold(scores, count_[s]);
    threshold_[s] = unordered(best);
    keep_above(slot, best);
    return true;
  }

 private:
  void drop_excluded(std::int64_t slot) {
    const auto s = static_cast<std::size_t>(slot);
    float* scores = scores_.data() + slot * capacity_;
    std::int32_t* codes = codes_.data() + slot * capacity_;
    std::int32_t kept = checked_[s];
    for (std::int32_t i = kept; i < count_[s]; ++i) {
      const std::int32_t position = codes[i];
      if (position < 0) continue;  // the filling of the last panel
      const std::int32_t code = items_.code(position);
      scores[kept] = scores[i];
      codes[kept] = code;
      kept += listed(exclude_, first_query_ + slot, code) ? 0 : 1;
    }
    count_[s] = checked_[s] = kept;
  }

  static std::int32_t count_above(const float* scores, std::int32_t count, std::int32_t key) {
    std::int32_t above = 0;
#pragma omp simd reduction(+ : above)
    for (std::int32_t i = 0; i < count; ++i) {
      std::int32_t bits;
      std::memcpy(&bits, scores + i, sizeof bits);
      above += (bits ^ ((bits >> 31) & 0x7fffffff)) > key ? 1 : 0;
    }
    return above;
  }

  // The largest key that leaves `keep` or a few more above it; with many equal scores it may leave fewer.
  std::int32_t find_threshold(const float* scores, std::int32_t count) const {
    std::int32_t low = ordered(scores[0]), high = low;
    for (std::int32_t i = 1; i < count; ++i) {
      const std::int32_t key = ordered(scores[i]);
      low = std::min(low, key);
      high = std::max(high, key);
    }
    std::int64_t below = std::int64_t{low} - 1, above = high;  // count_above: count >= keep, and 0
    const std::int32_t enough = keep_ + keep_ / 8 + 1;
    std::int32_t left = count;
    while (above - below > 1 && left > enough) {
      const std::int64_t middle = below + (above - below) / 2;
      const std::int32_t now = count_above(scores, count, static_cast<std::int32_t>(middle));
      if (now >= keep_) {
        below = middle;
        left = now;
      } else {
        above = middle;
      }
    }
    // Nothing but ties between the two: dropping some of them makes room, and the threshold admits it.
    return static_cast<std::int32_t>(left > keep_ + keep_ / 2 + 8 ? above : below);
  }

  void keep_above(std::int64_t slot, std::int32_t key) {
    const auto s = static_cast<std::size_t>(slot);
    float* scores = scores_.data() + slot * capacity_;
    std::int32_t* codes = codes_.data() + slot * capacity_;
    const std::int32_t strictly = count_above(scores, count_[s], key);
    std::int32_t ties = std::max(0, keep_ - strictly), kept = 0;
    for (std::int32_t i = 0; i < count_[s]; ++i) {
      const std::int32_t own = ordered(scores[i]);
      const bool tie = own == key && ties > 0;
      scores[kept] = scores[i];
      codes[kept] = codes[i];
      kept += own > key || tie ? 1 : 0;
      ties -= tie ? 1 : 0;
    }
    count_[s] = checked_[s] = kept;
  }

  std::int32_t keep_, capacity_;
  FactorRows items_;
  RowLists exclude_;
  std::int64_t first_query_ = 0;
  std::vector<float> scores_;
  std::vector<std::int32_t> codes_;  // positions until checked, item codes afterwards
  std::vector<std::int32_t> count_, checked_;
  std::vector<float> threshold_;
};

}  // namespace
}  // namespace sqlrank
