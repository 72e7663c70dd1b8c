// Epochs, fold-in and gradients of every loss under the sanitizers: odd lists, several blocks, any number of threads.
#include <cmath>
#include <cstring>
#include <vector>

#include "check.hpp"
#include "sqlrank/kernels.hpp"
#include "sqlrank/pool.hpp"

using namespace sqlrank;

namespace {

constexpr std::int64_t kUsers = 700, kStride = 32;
constexpr std::int32_t kItems = 90;
constexpr LossKind kLosses[] = {LossKind::plackett_luce_sigmoid,
                                LossKind::plackett_luce_identity,
                                LossKind::listrank,
                                LossKind::primal_cr,
                                LossKind::bpr,
                                LossKind::squared};

struct Data {
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> items;
  std::vector<float> levels;  // falling within each user

  explicit Data(bool with_levels) {
    for (std::int64_t u = 0; u < kUsers; ++u) {
      const std::int64_t length = u == 5 ? kItems : u % 40;  // one has seen everything, some nothing
      for (std::int64_t i = 0; i < length; ++i) {
        items.push_back(static_cast<std::int32_t>((i * (length == kItems ? 1 : 2) + u) % kItems));
        if (with_levels) levels.push_back(static_cast<float>(u % 7 == 0 ? 3 : 5 - 5 * i / length));
      }
      starts.push_back(static_cast<std::int64_t>(items.size()));
    }
  }

  ListSource source() const {
    ListSource source;
    source.users = kUsers;
    source.catalogue = kItems;
    source.starts = starts.data();
    source.items = items.data();
    source.levels = levels.empty() ? nullptr : levels.data();
    source.negatives = 2;
    source.seed = 11;
    return source;
  }
};

struct Rows {
  std::vector<float> buffer;
  float* first;

  Rows(std::uint32_t side, std::int64_t rows) : buffer(static_cast<std::size_t>(rows * kStride + 16)) {
    first = buffer.data() + (-reinterpret_cast<std::uintptr_t>(buffer.data()) / 4) % 16;
    sqlrank_kernels()->random->normal_rows(7, side, 0, rows, 20, kStride, 0.3f, first);
  }
};

struct Outcome {
  Rows users{0, kUsers}, items{1, kItems}, gradients{0, kUsers};
  std::vector<double> losses = std::vector<double>(kUsers);
  EpochResult first, last;
};

// Some epochs; then everybody folded in, and everybody's gradient at the end.
void run(Outcome& out, const Data& data, const LossSettings& loss, const StepSettings& step, int threads) {
  const EngineKernels& kernels = *sqlrank_kernels()->engine;
  PoolExecutor executor(global_pool(), threads, nullptr);
  Engine* engine = kernels.create(data.source(), loss, kStride, {20, 22}, {21, 23});
  Rows next_users(0, kUsers), next_items(1, kItems);
  for (std::uint32_t epoch = 0; epoch < 6; ++epoch) {
    const Factors factors{out.users.first, out.items.first, next_users.first, next_items.first, kStride};
    out.last = kernels.epoch(engine, executor, factors, step, epoch);
    if (epoch == 0) out.first = out.last;
    std::memcpy(out.users.first, next_users.first, sizeof(float) * kUsers * kStride);
    std::memcpy(out.items.first, next_items.first, sizeof(float) * kItems * kStride);
  }
  const Factors folded{nullptr, out.items.first, out.users.first, nullptr, kStride};
  kernels.solve_users(engine, executor, folded, step, 3);
  kernels.user_gradients(engine, executor, out.users.first, out.items.first, 1, out.gradients.first, out.losses.data());
  kernels.destroy(engine);
}

bool same_bits(const Outcome& a, const Outcome& b) {
  return std::memcmp(a.users.first, b.users.first, sizeof(float) * kUsers * kStride) == 0 &&
         std::memcmp(a.items.first, b.items.first, sizeof(float) * kItems * kStride) == 0 &&
         std::memcmp(a.gradients.first, b.gradients.first, sizeof(float) * kUsers * kStride) == 0 &&
         std::memcmp(a.losses.data(), b.losses.data(), sizeof(double) * kUsers) == 0 && a.last.loss == b.last.loss;
}

void test_losses() {
  for (const bool with_levels : {false, true}) {
    const Data data(with_levels);
    for (const LossKind kind : kLosses) {
      for (const bool automatic : {false, true}) {
        StepSettings step;
        step.regularization = 0.5;
        step.rate = automatic ? 1.0 : 2e-4;  // short enough for the pairs of long lists
        step.automatic = automatic;
        Outcome serial, threaded;
        run(serial, data, {kind, -1}, step, 1);
        run(threaded, data, {kind, -1}, step, 3);
        CHECK(std::isfinite(serial.last.loss) && std::isfinite(serial.last.squared_norm));
        CHECK(serial.last.loss + 0.25 * serial.last.squared_norm <
              serial.first.loss + 0.25 * serial.first.squared_norm);
        CHECK(same_bits(serial, threaded));
      }
    }
  }
}

}  // namespace

int main() {
  test_losses();
  return report("engine");
}
