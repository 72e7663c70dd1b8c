// Item rows rearranged for the processor, and scores of a tile of users x items held in registers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "sqlrank/topk.hpp"

namespace sqlrank {
namespace {

// The tile fills the register file without spilling: kUserTile x 2 sums, two item vectors, one user value.
#if defined(__AVX512F__)
constexpr int kLanes = 16;
constexpr int kUserTile = 8;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
constexpr int kUserTile = 6;
#elif defined(__aarch64__)
constexpr int kLanes = 4;
constexpr int kUserTile = 8;
#else
constexpr int kLanes = 4;
constexpr int kUserTile = 4;
#endif
constexpr int kPanel = 2 * kLanes;

typedef float Vec __attribute__((vector_size(4 * kLanes)));

// Bit l is set where lane l exceeds the limit; never for NaN.
inline std::uint32_t lanes_above(const Vec& values, float limit) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(values, _mm512_set1_ps(limit), _CMP_GT_OQ);
#elif defined(__AVX2__)
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(values, _mm256_set1_ps(limit), _CMP_GT_OQ)));
#elif defined(__SSE2__)
  return static_cast<std::uint32_t>(_mm_movemask_ps(_mm_cmpgt_ps(values, _mm_set1_ps(limit))));
#else
  std::uint32_t mask = 0;
  for (int lane = 0; lane < kLanes; ++lane) mask |= static_cast<std::uint32_t>(values[lane] > limit) << lane;
  return mask;
#endif
}

// Cache-line aligned room for floats, not initialised: whoever fills it touches its pages first.
class AlignedFloats {
 public:
  float* resize(std::int64_t count) {
    if (count > room_) {
      memory_.reset(new float[static_cast<std::size_t>(count) + 16]);
      room_ = count;
    }
    return data();
  }
  float* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
    return reinterpret_cast<float*>((address + 63) & ~std::uintptr_t{63});
  }

 private:
  std::unique_ptr<float[]> memory_;
  std::int64_t room_ = 0;
};

struct Tile {
  Vec sum[kUserTile][2];
};

// Scores of kUserTile users (rank x kUserTile floats) and the kPanel items of a panel (rank x kPanel floats). Every
// score is one chain of multiply-adds over the columns in order, which is what the error bound counts on.
inline void score_tile(const float* users, const float* panel, std::int64_t rank, Tile& tile) {
  Vec sum[kUserTile][2] = {};
  for (std::int64_t c = 0; c < rank; ++c) {
    const Vec left = *reinterpret_cast<const Vec*>(panel + c * kPanel);
    const Vec right = *reinterpret_cast<const Vec*>(panel + c * kPanel + kLanes);
#pragma GCC unroll 8
    for (int u = 0; u < kUserTile; ++u) {
      const float value = users[c * kUserTile + u];
      sum[u][0] += value * left;
      sum[u][1] += value * right;
    }
  }
#pragma GCC unroll 8
  for (int u = 0; u < kUserTile; ++u) {
    tile.sum[u][0] = sum[u][0];
    tile.sum[u][1] = sum[u][1];
  }
}

// Transposes rows into a tile: out[c * width + r] = rows[r][c]; missing rows are zeros.
template <class Row>
void pack_rows(std::int64_t count, int width, std::int64_t rank, float* out, Row&& row) {
  for (int r = 0; r < width; ++r) {
    const float* source = r < count ? row(r) : nullptr;
    for (std::int64_t c = 0; c < rank; ++c) out[c * width + r] = source != nullptr ? source[c] : 0.0f;
  }
}

// A length, rounded up so that no product of two of them falls below the inner product.
inline double length_of(const float* row, std::int64_t rank) {
  double squares[8] = {};
  for (std::int64_t c = 0; c < rank; c += 8) {  // rows are padded with zeros
#pragma omp simd
    for (int lane = 0; lane < 8; ++lane) {
      const auto value = static_cast<double>(row[c + lane]);
      squares[lane] += value * value;
    }
  }
  double sum = 0.0;
  for (const double square : squares) sum += square;
  return std::sqrt(sum) * (1.0 + 1e-9);
}

// The candidates, longest rows first, in slabs of panels: the further one walks, the less an item can score.
class PackedItems {
 public:
  static constexpr std::int64_t kSlabFloats = std::int64_t{1} << 24;

  PackedItems(Executor& executor, const FactorRows& items, std::int64_t rank, std::int64_t stride)
      : items_(items), rank_(rank), stride_(stride) {
    lengths_.resize(static_cast<std::size_t>(items.count));
    constexpr std::int64_t kRows = 2048;
    parallel_for(executor, ceil_div(items.count, kRows), [&](std::int64_t task, int) {
      const std::int64_t end = std::min(items.count, (task + 1) * kRows);
      for (std::int64_t i = task * kRows; i < end; ++i) {
        lengths_[static_cast<std::size_t>(i)] = static_cast<float>(length_of(items.row(i, stride), rank) * (1 + 1e-6));
      }
    });
    for (const float length : lengths_) {
      longest_ = std::max(longest_, length);
      scannable_ = scannable_ && std::isfinite(length);
    }
    scannable_ = scannable_ && (longest_ == 0.0f || longest_ > kShortest);
    if (scannable_) sort_by_length();
  }

  // False when float32 is not enough to order the items: rows with NaN or infinity, or all rows next to nothing.
  bool scannable() const { return scannable_; }
  double longest() const { return longest_; }
  std::int64_t panels() const { return ceil_div(items_.count, kPanel); }
  std::int64_t panels_per_slab() const {
    return std::max<std::int64_t>(64, kSlabFloats / (std::max<std::int64_t>(rank_, 1) * kPanel));
  }

  // Packs the slab that starts at panel `first`; the previous one is gone.
  void load(Executor& executor, std::int64_t first) {
    if (first == first_) return;
    first_ = first;
    const std::int64_t count = std::min(panels_per_slab(), panels() - first);
    float* slab = slab_.resize(count * rank_ * kPanel);
    bounds_.resize(static_cast<std::size_t>(count));
    parallel_for(executor, ceil_div(count, 16), [&](std::int64_t task, int) {
      const std::int64_t end = std::min(count, (task + 1) * 16);
      for (std::int64_t p = task * 16; p < end; ++p) pack_panel(p, slab + p * rank_ * kPanel);
    });
  }

  const float* panel(std::int64_t p) { return slab_.data() + (p - first_) * rank_ * kPanel; }
  // No item of the panel, nor of a later one, is longer.
  float bound(std::int64_t p) const { return bounds_[static_cast<std::size_t>(p - first_)]; }
  // Position among the candidates of a panel's lane, -1 for the filling of the last panel.
  const std::int32_t* positions(std::int64_t p) const { return order_.data() + p * kPanel; }

 private:
  static constexpr std::int32_t kBuckets = 4096;
  // Below it, kBuckets / longest and longest / kBuckets leave the range of normal floats before long.
  static constexpr float kShortest = 1e-18f;

  // Longest first to within 1/4096 of the longest: a counting sort, because nothing depends on the exact order.
  void sort_by_length() {
    const float scale = longest_ > 0 ? static_cast<float>(kBuckets - 1) / longest_ : 0.0f;
    const auto bucket = [&](float length) { return kBuckets - 1 - static_cast<std::int32_t>(length * scale); };
    std::vector<std::int64_t> start(kBuckets + 1, 0);
    for (const float length : lengths_) ++start[static_cast<std::size_t>(bucket(length)) + 1];
    for (std::size_t b = 0; b < kBuckets; ++b) start[b + 1] += start[b];
    order_.assign(static_cast<std::size_t>(panels() * kPanel), -1);
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      const auto slot = static_cast<std::size_t>(start[static_cast<std::size_t>(bucket(lengths_[i]))]++);
      order_[slot] = static_cast<std::int32_t>(i);
    }
  }

  void pack_panel(std::int64_t p, float* out) {
    const std::int32_t* places = positions(first_ + p);
    std::int64_t count = 0;
    float bound = 0.0f;
    while (count < kPanel && places[count] >= 0) {
      bound = std::max(bound, lengths_[static_cast<std::size_t>(places[count])]);
      ++count;
    }
    pack_rows(count, kPanel, rank_, out, [&](int r) { return items_.row(places[r], stride_); });
    // Within a bucket lengths are in any order: a bucket's width (and a little) more holds for all that follow.
    bounds_[static_cast<std::size_t>(p)] = bound + 1.01f * longest_ / (kBuckets - 1);
  }

  FactorRows items_;
  std::int64_t rank_, stride_;
  std::vector<float> lengths_;
  std::vector<std::int32_t> order_;
  float longest_ = 0.0f;
  bool scannable_ = true;
  std::int64_t first_ = -1;
  AlignedFloats slab_;
  std::vector<float> bounds_;
};

}  // namespace
}  // namespace sqlrank
