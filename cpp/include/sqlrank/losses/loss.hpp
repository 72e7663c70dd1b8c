// What a list loss is: a function object that maps the scores of one list, best level first, to its value, to the
// coefficients c = d loss / d score, and to a bound h >= 0 of the loss's curvature in every score.
//
//   template <bool WithValue>
//   double operator()(const List& list, LossScratch& scratch, float* c, float* h) const;
//
// h may be null (nobody asks for it then); the value is only computed where WithValue says so.
#pragma once

#include <cstdint>
#include <vector>

namespace sqlrank {

struct List {
  const float* scores;
  std::int64_t size;
  const float* levels;     // descending; null: the first `positives` have level 1, the others 0
  std::int64_t positives;  // entries above the lowest level of an explicit list; the positives of an implicit one

  float level(std::int64_t i) const { return levels != nullptr ? levels[i] : (i < positives ? 1.0f : 0.0f); }

  // The first position behind the entries that share position `begin`'s level.
  std::int64_t end_of_level(std::int64_t begin) const {
    if (levels == nullptr) return begin < positives && positives < size ? positives : size;
    std::int64_t end = begin + 1;
    while (end < size && levels[end] == levels[begin]) ++end;
    return end;
  }
};

// How far down the list the likelihood looks.
constexpr std::int64_t kFullList = -1, kPositives = -2;

inline std::int64_t depth(const List& list, std::int64_t k) {
  const std::int64_t wanted = k == kFullList ? list.size : (k == kPositives ? list.positives : k);
  return wanted < list.size ? wanted : list.size;
}

struct LossScratch {
  std::vector<float> weight, slope;
  std::vector<double> sums;
  std::vector<std::int32_t> group, order;  // of pairwise losses: the levels as numbers, the entries by score
  std::vector<std::uint64_t> keys, spare;

  void reserve(std::int64_t longest) {
    weight.resize(static_cast<std::size_t>(longest));
    slope.resize(static_cast<std::size_t>(longest));
    sums.resize(static_cast<std::size_t>(longest));
  }

  void reserve_sorting(std::int64_t n) {
    if (static_cast<std::int64_t>(group.size()) >= n) return;
    const auto size = static_cast<std::size_t>(n);
    group.resize(size);
    order.resize(size);
    keys.resize(size);
    spare.resize(size);
  }
};

}  // namespace sqlrank
