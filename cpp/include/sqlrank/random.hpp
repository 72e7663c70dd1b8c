// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011). The n-th number of a stream is a
// function of (seed, stream, n) alone, so it does not matter which thread draws it, or when.
#pragma once

#include <cstdint>

namespace sqlrank {

// What a stream is for: streams of different purposes never meet.
enum class Purpose : std::uint32_t { test = 0, queue = 1, negatives = 2, factors = 3, generate = 4, sample = 5 };

struct PhiloxBlock {
  std::uint32_t word[4];
};

inline PhiloxBlock philox4x32(PhiloxBlock counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter.word[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter.word[2];
    counter = {{static_cast<std::uint32_t>(p1 >> 32) ^ counter.word[1] ^ key0, static_cast<std::uint32_t>(p1),
                static_cast<std::uint32_t>(p0 >> 32) ^ counter.word[3] ^ key1, static_cast<std::uint32_t>(p0)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

// One stream: all draws of one (seed, purpose, a, b), for example (seed, queue, epoch, user).
class Stream {
 public:
  Stream(std::uint64_t seed, Purpose purpose, std::uint32_t a, std::uint32_t b)
      : key0_(static_cast<std::uint32_t>(seed)),
        key1_(static_cast<std::uint32_t>(seed >> 32)),
        purpose_(static_cast<std::uint32_t>(purpose)),
        a_(a),
        b_(b) {}

  std::uint32_t next() {
    if (used_ == kBatch) refill();
    return buffer_[used_++];
  }

  // Uniform in [0, n), without bias: Lemire's multiplication with rejection. n >= 1.
  std::uint32_t bounded(std::uint32_t n) {
    std::uint64_t product = std::uint64_t{next()} * n;
    if (static_cast<std::uint32_t>(product) < n) {
      const std::uint32_t threshold = (0u - n) % n;
      while (static_cast<std::uint32_t>(product) < threshold) product = std::uint64_t{next()} * n;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

  // Uniform in (0, 1): never 0, so that its logarithm is finite.
  double uniform() { return (static_cast<double>(next()) + 0.5) * 0x1p-32; }

 private:
  static constexpr int kBlocks = 16;  // computed side by side, so that the compiler fills vector registers
  static constexpr int kBatch = 4 * kBlocks;

  void refill() {
    std::uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks], c3[kBlocks];
#pragma omp simd
    for (int i = 0; i < kBlocks; ++i) {
      c0[i] = block_ + static_cast<std::uint32_t>(i);
      c1[i] = purpose_;
      c2[i] = a_;
      c3[i] = b_;
    }
    std::uint32_t key0 = key0_, key1 = key1_;
    for (int round = 0; round < 10; ++round) {
#pragma omp simd
      for (int i = 0; i < kBlocks; ++i) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0[i];
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c2[i];
        c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ key0;
        c1[i] = static_cast<std::uint32_t>(p1);
        c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ key1;
        c3[i] = static_cast<std::uint32_t>(p0);
      }
      key0 += 0x9E3779B9u;
      key1 += 0xBB67AE85u;
    }
    for (int i = 0; i < kBlocks; ++i) {
      buffer_[4 * i] = c0[i];
      buffer_[4 * i + 1] = c1[i];
      buffer_[4 * i + 2] = c2[i];
      buffer_[4 * i + 3] = c3[i];
    }
    block_ += kBlocks;
    used_ = 0;
  }

  std::uint32_t key0_, key1_, purpose_, a_, b_;
  std::uint32_t block_ = 0;  // 2^32 blocks of four: 17 billion draws a stream
  int used_ = kBatch;
  alignas(64) std::uint32_t buffer_[kBatch];
};

struct RandomKernels {
  // out[i] = number i of the stream
  void (*words)(std::uint64_t seed, std::uint32_t purpose, std::uint32_t a, std::uint32_t b, std::uint32_t* out,
                std::int64_t n);
  // uniform integers in [0, bound)
  void (*bounded)(std::uint64_t seed, std::uint32_t purpose, std::uint32_t a, std::uint32_t b, std::uint32_t bound,
                  std::uint32_t* out, std::int64_t n);
  // Row r of out (rows x stride floats, `columns` of them used) holds N(0, scale^2) draws of the stream
  // (seed, factors, side, first_row + r); the padding is 0.
  void (*normal_rows)(std::uint64_t seed, std::uint32_t side, std::int64_t first_row, std::int64_t rows,
                      std::int64_t columns, std::int64_t stride, float scale, float* out);
};

}  // namespace sqlrank
