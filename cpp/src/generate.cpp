#include "sqlrank/generate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sqlrank/random.hpp"

namespace sqlrank {

namespace {

// The streams of one user.
enum Part : std::uint32_t { kExposure = 0, kRace = 1, kTime = 2, kExposureRace = 3 };
constexpr std::int64_t kUsersPerTask = 64;

struct Runner {
  double utility;
  std::int32_t item;
};

bool ahead(const Runner& a, const Runner& b) {
  return a.utility != b.utility ? a.utility > b.utility : a.item < b.item;
}

// -log of an exponential: log(rate) + gumbel() is -log T for T ~ Exp(rate), so the first to arrive has the largest.
double gumbel(Stream& stream) { return -std::log(-std::log(stream.uniform())); }

// Items seen by one user: open addressing, so that its size follows the user and not the catalogue.
class ItemSet {
 public:
  void reset(std::int64_t expected) {
    std::size_t size = 16;
    while (size < 2 * static_cast<std::size_t>(expected)) size *= 2;
    slots_.assign(size, -1);
    mask_ = static_cast<std::uint32_t>(size - 1);
  }
  bool contains(std::int32_t item) const { return slots_[find(item)] == item; }
  bool insert(std::int32_t item) {
    const std::uint32_t slot = find(item);
    if (slots_[slot] == item) return false;
    slots_[slot] = item;
    return true;
  }

 private:
  std::uint32_t find(std::int32_t item) const {
    std::uint32_t slot = (static_cast<std::uint32_t>(item) * 0x9E3779B9u >> 7) & mask_;
    while (slots_[slot] != -1 && slots_[slot] != item) slot = (slot + 1) & mask_;
    return slot;
  }
  std::vector<std::int32_t> slots_;
  std::uint32_t mask_ = 0;
};

struct Scratch {
  ItemSet seen;
  std::vector<Runner> pool, rest;
};

// Distinct items by popularity until there are `wanted`, in at most `tries` draws.
void draw(Stream& stream, const RaceModel& model, std::int64_t wanted, std::int64_t tries, Scratch& scratch) {
  constexpr int kAhead = 16;  // the table is read here and there: ask for some entries before the first is needed
  const AliasTable& table = model.popularity;
  std::uint32_t slot[kAhead], coin[kAhead];
  while (static_cast<std::int64_t>(scratch.pool.size()) < wanted && tries > 0) {
    const int batch = static_cast<int>(std::min<std::int64_t>(kAhead, tries));
    for (int i = 0; i < batch; ++i) {
      slot[i] = stream.bounded(static_cast<std::uint32_t>(model.items));
      coin[i] = stream.next();
      __builtin_prefetch(table.keep + slot[i]);
      __builtin_prefetch(table.other + slot[i]);
    }
    for (int i = 0; i < batch && static_cast<std::int64_t>(scratch.pool.size()) < wanted; ++i) {
      const std::int32_t item =
          coin[i] < table.keep[slot[i]] ? static_cast<std::int32_t>(slot[i]) : table.other[slot[i]];
      if (scratch.seen.insert(item)) scratch.pool.push_back({0.0, item});
    }
    tries -= batch;
  }
}

// `wanted` distinct items by popularity. Drawing and throwing duplicates away is sampling without replacement, and so
// is a race with the popularities as rates; the race takes over where most draws would be duplicates. Which of the
// two found an item does not change the distribution: the race runs among the items that are left.
void expose(std::uint64_t seed, std::uint32_t user, const RaceModel& model, std::int64_t wanted, Scratch& scratch) {
  auto& pool = scratch.pool;
  pool.clear();
  if (wanted == model.items) {
    for (std::int32_t item = 0; item < model.items; ++item) pool.push_back({0.0, item});
    return;
  }
  Stream stream(seed, Purpose::generate, kExposure, user);
  scratch.seen.reset(wanted);
  draw(stream, model, wanted, 2 * wanted > model.items ? 0 : 8 * wanted, scratch);
  const auto missing = static_cast<std::ptrdiff_t>(wanted) - static_cast<std::ptrdiff_t>(pool.size());
  if (missing == 0) return;
  auto& rest = scratch.rest;
  rest.clear();
  Stream noises(seed, Purpose::generate, kExposureRace, user);
  for (std::int32_t item = 0; item < model.items; ++item) {
    const double noise = gumbel(noises);
    if (!scratch.seen.contains(item)) rest.push_back({model.log_popularity[item] + noise, item});
  }
  std::nth_element(rest.begin(), rest.begin() + missing - 1, rest.end(), ahead);
  pool.insert(pool.end(), rest.begin(), rest.begin() + missing);
  // nth_element leaves no particular order; the race below must not depend on it.
  std::sort(pool.end() - missing, pool.end(), [](const Runner& a, const Runner& b) { return a.item < b.item; });
}

float dot(const float* a, const float* b, std::int64_t n) {
  float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void race_user(std::uint64_t seed, std::int64_t user, const RaceModel& model, const RaceResult& result,
               Scratch& scratch) {
  const std::int64_t begin = model.indptr[user], n = model.indptr[user + 1] - begin;
  if (n == 0) return;
  const auto stream_id = static_cast<std::uint32_t>(user);
  expose(seed, stream_id, model, model.exposure[user], scratch);
  auto& pool = scratch.pool;
  Stream stream(seed, Purpose::generate, kRace, stream_id);
  const float* taste = model.user_factors + user * model.rank;
  const double scale = 1.0 / model.noise;
  const std::size_t shown = pool.size();
  for (std::size_t k = 0; k < shown; ++k) {
    // The rows lie scattered over the catalogue: ask for one well before it is needed.
    if (k + 8 < shown) __builtin_prefetch(model.item_factors + pool[k + 8].item * model.rank);
    const float score = dot(taste, model.item_factors + pool[k].item * model.rank, model.rank);
    pool[k].utility = scale * static_cast<double>(score) + gumbel(stream);
  }
  if (n < static_cast<std::int64_t>(pool.size())) std::nth_element(pool.begin(), pool.begin() + n, pool.end(), ahead);
  std::sort(pool.begin(), pool.begin() + n, [](const Runner& a, const Runner& b) { return a.item < b.item; });
  for (std::int64_t k = 0; k < n; ++k) result.indices[begin + k] = pool[k].item;
  if (result.utilities != nullptr)
    for (std::int64_t k = 0; k < n; ++k) result.utilities[begin + k] = static_cast<float>(pool[k].utility);
  if (result.seconds != nullptr) {
    Stream times(seed, Purpose::generate, kTime, stream_id);
    for (std::int64_t k = 0; k < n; ++k) result.seconds[begin + k] = times.bounded(result.span);
  }
}

void race(Executor& executor, std::uint64_t seed, const RaceModel& model, const RaceResult& result) {
  std::vector<Scratch> scratch(static_cast<std::size_t>(executor.threads()));
  parallel_for(executor, ceil_div(model.users, kUsersPerTask), [&](std::int64_t task, int worker) {
    const std::int64_t end = std::min(model.users, (task + 1) * kUsersPerTask);
    for (std::int64_t user = task * kUsersPerTask; user < end; ++user)
      race_user(seed, user, model, result, scratch[static_cast<std::size_t>(worker)]);
  });
}

// Vose's construction: every slot holds at most two items, and all slots weigh the same.
void alias_table(const double* log_weights, std::int64_t n, std::uint32_t* keep, std::int32_t* other) {
  const double top = *std::max_element(log_weights, log_weights + n);
  std::vector<double> share(static_cast<std::size_t>(n));
  double total = 0.0;
  for (std::int64_t i = 0; i < n; ++i) total += share[i] = std::exp(log_weights[i] - top);
  std::vector<std::int32_t> small, large;
  for (std::int64_t i = 0; i < n; ++i) {
    share[i] *= static_cast<double>(n) / total;
    (share[i] < 1.0 ? small : large).push_back(static_cast<std::int32_t>(i));
  }
  for (std::int64_t i = 0; i < n; ++i) {  // what rounding leaves over keeps its own slot
    keep[i] = 0xFFFFFFFFu;
    other[i] = static_cast<std::int32_t>(i);
  }
  while (!small.empty() && !large.empty()) {
    const std::int32_t low = small.back(), high = large.back();
    small.pop_back();
    keep[low] = static_cast<std::uint32_t>(std::min(share[low] * 0x1p32, 4294967295.0));
    other[low] = high;
    share[high] -= 1.0 - share[low];
    if (share[high] < 1.0) {
      large.pop_back();
      small.push_back(high);
    }
  }
}

}  // namespace

extern const GenerateKernels generate_kernels;
const GenerateKernels generate_kernels{alias_table, race};

}  // namespace sqlrank
