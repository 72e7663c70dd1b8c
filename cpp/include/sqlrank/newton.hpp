// Second-order steps for Primal-CR: what a truncated Newton method asks of the data.
//
// Users are independent given the items: each user's step (conjugate gradients on H d = -g, then a line search) is one
// task. The items hang together through the pairs of the lists, so their conjugate gradients run over the whole item
// matrix outside, on products with the Hessian from here. A product costs what a gradient costs.
#pragma once

#include <cstdint>

#include "sqlrank/parallel.hpp"

namespace sqlrank {

// Fixed lists, best level first, user by user.
struct FixedLists {
  std::int64_t users = 0;
  std::int32_t catalogue = 0;
  const std::int64_t* starts = nullptr;
  const std::int32_t* items = nullptr;
  const float* levels = nullptr;
};

// The same entries, item by item: who has the item, and where the entry stands in user order.
struct EntriesByItem {
  const std::int64_t* starts = nullptr;  // catalogue + 1
  const std::int32_t* users = nullptr;
  const std::int64_t* positions = nullptr;
};

struct NewtonSettings {
  double regularization = 0.0;
  std::int64_t products = 10;  // of a truncated solve, at most
  double tolerance = 0.1;      // a solve ends when the residual is this share of the gradient
};

struct NewtonKernels {
  // One step of every user, in place.
  void (*step_users)(Executor& executor, const FixedLists& lists, const float* items, float* users, std::int64_t stride,
                     const NewtonSettings& settings);
  // Scores of all entries, their coefficients, and every user's loss.
  void (*evaluate)(Executor& executor, const FixedLists& lists, const float* users, const float* items,
                   std::int64_t stride, float* scores, float* coefficients, double* losses);
  // The Hessian in the scores times the moves that a direction of the items means for the scores.
  void (*product)(Executor& executor, const FixedLists& lists, const float* users, const float* direction,
                  std::int64_t stride, const float* scores, float* out);
  // Row j of out = the sum of coefficient * user row over the entries of item j.
  void (*sum_by_item)(Executor& executor, std::int64_t items, const EntriesByItem& order, const float* users,
                      std::int64_t stride, const float* coefficients, float* out);
};

}  // namespace sqlrank
