#include "sqlrank/engine.hpp"

#include <algorithm>
#include <vector>

#include "sqlrank/item_order.hpp"
#include "sqlrank/losses/all.hpp"
#include "sqlrank/rows.hpp"

namespace sqlrank {

namespace {

constexpr std::int64_t kBlockEntries = std::int64_t{1} << 20;
constexpr std::int64_t kTaskEntries = std::int64_t{1} << 14;

// Entries above the lowest level; all of them where nothing is known to be worse.
std::int64_t positives_of(const ListSource& source, std::int64_t user) {
  const std::int64_t events = source.events(user);
  if (source.levels == nullptr) return events;
  const float* levels = source.levels + source.starts[user];
  std::int64_t above = events;
  while (above > 0 && levels[above - 1] == levels[events - 1]) --above;
  return above;
}

double squared_norm(const float* row, std::int64_t stride) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < stride; ++c) sum += static_cast<double>(row[c]) * static_cast<double>(row[c]);
  return sum;
}

void clear(float* row, const FixedColumns& fixed) { std::fill(row + fixed.begin, row + fixed.end, 0.0f); }

// The first position of every run of about `size` weight, by running totals `starts` of n entries.
std::vector<std::int64_t> cut(const std::int64_t* starts, std::int64_t n, std::int64_t size) {
  std::vector<std::int64_t> cuts{0};
  for (std::int64_t i = 1; i < n; ++i) {
    if (starts[i] - starts[cuts.back()] >= size) cuts.push_back(i);
  }
  if (n > 0) cuts.push_back(n);
  return cuts;
}

struct Worker {
  Worker(std::int32_t catalogue, std::int64_t longest, std::int64_t stride)
      : builder(catalogue),
        scores(static_cast<std::size_t>(longest)),
        moves(static_cast<std::size_t>(longest)),
        curvature(static_cast<std::size_t>(longest)),
        row(static_cast<std::size_t>(stride)) {
    loss.reserve(longest);
  }
  ListBuilder builder;
  LossScratch loss;
  std::vector<float> scores, moves, curvature, row, item_moves;
};

}  // namespace

class Engine {
 public:
  Engine(const ListSource& source, const LossSettings& loss, std::int64_t stride, const FixedColumns& fixed_in_users,
         const FixedColumns& fixed_in_items)
      : source_(source),
        loss_(loss),
        rows_(stride),
        stride_(stride),
        fixed_in_users_(fixed_in_users),
        fixed_in_items_(fixed_in_items) {
    offsets_.resize(static_cast<std::size_t>(source.users) + 1, 0);
    for (std::int64_t u = 0; u < source.users; ++u) {
      const std::int64_t length = source.length(u);
      offsets_[u + 1] = offsets_[u] + length;
      longest_ = std::max(longest_, length);
    }
    const std::int64_t size = std::max<std::int64_t>(kBlockEntries, 4 * std::int64_t{source.catalogue});
    blocks_ = cut(offsets_.data(), source.users, size);
    values_.resize(static_cast<std::size_t>(source.users));
    user_squares_.resize(static_cast<std::size_t>(source.users));
    item_squares_.resize(static_cast<std::size_t>(source.catalogue));
  }

  EpochResult epoch(Executor& executor, const Factors& factors, const StepSettings& step, std::uint32_t number) {
    return with_loss(loss_, [&](const auto& loss) {
      prepare(executor, step.automatic);
      for (std::size_t b = 0; b + 1 < blocks_.size(); ++b) {
        cut_tasks(blocks_[b], blocks_[b + 1]);
        user_phase(executor, loss, factors, step, number);
        const float* curvature = step.automatic ? entry_curvature_.data() : nullptr;
        order_.turn(executor, {tasks_, offsets_.data(), entry_items_.data(), entry_coefficients_.data(), curvature},
                    source_.catalogue);
        item_phase(executor, factors, step, b == 0);
      }
      item_step(executor, factors, step);
      return totals();
    });
  }

  void solve_users(Executor& executor, const Factors& factors, const StepSettings& step, std::uint32_t epochs) {
    with_loss(loss_, [&](const auto& loss) {
      workers(executor);
      cut_tasks(0, source_.users);
      parallel_for(executor, tasks(), [&](std::int64_t task, int worker) {
        std::vector<std::int32_t> list(static_cast<std::size_t>(longest_));
        std::vector<float> coefficients(static_cast<std::size_t>(longest_));
        for (std::int64_t u = tasks_[task]; u < tasks_[task + 1]; ++u) {
          Factors own = factors;
          own.users = factors.next_users;
          for (std::uint32_t e = 0; e < epochs; ++e) {
            step_user<false>(workers_[worker], loss, own, step, e, u, list.data(), coefficients.data(), nullptr);
          }
        }
      });
      return 0;
    });
  }

  void user_gradients(Executor& executor, const float* users, const float* items, std::uint32_t number,
                      float* gradients, double* losses) {
    with_loss(loss_, [&](const auto& loss) {
      workers(executor);
      cut_tasks(0, source_.users);
      parallel_for(executor, tasks(), [&](std::int64_t task, int worker) {
        Worker& w = workers_[worker];
        std::vector<std::int32_t> list(static_cast<std::size_t>(longest_));
        for (std::int64_t u = tasks_[task]; u < tasks_[task + 1]; ++u) {
          const std::int64_t n = source_.length(u);
          w.builder.build(source_, u, number, list.data());
          const float* levels = source_.levels == nullptr ? nullptr : source_.levels + source_.starts[u];
          rows_.dots(users + u * stride_, items, Rows{list.data()}, n, w.scores.data());
          const List entries{w.scores.data(), n, levels, positives_of(source_, u)};
          losses[u] = loss.template operator()<true>(entries, w.loss, w.moves.data(), nullptr);
          rows_.weighted_sum(items, Rows{list.data(), w.moves.data()}, n, gradients + u * stride_);
        }
      });
      return 0;
    });
  }

 private:
  // ---- buffers -------------------------------------------------------------------------------------------------

  void workers(Executor& executor) {
    while (static_cast<int>(workers_.size()) < executor.threads()) {
      workers_.emplace_back(source_.catalogue, longest_, stride_);
    }
  }

  void prepare(Executor& executor, bool automatic) {
    workers(executor);
    gradient_.resize(static_cast<std::size_t>(source_.catalogue) * stride_);
    std::int64_t largest = 0;
    for (std::size_t b = 0; b + 1 < blocks_.size(); ++b) {
      largest = std::max(largest, offsets_[blocks_[b + 1]] - offsets_[blocks_[b]]);
    }
    const auto size = static_cast<std::size_t>(largest);
    entry_items_.resize(size);
    entry_coefficients_.resize(size);
    if (automatic) {
      user_norms_.resize(static_cast<std::size_t>(source_.users));
      entry_curvature_.resize(size);
      item_curvature_.assign(static_cast<std::size_t>(source_.catalogue), 0.0);
      direction_.resize(gradient_.size());  // zeros before the first epoch
      std::swap(direction_, gradient_);
    }
  }

  void cut_tasks(std::int64_t first, std::int64_t last) {
    tasks_ = cut(offsets_.data() + first, last - first, kTaskEntries);
    for (std::int64_t& position : tasks_) position += first;
    base_ = offsets_[first];
  }
  std::int64_t tasks() const { return static_cast<std::int64_t>(tasks_.size()) - 1; }

  // ---- user phase ----------------------------------------------------------------------------------------------

  template <class Loss>
  void user_phase(Executor& executor, const Loss& loss, const Factors& factors, const StepSettings& step,
                  std::uint32_t number) {
    parallel_for(executor, tasks(), [&](std::int64_t task, int worker) {
      for (std::int64_t u = tasks_[task]; u < tasks_[task + 1]; ++u) {
        const std::int64_t at = offsets_[u] - base_;
        float* curvature = step.automatic ? entry_curvature_.data() + at : nullptr;
        values_[u] = step_user<true>(workers_[worker], loss, factors, step, number, u, entry_items_.data() + at,
                                     entry_coefficients_.data() + at, curvature);
        user_squares_[u] = penalised_norm(factors.users + u * stride_, fixed_in_users_);
      }
    });
  }

  // One gradient step of one user; then, for the items, the coefficients at the new row. Returns the loss at the old.
  template <bool ForItems, class Loss>
  double step_user(Worker& w, const Loss& loss, const Factors& f, const StepSettings& step, std::uint32_t number,
                   std::int64_t u, std::int32_t* list, float* coefficients, float* curvature) {
    const float* old_row = f.users + u * stride_;
    float* new_row = f.next_users + u * stride_;
    const std::int64_t n = source_.length(u);
    w.builder.build(source_, u, number, list);
    const float* levels = source_.levels == nullptr ? nullptr : source_.levels + source_.starts[u];
    const List entries{w.scores.data(), n, levels, positives_of(source_, u)};
    rows_.dots(old_row, f.items, Rows{list}, n, w.scores.data());
    float* bound = step.automatic ? w.curvature.data() : nullptr;
    const double value = loss.template operator()<true>(entries, w.loss, coefficients, bound);
    float* gradient = w.row.data();
    rows_.weighted_sum(f.items, Rows{list, coefficients}, n, gradient);
    const auto lambda = static_cast<float>(step.regularization);
    for (std::int64_t c = 0; c < stride_; ++c) gradient[c] += lambda * old_row[c];
    clear(gradient, fixed_in_users_);
    double rate = step.rate;
    if (step.automatic) {
      rows_.dots(gradient, f.items, Rows{list}, n, w.moves.data());
      rate *= curvature_step(gradient, bound, w.moves.data(), n, step.regularization);
    }
    const auto length = static_cast<float>(rate);
    for (std::int64_t c = 0; c < stride_; ++c) new_row[c] = old_row[c] - length * gradient[c];
    if (ForItems) {
      if (step.automatic) {
        user_norms_[u] = static_cast<float>(squared_norm(new_row, stride_));
        for (std::int64_t i = 0; i < n; ++i) w.scores[i] -= length * w.moves[i];
      } else {
        rows_.dots(new_row, f.items, Rows{list}, n, w.scores.data());
      }
      loss.template operator()<false>(entries, w.loss, coefficients, curvature);
    }
    return value;
  }

  // The length of a step against the gradient that minimises the quadratic bound of the loss: |g|^2 / g'Hg, where
  // g'Hg = sum of h (g.v)^2 over the list + lambda |g|^2. It needs no tuning: a row with many entries takes short
  // steps.
  double curvature_step(const float* gradient, const float* bound, const float* moves, std::int64_t n,
                        double lambda) const {
    const double squared = squared_norm(gradient, stride_);
    const double denominator = bend(bound, moves, n) + lambda * squared;
    return denominator > 0.0 ? squared / denominator : 0.0;
  }

  // ---- item phase ----------------------------------------------------------------------------------------------

  void item_phase(Executor& executor, const Factors& factors, const StepSettings& step, bool first) {
    const auto ranges = cut(order_.starts(), source_.catalogue, kTaskEntries);
    parallel_for(executor, static_cast<std::int64_t>(ranges.size()) - 1, [&](std::int64_t r, int worker) {
      Worker& w = workers_[worker];
      float* row = w.row.data();
      for (std::int64_t j = ranges[r]; j < ranges[r + 1]; ++j) {
        const std::int64_t at = order_.starts()[j], n = order_.starts()[j + 1] - at;
        float* gradient = gradient_.data() + j * stride_;
        rows_.weighted_sum(factors.next_users, WeightedRows{order_.entries() + at}, n, first ? gradient : row);
        if (!first) {
          for (std::int64_t c = 0; c < stride_; ++c) gradient[c] += row[c];
        }
        if (step.automatic) item_curvature_[j] += item_bend(w, factors, j, at, n);
      }
    });
  }

  // Automatic steps: how much an item's part of the loss bends along its gradient. The gradient of this epoch is only
  // known when its last block is done, and its entries are gone by then. So: along the last gradient, plus what one
  // entry bends along itself (entries with fresh users are not in the last gradient). Before there is a last gradient,
  // the trace of the Hessian: a bound along any direction.
  double item_bend(Worker& w, const Factors& f, std::int64_t j, std::int64_t at, std::int64_t n) {
    if (n == 0) return 0.0;
    const WeightedRows entries{order_.entries() + at};
    const float* bound = order_.curvature() + at;
    double trace = 0.0;
    for (std::int64_t i = 0; i < n; ++i) trace += static_cast<double>(bound[i] * user_norms_[entries.row(i)]);
    const float* last = direction_.data() + j * stride_;
    const double squared = squared_norm(last, stride_);
    if (squared == 0.0) return trace;
    if (static_cast<std::int64_t>(w.item_moves.size()) < n) w.item_moves.resize(static_cast<std::size_t>(n));
    rows_.dots(last, f.next_users, entries, n, w.item_moves.data());
    return bend(bound, w.item_moves.data(), n) / squared + trace / static_cast<double>(n);
  }

  // Sum of h_i moves_i^2.
  static double bend(const float* bound, const float* moves, std::int64_t n) {
    double sum = 0.0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(bound[i] * moves[i] * moves[i]);
    return sum;
  }

  void item_step(Executor& executor, const Factors& f, const StepSettings& step) {
    constexpr std::int64_t kRows = 256;
    const auto lambda = static_cast<float>(step.regularization);
    parallel_for(executor, ceil_div(source_.catalogue, kRows), [&](std::int64_t block, int) {
      const std::int64_t last = std::min<std::int64_t>((block + 1) * kRows, source_.catalogue);
      for (std::int64_t j = block * kRows; j < last; ++j) {
        const float* old_row = f.items + j * stride_;
        float* new_row = f.next_items + j * stride_;
        float* gradient = gradient_.data() + j * stride_;
        item_squares_[j] = penalised_norm(old_row, fixed_in_items_);
        double rate = step.rate;
        if (step.automatic) {
          const double curvature = item_curvature_[j] + step.regularization;
          rate = curvature > 0.0 ? rate / curvature : 0.0;
        }
        const auto length = static_cast<float>(rate);
        for (std::int64_t c = 0; c < stride_; ++c) gradient[c] += lambda * old_row[c];
        clear(gradient, fixed_in_items_);
        for (std::int64_t c = 0; c < stride_; ++c) new_row[c] = old_row[c] - length * gradient[c];
      }
    });
  }

  EpochResult totals() const {
    EpochResult result;
    for (const double value : values_) result.loss += value;
    for (const double square : user_squares_) result.squared_norm += square;
    for (const double square : item_squares_) result.squared_norm += square;
    result.entries = offsets_.back();
    return result;
  }

  double penalised_norm(const float* row, const FixedColumns& fixed) const {
    double sum = squared_norm(row, stride_);
    for (std::int64_t c = fixed.begin; c < fixed.end; ++c) {
      sum -= static_cast<double>(row[c]) * static_cast<double>(row[c]);
    }
    return sum;
  }

  ListSource source_;
  LossSettings loss_;
  RowKernels rows_;
  std::int64_t stride_, longest_ = 0;
  FixedColumns fixed_in_users_, fixed_in_items_;
  std::vector<std::int64_t> offsets_, blocks_, tasks_;
  std::int64_t base_ = 0;
  std::vector<Worker> workers_;
  std::vector<double> values_, user_squares_, item_squares_, item_curvature_;
  std::vector<std::int32_t> entry_items_;
  ItemOrder order_;
  std::vector<float> entry_coefficients_, entry_curvature_, gradient_, direction_, user_norms_;
};

namespace {

Engine* create(const ListSource& source, const LossSettings& loss, std::int64_t stride,
               const FixedColumns& fixed_in_users, const FixedColumns& fixed_in_items) {
  return new Engine(source, loss, stride, fixed_in_users, fixed_in_items);
}
void destroy(Engine* engine) { delete engine; }
EpochResult epoch(Engine* engine, Executor& executor, const Factors& factors, const StepSettings& step,
                  std::uint32_t number) {
  return engine->epoch(executor, factors, step, number);
}
void solve_users(Engine* engine, Executor& executor, const Factors& factors, const StepSettings& step,
                 std::uint32_t epochs) {
  engine->solve_users(executor, factors, step, epochs);
}

void user_gradients(Engine* engine, Executor& executor, const float* users, const float* items, std::uint32_t number,
                    float* gradients, double* losses) {
  engine->user_gradients(executor, users, items, number, gradients, losses);
}

double loss_of_list(const LossSettings& settings, const float* scores, std::int64_t n, const float* levels,
                    std::int64_t positives, float* coefficients, float* curvature) {
  LossScratch scratch;
  scratch.reserve(n);
  return with_loss(settings, [&](const auto& loss) {
    return loss.template operator()<true>(List{scores, n, levels, positives}, scratch, coefficients, curvature);
  });
}

}  // namespace

extern const EngineKernels engine_kernels;
const EngineKernels engine_kernels{create,         destroy,     epoch,         solve_users,
                                   user_gradients, build_lists, sort_by_level, loss_of_list};

}  // namespace sqlrank
