#include "sqlrank/engine.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>
#include <utility>

#include "common.hpp"
#include "sqlrank/losses/loss.hpp"

namespace sqlrank::bindings {

namespace {

using Levels = std::optional<In<float>>;
using Columns = std::pair<std::int64_t, std::int64_t>;

LossSettings loss_settings(const std::string& name, std::int64_t k) {
  static constexpr std::pair<const char*, LossKind> kNames[] = {
      {"plackett-luce-sigmoid", LossKind::plackett_luce_sigmoid},
      {"plackett-luce-identity", LossKind::plackett_luce_identity},
      {"listrank", LossKind::listrank},
      {"primal-cr", LossKind::primal_cr},
      {"bpr", LossKind::bpr},
      {"squared", LossKind::squared},
  };
  require(k >= 1 || k == kFullList || k == kPositives,
          "k must be at least 1, -1 (the full list) or -2 (the positives)");
  for (const auto& [known, kind] : kNames) {
    if (name == known) return {kind, k};
  }
  throw std::invalid_argument("unknown loss '" + name + "'");
}

// An engine and the arrays it points into.
class BoundEngine {
 public:
  BoundEngine(In<std::int64_t> starts, In<std::int32_t> items, Levels levels, std::int32_t catalogue,
              std::int64_t negatives, std::uint64_t seed, bool frozen_ties, bool keyed_by_user, const std::string& loss,
              std::int64_t k, std::int64_t stride, const Columns& fixed_in_users, const Columns& fixed_in_items)
      : starts_(starts), items_(items), levels_(levels), stride_(stride) {
    require(starts.size() >= 1, "starts must hold at least one offset");
    require(stride >= 16 && stride % 16 == 0, "stride must be a multiple of 16");
    require(!levels || levels->size() == items.size(), "levels and items must be of equal length");
    source_.users = static_cast<std::int64_t>(starts.size()) - 1;
    source_.catalogue = catalogue;
    source_.starts = starts_.data();
    source_.items = items_.data();
    source_.levels = levels_ ? levels_->data() : nullptr;
    source_.negatives = negatives;
    source_.seed = seed;
    source_.frozen_ties = frozen_ties;
    source_.keyed_by_user = keyed_by_user;
    check_source();
    engine_ =
        kernels().engine->create(source_, loss_settings(loss, k), stride, fixed(fixed_in_users), fixed(fixed_in_items));
  }
  ~BoundEngine() { kernels().engine->destroy(engine_); }
  BoundEngine(const BoundEngine&) = delete;
  BoundEngine& operator=(const BoundEngine&) = delete;

  std::tuple<double, double, std::int64_t> epoch(In2<float> users, In2<float> items, Out2<float> next_users,
                                                 Out2<float> next_items, std::uint32_t number, double rate,
                                                 double regularization, bool automatic, int threads) {
    check(users, source_.users);
    check(items, source_.catalogue);
    check(next_users, source_.users);
    check(next_items, source_.catalogue);
    const Factors factors{users.data(), items.data(), next_users.data(), next_items.data(), stride_};
    EpochResult result;
    run_parallel(threads, [&](Executor& executor) {
      result = kernels().engine->epoch(engine_, executor, factors, {regularization, rate, automatic}, number);
    });
    return std::make_tuple(result.loss, result.squared_norm, result.entries);
  }

  void solve_users(In2<float> items, Out2<float> users, std::uint32_t epochs, double rate, double regularization,
                   bool automatic, int threads) {
    check(items, source_.catalogue);
    check(users, source_.users);
    const Factors factors{nullptr, items.data(), users.data(), nullptr, stride_};
    run_parallel(threads, [&](Executor& executor) {
      kernels().engine->solve_users(engine_, executor, factors, {regularization, rate, automatic}, epochs);
    });
  }

  void user_gradients(In2<float> users, In2<float> items, std::uint32_t number, Out2<float> gradients,
                      Out<double> losses, int threads) {
    check(users, source_.users);
    check(items, source_.catalogue);
    check(gradients, source_.users);
    require(static_cast<std::int64_t>(losses.size()) == source_.users, "losses must hold one number per user");
    run_parallel(threads, [&](Executor& executor) {
      kernels().engine->user_gradients(engine_, executor, users.data(), items.data(), number, gradients.data(),
                                       losses.data());
    });
  }

  void lists(std::uint32_t number, Out<std::int32_t> out, int threads) const {
    require(static_cast<std::int64_t>(out.size()) == entries(), "out must hold one item per list entry");
    run_parallel(threads, [&](Executor& executor) { kernels().engine->lists(source_, executor, number, out.data()); });
  }

  std::int64_t entries() const {
    std::int64_t total = 0;
    for (std::int64_t u = 0; u < source_.users; ++u) total += source_.length(u);
    return total;
  }

 private:
  FixedColumns fixed(const Columns& columns) const {
    const auto [begin, end] = columns;
    require(0 <= begin && begin <= end && end <= stride_, "fixed columns must lie within a row");
    return {begin, end};
  }

  void check_source() const {
    const auto events = static_cast<std::int64_t>(items_.size());
    require(starts_(0) == 0 && starts_(starts_.size() - 1) == events, "starts must run from 0 to the number of events");
    for (std::int64_t u = 0; u < source_.users; ++u) require(source_.events(u) >= 0, "starts must not fall");
    for (std::int64_t e = 0; e < events; ++e) {
      require(source_.items[e] >= 0 && source_.items[e] < source_.catalogue, "an item code is outside the catalogue");
    }
    for (std::int64_t u = 0; u < source_.users; ++u) check_row(source_.starts[u], source_.starts[u + 1]);
  }

  // Negatives are drawn into the room that the events leave: an event that stands twice would leave too little.
  void check_row(std::int64_t begin, std::int64_t end) const {
    if (source_.levels != nullptr) {
      for (std::int64_t e = begin + 1; e < end; ++e) {
        require(source_.levels[e] <= source_.levels[e - 1], "a user's levels must not rise");
      }
      return;
    }
    for (std::int64_t e = begin + 1; e < end; ++e) {
      require(source_.items[e] > source_.items[e - 1], "a user's items must rise: each stands once");
    }
  }

  template <class Array>
  void check(const Array& array, std::int64_t rows) const {
    require(static_cast<std::int64_t>(array.shape(0)) == rows && static_cast<std::int64_t>(array.shape(1)) == stride_,
            "a factor matrix has the wrong shape");
  }

  In<std::int64_t> starts_;
  In<std::int32_t> items_;
  Levels levels_;
  std::int64_t stride_;
  ListSource source_;
  Engine* engine_ = nullptr;
};

double list_loss(const std::string& loss, std::int64_t k, In<float> scores, Levels levels, std::int64_t positives,
                 Out<float> coefficients, Out<float> curvature) {
  const auto n = static_cast<std::int64_t>(scores.size());
  require(coefficients.size() == scores.size() && curvature.size() == scores.size() &&
              (!levels || levels->size() == scores.size()),
          "all arrays must be of equal length");
  require(0 <= positives && positives <= n, "positives must be from 0 to the length of the list");
  return kernels().engine->loss(loss_settings(loss, k), scores.data(), n, levels ? levels->data() : nullptr, positives,
                                coefficients.data(), curvature.data());
}

}  // namespace

void bind_engine(nb::module_& m) {
  nb::class_<BoundEngine>(m, "Engine", "Epochs of alternating gradient steps on one list loss.")
      .def(nb::init<In<std::int64_t>, In<std::int32_t>, Levels, std::int32_t, std::int64_t, std::uint64_t, bool, bool,
                    const std::string&, std::int64_t, std::int64_t, const Columns&, const Columns&>(),
           nb::arg("starts"), nb::arg("items"), nb::arg("levels").none(), nb::arg("catalogue"), nb::arg("negatives"),
           nb::arg("seed"), nb::arg("frozen_ties"), nb::arg("keyed_by_user"), nb::arg("loss"), nb::arg("k"),
           nb::arg("stride"), nb::arg("fixed_in_users") = Columns{0, 0}, nb::arg("fixed_in_items") = Columns{0, 0})
      .def("epoch", &BoundEngine::epoch, nb::arg("users"), nb::arg("items"), nb::arg("next_users").noconvert(),
           nb::arg("next_items").noconvert(), nb::arg("number"), nb::arg("rate"), nb::arg("regularization"),
           nb::arg("automatic"), nb::arg("threads"),
           "One step of all users, then of all items; returns the loss, the factors' squared norm (both before the "
           "step) and the number of list entries.")
      .def("solve_users", &BoundEngine::solve_users, nb::arg("items"), nb::arg("users").noconvert(), nb::arg("epochs"),
           nb::arg("rate"), nb::arg("regularization"), nb::arg("automatic"), nb::arg("threads"),
           "Steps of the users alone, in place.")
      .def("user_gradients", &BoundEngine::user_gradients, nb::arg("users"), nb::arg("items"), nb::arg("number"),
           nb::arg("gradients").noconvert(), nb::arg("losses").noconvert(), nb::arg("threads"),
           "Every user's gradient and loss on the lists of an epoch, without penalty.")
      .def("lists", &BoundEngine::lists, nb::arg("number"), nb::arg("out").noconvert(), nb::arg("threads"),
           "The lists of an epoch, user after user.")
      .def_prop_ro("entries", &BoundEngine::entries, "List entries of an epoch.");

  m.def(
      "sort_by_level",
      [](In<std::int64_t> starts, In<std::int32_t> items, In<float> levels, Out<std::int32_t> sorted_items,
         Out<float> sorted_levels, int threads) {
        require(items.size() == levels.size() && items.size() == sorted_items.size() &&
                    items.size() == sorted_levels.size(),
                "all arrays must be of equal length");
        run_parallel(threads, [&](Executor& executor) {
          kernels().engine->sort_by_level(executor, static_cast<std::int64_t>(starts.size()) - 1, starts.data(),
                                          items.data(), levels.data(), sorted_items.data(), sorted_levels.data());
        });
      },
      nb::arg("starts"), nb::arg("items"), nb::arg("levels"), nb::arg("sorted_items").noconvert(),
      nb::arg("sorted_levels").noconvert(), nb::arg("threads"), "Every user's events, best level first.");
  m.def("list_loss", &list_loss, nb::arg("loss"), nb::arg("k"), nb::arg("scores"), nb::arg("levels").none(),
        nb::arg("positives"), nb::arg("coefficients").noconvert(), nb::arg("curvature").noconvert(),
        "Value, coefficients and curvature bounds of one list.");
}

}  // namespace sqlrank::bindings
