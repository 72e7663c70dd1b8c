#include "sqlrank/newton.hpp"

#include <algorithm>
#include <vector>

#include "sqlrank/losses/primal_cr.hpp"
#include "sqlrank/rows.hpp"

namespace sqlrank {

namespace {

constexpr std::int64_t kTaskEntries = std::int64_t{1} << 14;

// The first row of every run of about kTaskEntries entries.
std::vector<std::int64_t> cut(const std::int64_t* starts, std::int64_t rows) {
  std::vector<std::int64_t> cuts{0};
  for (std::int64_t i = 1; i < rows; ++i) {
    if (starts[i] - starts[cuts.back()] >= kTaskEntries) cuts.push_back(i);
  }
  if (rows > 0) cuts.push_back(rows);
  return cuts;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0.0;
  const std::size_t n = a.size();
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < n; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

// a += scale * b
void add(std::vector<float>& a, double scale, const std::vector<float>& b) {
  const auto s = static_cast<float>(scale);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += s * b[i];
}

std::int64_t longest_list(const FixedLists& lists) {
  std::int64_t longest = 0;
  for (std::int64_t u = 0; u < lists.users; ++u) longest = std::max(longest, lists.starts[u + 1] - lists.starts[u]);
  return longest;
}

List list_of(const FixedLists& lists, std::int64_t user, const float* scores) {
  const std::int64_t begin = lists.starts[user];
  return {scores, lists.starts[user + 1] - begin, lists.levels + begin, 0};
}

// The problem of one user: minimise loss(V u) + lambda/2 |u|^2.
class UserSolver {
 public:
  UserSolver(const FixedLists& lists, const float* items, std::int64_t stride, const NewtonSettings& settings)
      : lists_(lists), items_(items), settings_(settings), rows_(stride) {
    for (auto* v : {&row_, &gradient_, &direction_, &residual_, &search_, &bent_}) {
      v->resize(static_cast<std::size_t>(stride));
    }
    const auto longest = static_cast<std::size_t>(longest_list(lists));
    for (auto* v : {&scores_, &moved_, &moves_, &coefficients_}) v->resize(longest);
    scratch_.reserve(static_cast<std::int64_t>(longest));
  }

  void step(std::int64_t user, float* row) {
    n_ = lists_.starts[user + 1] - lists_.starts[user];
    user_ = user;
    row_.assign(row, row + row_.size());
    rows_.dots(row, items_, list(), n_, scores_.data());
    const double before =
        PrimalCr{}.template operator()<true>(entries(scores_), scratch_, coefficients_.data(), nullptr) +
        0.5 * settings_.regularization * dot(row_, row_);
    sum(coefficients_, gradient_);
    add(gradient_, settings_.regularization, row_);
    solve();
    const double slope = dot(gradient_, direction_);
    if (!(slope < 0.0)) return;  // the gradient is zero
    const double length = line_search(before, slope);
    add(row_, length, direction_);
    std::copy(row_.begin(), row_.end(), row);
  }

 private:
  Rows list() const { return Rows{lists_.items + lists_.starts[user_]}; }
  List entries(const std::vector<float>& scores) const { return list_of(lists_, user_, scores.data()); }
  void sum(const std::vector<float>& weights, std::vector<float>& out) const {
    rows_.weighted_sum(items_, Rows{lists_.items + lists_.starts[user_], weights.data()}, n_, out.data());
  }

  // Conjugate gradients on H d = -g.
  void solve() {
    std::fill(direction_.begin(), direction_.end(), 0.0f);
    for (std::size_t c = 0; c < gradient_.size(); ++c) residual_[c] = -gradient_[c];
    search_ = residual_;
    double squared = dot(residual_, residual_);
    const double enough = settings_.tolerance * settings_.tolerance * squared;
    for (std::int64_t k = 0; k < settings_.products && squared > enough; ++k) {
      rows_.dots(search_.data(), items_, list(), n_, moves_.data());
      PrimalCr::product(entries(scores_), scratch_, moves_.data(), coefficients_.data());
      sum(coefficients_, bent_);
      add(bent_, settings_.regularization, search_);
      const double bend = dot(search_, bent_);
      if (!(bend > 0.0)) break;
      add(direction_, squared / bend, search_);
      add(residual_, -squared / bend, bent_);
      const double next = dot(residual_, residual_);
      for (std::size_t c = 0; c < search_.size(); ++c) {
        search_[c] = residual_[c] + static_cast<float>(next / squared) * search_[c];
      }
      squared = next;
    }
  }

  // Halves the step until it pays (Armijo); scores move along a line, so a try costs the loss alone.
  double line_search(double before, double slope) {
    constexpr double kShare = 1e-4;
    rows_.dots(direction_.data(), items_, list(), n_, moves_.data());
    const double norm = dot(row_, row_), cross = dot(row_, direction_), squared = dot(direction_, direction_);
    for (double length = 1.0; length > 1e-6; length *= 0.5) {
      const auto t = static_cast<float>(length);
      for (std::int64_t i = 0; i < n_; ++i) moved_[i] = scores_[i] + t * moves_[i];
      const double value =
          PrimalCr{}.template operator()<true>(entries(moved_), scratch_, coefficients_.data(), nullptr) +
          0.5 * settings_.regularization * (norm + length * (2.0 * cross + length * squared));
      if (value <= before + kShare * length * slope) return length;
    }
    return 0.0;
  }

  const FixedLists& lists_;
  const float* items_;
  const NewtonSettings& settings_;
  RowKernels rows_;
  LossScratch scratch_;
  std::int64_t user_ = 0, n_ = 0;
  std::vector<float> row_, gradient_, direction_, residual_, search_, bent_, scores_, moved_, moves_, coefficients_;
};

void step_users(Executor& executor, const FixedLists& lists, const float* items, float* users, std::int64_t stride,
                const NewtonSettings& settings) {
  const auto tasks = cut(lists.starts, lists.users);
  std::vector<UserSolver> solvers(static_cast<std::size_t>(executor.threads()),
                                  UserSolver(lists, items, stride, settings));
  parallel_for(executor, static_cast<std::int64_t>(tasks.size()) - 1, [&](std::int64_t task, int worker) {
    for (std::int64_t u = tasks[task]; u < tasks[task + 1]; ++u) solvers[worker].step(u, users + u * stride);
  });
}

// Calls work(user, scratch, moves): `moves` has room for a list.
template <class Work>
void for_each_list(Executor& executor, const FixedLists& lists, Work&& work) {
  const auto tasks = cut(lists.starts, lists.users);
  const std::int64_t longest = longest_list(lists);
  parallel_for(executor, static_cast<std::int64_t>(tasks.size()) - 1, [&](std::int64_t task, int) {
    LossScratch scratch;
    scratch.reserve(longest);
    std::vector<float> moves(static_cast<std::size_t>(longest));
    for (std::int64_t u = tasks[task]; u < tasks[task + 1]; ++u) work(u, scratch, moves.data());
  });
}

void evaluate(Executor& executor, const FixedLists& lists, const float* users, const float* items, std::int64_t stride,
              float* scores, float* coefficients, double* losses) {
  const RowKernels rows(stride);
  for_each_list(executor, lists, [&](std::int64_t u, LossScratch& scratch, float*) {
    const std::int64_t at = lists.starts[u], n = lists.starts[u + 1] - at;
    rows.dots(users + u * stride, items, Rows{lists.items + at}, n, scores + at);
    losses[u] =
        PrimalCr{}.template operator()<true>(list_of(lists, u, scores + at), scratch, coefficients + at, nullptr);
  });
}

void product(Executor& executor, const FixedLists& lists, const float* users, const float* direction,
             std::int64_t stride, const float* scores, float* out) {
  const RowKernels rows(stride);
  for_each_list(executor, lists, [&](std::int64_t u, LossScratch& scratch, float* moves) {
    const std::int64_t at = lists.starts[u], n = lists.starts[u + 1] - at;
    rows.dots(users + u * stride, direction, Rows{lists.items + at}, n, moves);
    PrimalCr::product(list_of(lists, u, scores + at), scratch, moves, out + at);
  });
}

void sum_by_item(Executor& executor, std::int64_t items, const EntriesByItem& order, const float* users,
                 std::int64_t stride, const float* coefficients, float* out) {
  const RowKernels rows(stride);
  const auto tasks = cut(order.starts, items);
  parallel_for(executor, static_cast<std::int64_t>(tasks.size()) - 1, [&](std::int64_t task, int) {
    std::vector<float> weights;
    for (std::int64_t j = tasks[task]; j < tasks[task + 1]; ++j) {
      const std::int64_t at = order.starts[j], n = order.starts[j + 1] - at;
      weights.resize(static_cast<std::size_t>(n));
      for (std::int64_t i = 0; i < n; ++i) weights[i] = coefficients[order.positions[at + i]];
      rows.weighted_sum(users, Rows{order.users + at, weights.data()}, n, out + j * stride);
    }
  });
}

}  // namespace

extern const NewtonKernels newton_kernels;
const NewtonKernels newton_kernels{step_users, evaluate, product, sum_by_item};

}  // namespace sqlrank
