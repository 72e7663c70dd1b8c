// One epoch of alternating full-batch gradient steps on list losses.
//
// Users are cut into blocks of about a million list entries. Per block: build the lists; user phase (scores, loss,
// step, scores again with the new user row, coefficients for the items); turn the block's (user, coefficient) entries
// to item order; item phase (every item gathers the rows of its users, in list order). When all blocks are done, the
// items step. Nothing but the block in work is kept, so an epoch's memory does not grow with the data.
//
// No atomics and no per-thread gradients: users write their own rows, items sum in list order. Blocks and tasks are cut
// by the data alone. So any number of threads gives the same bits.
#pragma once

#include <cstdint>

#include "sqlrank/lists.hpp"
#include "sqlrank/parallel.hpp"

namespace sqlrank {

enum class LossKind : int {
  plackett_luce_sigmoid = 0,
  plackett_luce_identity = 1,
  listrank = 2,
  primal_cr = 3,
  bpr = 4,
  squared = 5
};

struct LossSettings {
  LossKind kind = LossKind::plackett_luce_sigmoid;
  std::int64_t k = -1;  // see losses/loss.hpp
};

// Columns that no step moves and no penalty counts, [begin, end): constants that carry biases or known features.
struct FixedColumns {
  std::int64_t begin = 0, end = 0;
};

struct StepSettings {
  double regularization = 0.0;
  double rate = 0.0;       // fixed steps: x <- x - rate (gradient + regularization x)
  bool automatic = false;  // steps from curvature, times `rate`
};

struct Factors {
  const float* users;
  const float* items;
  float* next_users;  // the new rows; the old ones stay as they are
  float* next_items;
  std::int64_t stride;
};

struct EpochResult {
  double loss = 0.0;          // at the factors the epoch started from, on this epoch's lists
  double squared_norm = 0.0;  // of both factor matrices at the start
  std::int64_t entries = 0;
};

class Engine;  // the lists' source, the cut into blocks and the buffers that live from epoch to epoch

struct EngineKernels {
  Engine* (*create)(const ListSource& source, const LossSettings& loss, std::int64_t stride,
                    const FixedColumns& fixed_in_users, const FixedColumns& fixed_in_items);
  void (*destroy)(Engine* engine);
  // A step for users and one for items.
  EpochResult (*epoch)(Engine* engine, Executor& executor, const Factors& factors, const StepSettings& step,
                       std::uint32_t epoch);
  // Steps for the users only: fold-in, `epochs` of them, in place in next_users.
  void (*solve_users)(Engine* engine, Executor& executor, const Factors& factors, const StepSettings& step,
                      std::uint32_t epochs);
  // Every user's gradient (a row each) and loss, without penalty, on the lists of an epoch; nothing steps.
  void (*user_gradients)(Engine* engine, Executor& executor, const float* users, const float* items,
                         std::uint32_t epoch, float* gradients, double* losses);
  // The lists of an epoch, one after the other: `lists` holds the sum of all lengths.
  void (*lists)(const ListSource& source, Executor& executor, std::uint32_t epoch, std::int32_t* lists);
  // Every user's events, best level first; equal levels stay in the order they came in.
  void (*sort_by_level)(Executor& executor, std::int64_t users, const std::int64_t* starts, const std::int32_t* items,
                        const float* levels, std::int32_t* sorted_items, float* sorted_levels);
  // Value, coefficients and curvature bounds of one list: what tests look at.
  double (*loss)(const LossSettings& loss, const float* scores, std::int64_t n, const float* levels,
                 std::int64_t positives, float* coefficients, float* curvature);
};

}  // namespace sqlrank
