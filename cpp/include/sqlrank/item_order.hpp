// A block's entries, turned from user order to item order: a counting sort, in slices with fixed offsets.
//
// Every slice of users counts its entries per item; running totals over (item, slice) give each slice its own places;
// then every slice writes. The result is in user order within each item, whatever the slices and threads were.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sqlrank/parallel.hpp"
#include "sqlrank/rows.hpp"

namespace sqlrank {

// The lists of the users [tasks.front(), tasks.back()): entry e of user u lies at offsets[u] - base <= e.
struct BlockEntries {
  const std::vector<std::int64_t>& tasks;
  const std::int64_t* offsets;
  const std::int32_t* items;
  const float* coefficients;
  const float* curvature;  // null: nobody asks for it

  std::int64_t base() const { return offsets[tasks.front()]; }
  std::int64_t count() const { return offsets[tasks.back()] - base(); }
};

class ItemOrder {
 public:
  void turn(Executor& executor, const BlockEntries& block, std::int64_t items) {
    constexpr std::int64_t kSoon = 16;  // entries: their places are all over memory
    constexpr std::int64_t kMaxSlices = 16;
    const std::int64_t slices =
        std::clamp<std::int64_t>(block.count() / std::max<std::int64_t>(items, 4096), 1, kMaxSlices);
    reserve(block, items, slices);
    const auto tasks = static_cast<std::int64_t>(block.tasks.size()) - 1;
    const auto first_user = [&](std::int64_t s) { return block.tasks[tasks * s / slices]; };
    const std::int64_t base = block.base();
    parallel_for(executor, slices, [&](std::int64_t s, int) {
      std::int32_t* counts = counts_.data() + s * items;
      std::fill_n(counts, items, 0);
      const std::int64_t end = block.offsets[first_user(s + 1)] - base;
      for (std::int64_t e = block.offsets[first_user(s)] - base; e < end; ++e) ++counts[block.items[e]];
    });
    place(items, slices);
    parallel_for(executor, slices, [&](std::int64_t s, int) {
      std::int32_t* next = counts_.data() + s * items;
      const std::int64_t last = block.offsets[first_user(s + 1)] - base - kSoon;
      for (std::int64_t u = first_user(s); u < first_user(s + 1); ++u) {
        for (std::int64_t e = block.offsets[u] - base; e < block.offsets[u + 1] - base; ++e) {
          if (e < last) __builtin_prefetch(entries_.data() + next[block.items[e + kSoon]], 1);
          const std::int32_t to = next[block.items[e]]++;
          entries_[to] = {static_cast<std::int32_t>(u), block.coefficients[e]};
          if (block.curvature != nullptr) curvature_[to] = block.curvature[e];
        }
      }
    });
  }

  // Where each item's entries start, and the end.
  const std::int64_t* starts() const { return starts_.data(); }
  // (user, coefficient) of every entry.
  const WeightedRow* entries() const { return entries_.data(); }
  const float* curvature() const { return curvature_.data(); }

 private:
  void reserve(const BlockEntries& block, std::int64_t items, std::int64_t slices) {
    const auto size = static_cast<std::size_t>(block.count());
    if (entries_.size() < size) entries_.resize(size);
    if (block.curvature != nullptr && curvature_.size() < size) curvature_.resize(size);
    counts_.resize(static_cast<std::size_t>(slices * items));
    starts_.resize(static_cast<std::size_t>(items) + 1);
  }

  void place(std::int64_t items, std::int64_t slices) {
    std::int64_t position = 0;
    for (std::int64_t j = 0; j < items; ++j) {
      starts_[j] = position;
      for (std::int64_t s = 0; s < slices; ++s) {
        std::int32_t& count = counts_[s * items + j];
        const std::int32_t here = count;
        count = static_cast<std::int32_t>(position);
        position += here;
      }
    }
    starts_[items] = position;
  }

  std::vector<std::int64_t> starts_;
  std::vector<std::int32_t> counts_;
  std::vector<WeightedRow> entries_;
  std::vector<float> curvature_;
};

}  // namespace sqlrank
