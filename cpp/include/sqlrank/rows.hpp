// Dot products with, and weighted sums of, rows of a factor matrix: the two operations that training spends its time
// on.
//
// A row is `stride` floats, a multiple of 16, padded with zeros. Rows are taken in tiles of up to eight 64-byte
// vectors: the other operand of a tile (the query, or the running sum) stays in registers while the rows stream past.
#pragma once

#include <cstdint>
#include <cstring>

namespace sqlrank {

constexpr std::int64_t kLane = 16;                   // floats in a vector
constexpr std::int64_t kMaxTile = 8;                 // vectors in a tile
typedef float v16 __attribute__((vector_size(64)));  // lowered to what the instruction set has
typedef float v8 __attribute__((vector_size(32)));
typedef float v4 __attribute__((vector_size(16)));

inline v16 load16(const float* p) {
  v16 x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
inline void store16(float* p, v16 x) { std::memcpy(p, &x, sizeof x); }
inline void store4(float* p, v4 x) { std::memcpy(p, &x, sizeof x); }

// The sums of the four vectors' lanes, side by side.
inline v4 sums_of_four(v16 a, v16 b, v16 c, v16 d) {
#define SQLRANK_LOW 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define SQLRANK_HIGH 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
  const v16 ab = __builtin_shufflevector(a, b, SQLRANK_LOW) + __builtin_shufflevector(a, b, SQLRANK_HIGH);
  const v16 cd = __builtin_shufflevector(c, d, SQLRANK_LOW) + __builtin_shufflevector(c, d, SQLRANK_HIGH);
#undef SQLRANK_LOW
#undef SQLRANK_HIGH
  const v16 abcd = __builtin_shufflevector(ab, cd, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29) +
                   __builtin_shufflevector(ab, cd, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
  const v8 half = __builtin_shufflevector(abcd, abcd, 0, 1, 2, 3, 4, 5, 6, 7) +
                  __builtin_shufflevector(abcd, abcd, 8, 9, 10, 11, 12, 13, 14, 15);
  return __builtin_shufflevector(half, half, 0, 1, 2, 3) + __builtin_shufflevector(half, half, 4, 5, 6, 7);
}

template <int Tile>
inline v16 row_product(const v16* query, const float* row) {
  v16 sum = query[0] * load16(row);
  for (int v = 1; v < Tile; ++v) sum += query[v] * load16(row + v * kLane);
  return sum;
}

template <int Tile>
inline void prefetch_row(const float* row) {
  for (int v = 0; v < Tile; ++v) __builtin_prefetch(row + v * kLane);
}

constexpr std::int64_t kAhead = 16;  // rows fetched ahead of use

// Which rows to take, and with what weight: as two arrays, or as an array of pairs.
struct Rows {
  const std::int32_t* rows;
  const float* weights = nullptr;
  std::int32_t row(std::int64_t i) const { return rows[i]; }
  float weight(std::int64_t i) const { return weights[i]; }
};

struct WeightedRow {
  std::int32_t number;
  float weight;
};

struct WeightedRows {
  const WeightedRow* entries;
  std::int32_t row(std::int64_t i) const { return entries[i].number; }
  float weight(std::int64_t i) const { return entries[i].weight; }
};

// out[i] (+)= query . base[row i]
template <int Tile, class Terms>
void tile_dots(const float* query, const float* base, std::int64_t stride, Terms terms, std::int64_t n, bool add,
               float* out) {
  v16 q[Tile];
  for (int v = 0; v < Tile; ++v) q[v] = load16(query + v * kLane);
  const auto row = [&](std::int64_t i) { return base + terms.row(i) * stride; };
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    if (i + kAhead + 4 <= n) {
      for (int j = 0; j < 4; ++j) prefetch_row<Tile>(row(i + kAhead + j));
    }
    v4 sums = sums_of_four(row_product<Tile>(q, row(i)), row_product<Tile>(q, row(i + 1)),
                           row_product<Tile>(q, row(i + 2)), row_product<Tile>(q, row(i + 3)));
    if (add) {
      v4 old;
      std::memcpy(&old, out + i, sizeof old);
      sums += old;
    }
    store4(out + i, sums);
  }
  const v16 zero = {};
  for (; i < n; ++i) {
    const float sum = sums_of_four(row_product<Tile>(q, row(i)), zero, zero, zero)[0];
    out[i] = add ? out[i] + sum : sum;
  }
}

// out = sum of weight i * base[row i]. Long sums are cut into chunks, whose totals are added in double.
template <int Tile, class Terms>
void tile_weighted_sum(const float* base, std::int64_t stride, Terms terms, std::int64_t n, float* out) {
  constexpr std::int64_t kChunk = 2048;
  double total[Tile * kLane];
  for (std::int64_t begin = 0; begin < n || begin == 0; begin += kChunk) {
    const std::int64_t end = begin + kChunk < n ? begin + kChunk : n;
    v16 sum[Tile] = {};
    for (std::int64_t i = begin; i < end; ++i) {
      if (i + kAhead < n) prefetch_row<Tile>(base + terms.row(i + kAhead) * stride);
      const float* row = base + terms.row(i) * stride;
      const float weight = terms.weight(i);
      for (int v = 0; v < Tile; ++v) sum[v] += weight * load16(row + v * kLane);
    }
    if (n <= kChunk) {
      for (int v = 0; v < Tile; ++v) store16(out + v * kLane, sum[v]);
      return;
    }
    for (int c = 0; c < Tile * kLane; ++c) {
      const float part = sum[c / kLane][c % kLane];
      total[c] = begin == 0 ? part : total[c] + part;
    }
  }
  for (int c = 0; c < Tile * kLane; ++c) out[c] = static_cast<float>(total[c]);
}

// The two operations for one stride: tiles of eight vectors and a last, smaller one.
class RowKernels {
 public:
  explicit RowKernels(std::int64_t stride) : stride_(stride) {
    const std::int64_t vectors = stride / kLane;
    tiles_ = (vectors + kMaxTile - 1) / kMaxTile;
    last_ = static_cast<int>(vectors - (tiles_ - 1) * kMaxTile);
  }

  // out[i] = query . base[row i]
  template <class Terms>
  void dots(const float* query, const float* base, Terms terms, std::int64_t n, float* out) const {
    for (std::int64_t t = 0; t < tiles_; ++t) {
      const std::int64_t first = t * kMaxTile * kLane;
      dispatch(t, [&](auto tile) {
        tile_dots<decltype(tile)::value>(query + first, base + first, stride_, terms, n, t > 0, out);
      });
    }
  }

  // out = sum of weight i * base[row i]
  template <class Terms>
  void weighted_sum(const float* base, Terms terms, std::int64_t n, float* out) const {
    for (std::int64_t t = 0; t < tiles_; ++t) {
      const std::int64_t first = t * kMaxTile * kLane;
      dispatch(t, [&](auto tile) {
        tile_weighted_sum<decltype(tile)::value>(base + first, stride_, terms, n, out + first);
      });
    }
  }

 private:
  template <int N>
  struct Size {
    static constexpr int value = N;
  };

  template <class Function>
  void dispatch(std::int64_t tile, Function&& function) const {
    switch (tile + 1 == tiles_ ? last_ : kMaxTile) {
      case 1:
        return function(Size<1>{});
      case 2:
        return function(Size<2>{});
      case 3:
        return function(Size<3>{});
      case 4:
        return function(Size<4>{});
      case 5:
        return function(Size<5>{});
      case 6:
        return function(Size<6>{});
      case 7:
        return function(Size<7>{});
      default:
        return function(Size<8>{});
    }
  }

  std::int64_t stride_, tiles_;
  int last_;
};

}  // namespace sqlrank
