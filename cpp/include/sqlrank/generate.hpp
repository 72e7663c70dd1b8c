// Artificial events drawn from the model itself: the exponential race behind the Plackett-Luce distribution.
#pragma once

#include <cstdint>

#include "sqlrank/parallel.hpp"

namespace sqlrank {

// Walker's alias table: a draw from any distribution over n items costs two random words.
struct AliasTable {
  const std::uint32_t* keep;  // slot s stands for itself when the second word is below keep[s] ...
  const std::int32_t* other;  // ... and for other[s] when it is not
};

// User u is shown `exposure[u]` distinct items, drawn by popularity. Each runs: T_j ~ Exp(rate phi(x_uj)) with
// phi(x) = exp(x / noise) and x_uj the product of the factors. The first indptr[u + 1] - indptr[u] to arrive are the
// user's events.
struct RaceModel {
  const float* user_factors;     // users x rank
  const float* item_factors;     // items x rank
  const double* log_popularity;  // items
  AliasTable popularity;         // of exp(log_popularity)
  const std::int32_t* exposure;  // users; between the number of the user's events and the number of items
  const std::int64_t* indptr;    // users + 1
  std::int64_t users, items, rank;
  double noise;
};

struct RaceResult {
  std::int32_t* indices;  // item codes, ascending within a user
  float* utilities;       // x / noise + Gumbel noise = -log T, or null
  std::int64_t* seconds;  // uniform in [0, span), or null
  std::uint32_t span;
};

struct GenerateKernels {
  void (*alias_table)(const double* log_weights, std::int64_t n, std::uint32_t* keep, std::int32_t* other);
  void (*race)(Executor& executor, std::uint64_t seed, const RaceModel& model, const RaceResult& result);
};

}  // namespace sqlrank
