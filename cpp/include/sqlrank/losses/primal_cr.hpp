// Primal-CR (Wu, Hsieh, Sharpnack 2017): the squared hinge over all pairs of different levels, margin 1,
//
//   loss = sum over pairs (i better than j) of max(0, 1 - (x_i - x_j))^2
//   c_i  = -2 sum over active j of (1 - x_i + x_j),   c_j = 2 sum over active i of (1 - x_i + x_j)
//   (H m)_i = 2 sum over active partners j of (m_i - m_j)
//
// and never the L^2 pairs: the entries are sorted by score. As i walks down the scores, the worse entries above x_i - 1
// only become more; their number and sums, kept per level, are all that is asked of them. The other side is the mirror
// image. O(L log L) with many levels, O(L) beside the sort with few.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "sqlrank/losses/loss.hpp"

namespace sqlrank {

// Number, sum and second sum of the entries that have entered.
struct EntrySums {
  double count = 0.0, first = 0.0, second = 0.0;
};

// Sums by level where there are few of them: every level holds the sums over all levels worse than itself.
class FewLevels {
 public:
  static constexpr int kLevels = 16;
  void add(std::int32_t group, double first, double second) {
    for (int g = 0; g < kLevels; ++g) {
      const double counts = g < group ? 1.0 : 0.0;
      count_[g] += counts;
      first_[g] += counts * first;
      second_[g] += counts * second;
    }
  }
  EntrySums worse_than(std::int32_t group) const { return {count_[group], first_[group], second_[group]}; }

 private:
  double count_[kLevels] = {}, first_[kLevels] = {}, second_[kLevels] = {};
};

// The same for any number of levels: a Fenwick tree.
class ManyLevels {
 public:
  explicit ManyLevels(std::int32_t groups) : tree_(static_cast<std::size_t>(groups) + 1) {}
  void add(std::int32_t group, double first, double second) {
    for (std::int32_t g = group; g > 0; g -= g & -g) {
      tree_[g].count += 1.0;
      tree_[g].first += first;
      tree_[g].second += second;
    }
  }
  EntrySums worse_than(std::int32_t group) const {
    EntrySums sums;
    for (std::int32_t g = group + 1; g < static_cast<std::int32_t>(tree_.size()); g += g & -g) {
      sums.count += tree_[g].count;
      sums.first += tree_[g].first;
      sums.second += tree_[g].second;
    }
    return sums;
  }

 private:
  std::vector<EntrySums> tree_;
};

struct PrimalCr {
  template <bool WithValue>
  double operator()(const List& list, LossScratch& scratch, float* c, float* h) const {
    const std::int32_t groups = prepare(list, scratch, c, h);
    if (groups < 2) return 0.0;
    const float* x = list.scores;
    const auto powers = [x](std::int64_t i) {
      const auto score = static_cast<double>(x[i]);
      return std::pair<double, double>{score, score * score};
    };
    double value = 0.0;
    sweep<1>(list, scratch, groups, powers, [&](std::int64_t i, const EntrySums& worse) {
      const double gap = 1.0 - static_cast<double>(x[i]);
      c[i] = static_cast<float>(-2.0 * (worse.count * gap + worse.first));
      if (WithValue) value += gap * (worse.count * gap + 2.0 * worse.first) + worse.second;
    });
    sweep<-1>(list, scratch, groups, powers, [&](std::int64_t j, const EntrySums& better) {
      c[j] += static_cast<float>(2.0 * (better.count * (1.0 + static_cast<double>(x[j])) - better.first));
    });
    return value;
  }

  // out = H moves, H the Hessian in the scores (where it exists: no pair is exactly at the margin).
  static void product(const List& list, LossScratch& scratch, const float* moves, float* out) {
    const std::int32_t groups = prepare(list, scratch, out, nullptr);
    if (groups < 2) return;
    const auto move = [moves](std::int64_t i) { return std::pair<double, double>{static_cast<double>(moves[i]), 0.0}; };
    const auto add = [&](std::int64_t i, const EntrySums& partners) {
      out[i] += static_cast<float>(2.0 * (partners.count * static_cast<double>(moves[i]) - partners.first));
    };
    sweep<1>(list, scratch, groups, move, add);
    sweep<-1>(list, scratch, groups, move, add);
  }

 private:
  // Numbers the levels from the best, sorts the entries by score, zeroes c and bounds the curvature: a pair bends the
  // loss by at most 2 [1 -1; -1 1], which diag(4, 4) bounds, and a step may make every pair active. Returns the number
  // of levels.
  static std::int32_t prepare(const List& list, LossScratch& scratch, float* c, float* h) {
    const std::int64_t n = list.size;
    scratch.reserve_sorting(n);
    std::int32_t groups = 0;
    for (std::int64_t begin = 0, end; begin < n; begin = end, ++groups) {
      end = list.end_of_level(begin);
      const auto others = static_cast<float>(n - (end - begin));
      for (std::int64_t i = begin; i < end; ++i) {
        scratch.group[i] = groups;
        c[i] = 0.0f;
        if (h != nullptr) h[i] = 4.0f * others;
      }
    }
    if (groups > 1) sort_by_score(list.scores, n, scratch);
    return groups;
  }

  // order = the entries by rising score: keys of score and position, so that the order is one and the same everywhere.
  static void sort_by_score(const float* x, std::int64_t n, LossScratch& scratch) {
    std::uint64_t* keys = scratch.keys.data();
    for (std::int64_t i = 0; i < n; ++i) {
      std::uint32_t bits;
      std::memcpy(&bits, x + i, sizeof bits);
      bits ^= (bits >> 31) != 0 ? 0xFFFFFFFFu : 0x80000000u;  // unsigned integers in the order of the floats
      keys[i] = std::uint64_t{bits} << 32 | static_cast<std::uint64_t>(i);
    }
    constexpr std::int64_t kRadix = 160;  // from here on counting beats comparing
    if (n < kRadix) {
      std::sort(keys, keys + n);
    } else {
      radix_sort(keys, scratch.spare.data(), n);
    }
    for (std::int64_t i = 0; i < n; ++i) scratch.order[i] = static_cast<std::int32_t>(keys[i] & 0xFFFFFFFFu);
  }

  // By the upper four bytes, lowest first; an even number of passes ends where it began.
  static void radix_sort(std::uint64_t* keys, std::uint64_t* spare, std::int64_t n) {
    std::int32_t counts[4][256] = {};
    for (std::int64_t i = 0; i < n; ++i) {
      for (int byte = 0; byte < 4; ++byte) ++counts[byte][keys[i] >> (32 + 8 * byte) & 255];
    }
    for (int byte = 0; byte < 4; ++byte) {
      std::int32_t position = 0;
      for (std::int32_t& count : counts[byte]) position += std::exchange(count, position);
      for (std::int64_t i = 0; i < n; ++i) spare[counts[byte][keys[i] >> (32 + 8 * byte) & 255]++] = keys[i];
      std::swap(keys, spare);
    }
  }

  // For every entry: emit(i, sums over its active partners of worse level; with Direction -1, of better level).
  template <int Direction, class Values, class Emit>
  static void sweep(const List& list, const LossScratch& scratch, std::int32_t groups, Values values, Emit emit) {
    if (groups <= FewLevels::kLevels) {
      walk<Direction>(list, scratch, groups, FewLevels(), values, emit);
    } else {
      walk<Direction>(list, scratch, groups, ManyLevels(groups), values, emit);
    }
  }

  template <int Direction, class Sums, class Values, class Emit>
  static void walk(const List& list, const LossScratch& scratch, std::int32_t groups, Sums sums, Values values,
                   Emit emit) {
    const std::int64_t n = list.size;
    const auto entry = [&](std::int64_t k) { return scratch.order[Direction > 0 ? n - 1 - k : k]; };
    const auto group = [&](std::int64_t i) { return Direction > 0 ? scratch.group[i] : groups - 1 - scratch.group[i]; };
    std::int64_t entered = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      const std::int64_t i = entry(k);
      const float limit = static_cast<float>(Direction) * list.scores[i] - 1.0f;
      for (; entered < n; ++entered) {
        const std::int64_t j = entry(entered);
        if (!(static_cast<float>(Direction) * list.scores[j] > limit)) break;
        const auto [first, second] = values(j);
        sums.add(group(j), first, second);
      }
      emit(i, sums.worse_than(group(i)));
    }
  }
};

}  // namespace sqlrank
