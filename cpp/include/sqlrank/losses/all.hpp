// All list losses, and the one place that picks one by its settings.
#pragma once

#include "sqlrank/engine.hpp"
#include "sqlrank/losses/bpr.hpp"
#include "sqlrank/losses/listrank.hpp"
#include "sqlrank/losses/plackett_luce.hpp"
#include "sqlrank/losses/primal_cr.hpp"
#include "sqlrank/losses/squared.hpp"

namespace sqlrank {

// Calls function with the loss object that the settings name.
template <class Function>
auto with_loss(const LossSettings& settings, Function&& function) {
  switch (settings.kind) {
    case LossKind::plackett_luce_identity:
      return function(PlackettLuce<IdentityLink>{settings.k});
    case LossKind::listrank:
      return function(ListRank{});
    case LossKind::primal_cr:
      return function(PrimalCr{});
    case LossKind::bpr:
      return function(Bpr{});
    case LossKind::squared:
      return function(SquaredError{});
    default:
      return function(PlackettLuce<SigmoidLink>{settings.k});
  }
}

}  // namespace sqlrank
