#include "sqlrank/newton.hpp"

#include "common.hpp"

namespace sqlrank::bindings {

namespace {

// Fixed lists in both orders, checked once.
class BoundNewton {
 public:
  BoundNewton(In<std::int64_t> starts, In<std::int32_t> items, In<float> levels, std::int32_t catalogue,
              In<std::int64_t> item_starts, In<std::int32_t> item_users, In<std::int64_t> item_positions,
              std::int64_t stride)
      : starts_(starts),
        items_(items),
        levels_(levels),
        item_starts_(item_starts),
        item_users_(item_users),
        item_positions_(item_positions),
        stride_(stride) {
    require(starts.size() >= 1, "starts must hold at least one offset");
    require(stride >= 16 && stride % 16 == 0, "stride must be a multiple of 16");
    require(levels.size() == items.size() && item_users.size() == items.size() && item_positions.size() == items.size(),
            "items, levels and both arrays in item order must be of equal length");
    require(static_cast<std::int64_t>(item_starts.size()) == std::int64_t{catalogue} + 1,
            "item_starts must hold one offset per item, and the end");
    lists_ = {static_cast<std::int64_t>(starts.size()) - 1, catalogue, starts_.data(), items_.data(), levels_.data()};
    order_ = {item_starts_.data(), item_users_.data(), item_positions_.data()};
    check_offsets(starts_, "starts");
    check_offsets(item_starts_, "item_starts");
    const auto entries = static_cast<std::int64_t>(items.size());
    for (std::int64_t e = 0; e < entries; ++e) {
      require(items_(e) >= 0 && items_(e) < catalogue, "an item code is outside the catalogue");
      require(item_users_(e) >= 0 && item_users_(e) < lists_.users, "a user code is outside the lists");
      require(item_positions_(e) >= 0 && item_positions_(e) < entries, "a position is outside the lists");
    }
  }

  void step_users(In2<float> items, Out2<float> users, double regularization, std::int64_t products, double tolerance,
                  int threads) const {
    check(items, lists_.catalogue);
    check(users, lists_.users);
    run_parallel(threads, [&](Executor& executor) {
      kernels().newton->step_users(executor, lists_, items.data(), users.data(), stride_,
                                   {regularization, products, tolerance});
    });
  }

  void evaluate(In2<float> users, In2<float> items, Out<float> scores, Out<float> coefficients, Out<double> losses,
                int threads) const {
    check(users, lists_.users);
    check(items, lists_.catalogue);
    require(scores.size() == items_.size() && coefficients.size() == items_.size() &&
                static_cast<std::int64_t>(losses.size()) == lists_.users,
            "scores and coefficients must hold one number per entry, losses one per user");
    run_parallel(threads, [&](Executor& executor) {
      kernels().newton->evaluate(executor, lists_, users.data(), items.data(), stride_, scores.data(),
                                 coefficients.data(), losses.data());
    });
  }

  void product(In2<float> users, In2<float> direction, In<float> scores, Out<float> out, int threads) const {
    check(users, lists_.users);
    check(direction, lists_.catalogue);
    require(scores.size() == items_.size() && out.size() == items_.size(),
            "scores and out must hold one number per entry");
    run_parallel(threads, [&](Executor& executor) {
      kernels().newton->product(executor, lists_, users.data(), direction.data(), stride_, scores.data(), out.data());
    });
  }

  void sum_by_item(In2<float> users, In<float> coefficients, Out2<float> out, int threads) const {
    check(users, lists_.users);
    check(out, lists_.catalogue);
    require(coefficients.size() == items_.size(), "coefficients must hold one number per entry");
    run_parallel(threads, [&](Executor& executor) {
      kernels().newton->sum_by_item(executor, lists_.catalogue, order_, users.data(), stride_, coefficients.data(),
                                    out.data());
    });
  }

 private:
  void check_offsets(const In<std::int64_t>& starts, const char* name) const {
    const auto n = static_cast<std::int64_t>(starts.size());
    bool rising = starts(0) == 0 && starts(n - 1) == static_cast<std::int64_t>(items_.size());
    for (std::int64_t i = 1; i < n; ++i) rising = rising && starts(i) >= starts(i - 1);
    if (!rising) throw std::invalid_argument(std::string(name) + " must rise from 0 to the number of entries");
  }

  template <class Array>
  void check(const Array& array, std::int64_t rows) const {
    require(static_cast<std::int64_t>(array.shape(0)) == rows && static_cast<std::int64_t>(array.shape(1)) == stride_,
            "a factor matrix has the wrong shape");
  }

  In<std::int64_t> starts_;
  In<std::int32_t> items_;
  In<float> levels_;
  In<std::int64_t> item_starts_;
  In<std::int32_t> item_users_;
  In<std::int64_t> item_positions_;
  std::int64_t stride_;
  FixedLists lists_;
  EntriesByItem order_;
};

}  // namespace

void bind_newton(nb::module_& m) {
  nb::class_<BoundNewton>(m, "Newton", "Second-order steps for the squared hinge over pairs, on fixed lists.")
      .def(nb::init<In<std::int64_t>, In<std::int32_t>, In<float>, std::int32_t, In<std::int64_t>, In<std::int32_t>,
                    In<std::int64_t>, std::int64_t>(),
           nb::arg("starts"), nb::arg("items"), nb::arg("levels"), nb::arg("catalogue"), nb::arg("item_starts"),
           nb::arg("item_users"), nb::arg("item_positions"), nb::arg("stride"))
      .def("step_users", &BoundNewton::step_users, nb::arg("items"), nb::arg("users").noconvert(),
           nb::arg("regularization"), nb::arg("products"), nb::arg("tolerance"), nb::arg("threads"),
           "One truncated Newton step of every user, in place.")
      .def("evaluate", &BoundNewton::evaluate, nb::arg("users"), nb::arg("items"), nb::arg("scores").noconvert(),
           nb::arg("coefficients").noconvert(), nb::arg("losses").noconvert(), nb::arg("threads"),
           "Scores and coefficients of all entries, losses of all users.")
      .def("product", &BoundNewton::product, nb::arg("users"), nb::arg("direction"), nb::arg("scores"),
           nb::arg("out").noconvert(), nb::arg("threads"),
           "The Hessian in the scores times what a direction of the items moves the scores.")
      .def("sum_by_item", &BoundNewton::sum_by_item, nb::arg("users"), nb::arg("coefficients"),
           nb::arg("out").noconvert(), nb::arg("threads"), "Per item, the sum of coefficient times user row.");
}

}  // namespace sqlrank::bindings
