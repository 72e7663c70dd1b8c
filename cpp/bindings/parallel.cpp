#include <atomic>
#include <chrono>
#include <set>
#include <stdexcept>
#include <thread>

#include "common.hpp"

namespace sqlrank::bindings {

// For tests of the pool through Python: how many tasks ran, and the sum of their numbers.
static std::tuple<std::int64_t, std::int64_t> pool_probe(std::int64_t tasks, int threads, double seconds_per_task,
                                                         std::int64_t fail_at) {
  std::atomic<std::int64_t> count{0}, sum{0};
  run_parallel(threads, [&](Executor& executor) {
    parallel_for(executor, tasks, [&](std::int64_t index, int) {
      if (index == fail_at) throw std::runtime_error("task " + std::to_string(index) + " failed");
      if (seconds_per_task > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds_per_task));
      count.fetch_add(1);
      sum.fetch_add(index);
    });
  });
  return std::make_tuple(count.load(), sum.load());
}

void bind_parallel(nb::module_& m) {
  m.def("pool_workers", [] { return global_pool().workers(); }, "Threads the pool has started so far.");
  m.def("pool_probe", &pool_probe, nb::arg("tasks"), nb::arg("threads"), nb::arg("seconds_per_task") = 0.0,
        nb::arg("fail_at") = -1, "Run empty tasks on the pool; returns how many ran and the sum of their numbers.");
}

}  // namespace sqlrank::bindings
