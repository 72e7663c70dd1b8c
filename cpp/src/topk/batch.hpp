// Lists for many users at once: float32 scores tile by tile, survivors per user, the order settled in float64.
//
// Why the result is exact. A float32 score differs from the exact one by at most
//     error = (rank + 2) * 2^-24 * |u| * |v|   (+ a little for numbers too small to be normal),
// so a competing item that is no survivor scores at most threshold + error. When the n-th best survivor, in float64,
// scores more than that, nobody is missing. When it does not (ties, mostly), the user is settled in float64 alone.
#pragma once

#include <cmath>
#include <memory>

#include "exact.hpp"
#include "panels.hpp"
#include "survivors.hpp"

namespace sqlrank {
namespace {

class BatchRecommender {
 public:
  BatchRecommender(Executor& executor, const TopKQuery& query, const TopKLists& out)
      : executor_(executor),
        query_(query),
        out_(out),
        n_(std::min(query.n, out.width)),
        group_(group_of(query.users.count)),
        items_(executor, query.items, query.rank, query.stride),
        scratch_(static_cast<std::size_t>(executor.threads())) {}

  // False when the numbers are such that float32 cannot help.
  bool run(TopKStats* stats) {
    if (!items_.scannable()) return false;
    const std::int64_t keep = n_ + 4 + n_ / 8;
    constexpr std::int64_t kStateBytes = std::int64_t{1} << 25;
    const std::int64_t groups = std::max<std::int64_t>(4, kStateBytes / (Survivors::bytes_per_user(keep) * group_));
    const std::int64_t chunk = std::min(groups, ceil_div(query_.users.count, group_)) * group_;
    Survivors survivors(chunk, keep, query_.items, query_.exclude);
    for (std::int64_t begin = 0; begin < query_.users.count; begin += chunk) {
      run_chunk(begin, std::min(query_.users.count, begin + chunk), survivors);
    }
    for (const Scratch& scratch : scratch_) {
      stats->exact_users += scratch.stats.exact_users;
      stats->tiles += scratch.stats.tiles;
      stats->tiles_pruned += scratch.stats.tiles_pruned;
    }
    return true;
  }

 private:
  static constexpr std::int64_t kTiles = 16;  // a group's rows and one panel fit into the first cache up to rank 64
  static constexpr std::int64_t kMaxGroup = kTiles * kUserTile;

  // Users per task: as many as fit, but eight tasks when there are few users.
  static std::int64_t group_of(std::int64_t users) {
    const std::int64_t tiles = ceil_div(users, kUserTile);
    return std::clamp<std::int64_t>(ceil_div(tiles, 8), 2, kTiles) * kUserTile;
  }

  struct Scratch {
    ExactScratch exact;
    AlignedFloats users;
    double lengths[kMaxGroup];
    float limits[kMaxGroup];  // the users' thresholds, +inf for those whom tiles cannot help
    float reach[kTiles];      // items at most this long cannot pass any threshold of the tile
    TopKStats stats;
  };

  void run_chunk(std::int64_t begin, std::int64_t end, Survivors& survivors) {
    survivors.reset(begin);
    const std::int64_t groups = ceil_div(end - begin, group_);
    for (std::int64_t first = 0; first < items_.panels(); first += items_.panels_per_slab()) {
      items_.load(executor_, first);
      const std::int64_t last = std::min(items_.panels(), first + items_.panels_per_slab());
      parallel_for(executor_, groups, [&](std::int64_t group, int worker) {
        Scratch& scratch = scratch_[static_cast<std::size_t>(worker)];
        const std::int64_t users = std::min(end - begin - group * group_, group_);
        load_users(begin, group * group_, users, survivors, scratch);
        scan(first, last, group * group_, ceil_div(users, kUserTile), survivors, scratch);
      });
    }
    parallel_for(executor_, groups, [&](std::int64_t group, int worker) {
      const std::int64_t stop = std::min(end - begin, (group + 1) * group_);
      for (std::int64_t slot = group * group_; slot < stop; ++slot) {
        finish(begin + slot, slot, survivors, scratch_[static_cast<std::size_t>(worker)]);
      }
    });
  }

  // Whether float32 scores of this user mean anything: not for a row of zeros, NaN, or huge numbers.
  bool scannable(double length) const { return length > 0.0 && length * items_.longest() < 1e37; }

  void load_users(std::int64_t begin, std::int64_t slot, std::int64_t users, const Survivors& survivors,
                  Scratch& scratch) {
    float* packed = scratch.users.resize(kMaxGroup * query_.rank);
    for (std::int64_t tile = 0; tile < ceil_div(users, kUserTile); ++tile) {
      const std::int64_t base = tile * kUserTile;
      const auto row = [&](std::int64_t r) { return query_.users.row(begin + slot + base + r, query_.stride); };
      pack_rows(users - base, kUserTile, query_.rank, packed + base * query_.rank, row);
      for (std::int64_t u = base; u < base + kUserTile; ++u) {
        const double length = u < users ? length_of(row(u - base), query_.rank) : 0.0;
        scratch.lengths[u] = length;
        const bool wanted = scannable(length);
        scratch.limits[u] = wanted ? survivors.threshold(slot + u) : std::numeric_limits<float>::infinity();
      }
      update_reach(tile, scratch);
    }
  }

  static void update_reach(std::int64_t tile, Scratch& scratch) {
    float reach = std::numeric_limits<float>::infinity();
    for (std::int64_t u = tile * kUserTile; u < (tile + 1) * kUserTile; ++u) {
      if (scratch.limits[u] == std::numeric_limits<float>::infinity()) continue;
      reach = std::min(reach, static_cast<float>(scratch.limits[u] / scratch.lengths[u] * (1 - 1e-6)));
    }
    scratch.reach[tile] = reach;
  }

  void scan(std::int64_t first, std::int64_t last, std::int64_t slot, std::int64_t tiles, Survivors& survivors,
            Scratch& scratch) {
    const float* users = scratch.users.data();
    const std::int64_t rank = query_.rank;
    std::int64_t active = tiles;
    std::int64_t order[kTiles];
    for (std::int64_t tile = 0; tile < tiles; ++tile) order[tile] = tile;
    for (std::int64_t p = first; p < last && active > 0; ++p) {
      const float* panel = items_.panel(p);
      const float bound = items_.bound(p);
      for (std::int64_t a = 0; a < active; ++a) {
        const std::int64_t tile = order[a];
        if (bound < scratch.reach[tile]) {  // and so it is for all later panels
          order[a--] = order[--active];
          scratch.stats.tiles_pruned += last - p;
          continue;
        }
        const std::int64_t base = tile * kUserTile;
        Tile scores;
        score_tile(users + base * rank, panel, rank, scores);
        collect(scores, items_.positions(p), slot, tile, survivors, scratch);
      }
      scratch.stats.tiles += active;
    }
  }

  static void collect(const Tile& scores, const std::int32_t* positions, std::int64_t slot, std::int64_t tile,
                      Survivors& survivors, Scratch& scratch) {
    const std::int64_t base = tile * kUserTile;
    std::uint32_t masks[kUserTile], any = 0;
#pragma GCC unroll 8
    for (int u = 0; u < kUserTile; ++u) {
      const float limit = scratch.limits[base + u];
      masks[u] = lanes_above(scores.sum[u][0], limit) | lanes_above(scores.sum[u][1], limit) << kLanes;
      any |= masks[u];
    }
    if (any == 0) return;
    bool rose = false;
    for (int u = 0; u < kUserTile; ++u) {
      if (masks[u] == 0) continue;
      const float* row = reinterpret_cast<const float*>(scores.sum[u]);
      if (!survivors.add(slot + base + u, masks[u], row, positions)) continue;
      scratch.limits[base + u] = survivors.threshold(slot + base + u);
      rose = true;
    }
    if (rose) update_reach(tile, scratch);
  }

  void finish(std::int64_t q, std::int64_t slot, Survivors& survivors, Scratch& scratch) {
    const float* row = query_.users.row(q, query_.stride);
    const double length = length_of(row, query_.rank);
    if (length == 0.0) return all_equal(q, scratch.exact.best);
    if (scannable(length)) {
      survivors.tighten(slot);
      const double longest = items_.longest();
      const auto rank = static_cast<double>(query_.rank);
      const double error = (rank + 2) * (0x1p-24 * length * longest + 0x1p-120 * (1 + length + longest)) * 1.01;
      ExactUser& user = scratch.exact.user;
      BestOf& best = scratch.exact.best;
      user.assign(row, query_.stride);
      best.reset(n_);
      for (std::int32_t i = 0; i < survivors.count(slot); ++i) {
        prefetch_item(survivors.codes(slot)[i]);
      }
      for (std::int32_t i = 0; i < survivors.count(slot); ++i) {
        const std::int32_t code = survivors.codes(slot)[i];
        best.offer(user.score(query_.items.data + code * query_.stride), code);
      }
      best.write(out_, q);
      const float threshold = survivors.threshold(slot);
      if (std::isinf(threshold) || best.last_score() > static_cast<double>(threshold) + error) return;
    }
    ++scratch.stats.exact_users;
    recommend_exactly(query_, q, out_, scratch.exact);
  }

  // Survivors are all over memory: ask for their rows before the first one is needed.
  void prefetch_item(std::int32_t code) const {
    const float* row = query_.items.data + code * query_.stride;
    for (std::int64_t c = 0; c < query_.rank; c += 16) __builtin_prefetch(row + c);
  }

  // A user's row of zeros scores 0 everywhere: the lowest codes.
  void all_equal(std::int64_t q, BestOf& best) {
    best.reset(n_);
    SortedCursor excluded(query_.exclude, q);
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < query_.items.count && found < n_; ++i) {
      const std::int32_t code = query_.items.code(i);
      if (excluded.contains(code)) continue;
      best.offer(0.0, code);
      ++found;
    }
    best.write(out_, q);
  }

  Executor& executor_;
  const TopKQuery& query_;
  const TopKLists& out_;
  std::int64_t n_, group_;
  PackedItems items_;
  std::vector<Scratch> scratch_;
};

}  // namespace
}  // namespace sqlrank
