// Run under ThreadSanitizer: many short jobs, more threads than cores, exceptions, interrupts, nesting, fork.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"
#include "sqlrank/pool.hpp"

using namespace sqlrank;

static std::int64_t sum_of(Executor& executor, std::int64_t tasks) {
  std::atomic<std::int64_t> sum{0};
  parallel_for(executor, tasks, [&](std::int64_t i, int worker) {
    const bool known_worker = worker >= 0 && worker < executor.threads();
    sum.fetch_add(known_worker ? i : tasks * tasks);
  });
  return sum.load();
}

static std::atomic<int> polls{0};
static void counting_check() { polls.fetch_add(1); }
static void interrupting_check() { throw std::runtime_error("interrupted"); }

static void test_jobs(Pool& pool) {
  for (const int threads : {1, 2, 3, 8}) {
    PoolExecutor executor(pool, threads, nullptr);
    bool right = true;
    for (int repeat = 0; repeat < 300; ++repeat) {
      const std::int64_t tasks = repeat % 17;
      std::vector<int> slots(static_cast<std::size_t>(tasks), 0);
      parallel_for(executor, tasks, [&](std::int64_t i, int) { slots[static_cast<std::size_t>(i)] = 1; });
      for (const int slot : slots) right = right && slot == 1;
    }
    CHECK(right);
  }
  CHECK(pool.workers() == 7);
}

static void test_exceptions(Pool& pool) {
  for (const int threads : {1, 4}) {
    PoolExecutor executor(pool, threads, nullptr);
    bool caught = false;
    try {
      parallel_for(executor, 100, [](std::int64_t i, int) {
        if (i == 40) throw std::runtime_error("forty");
      });
    } catch (const std::runtime_error&) {
      caught = true;
    }
    CHECK(caught);
    std::atomic<int> after{0};
    parallel_for(executor, 10, [&](std::int64_t, int) { after.fetch_add(1); });
    CHECK(after.load() == 10);
  }
}

static void test_interrupt(Pool& pool) {
  const auto nap = [](std::int64_t, int) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  for (const int threads : {1, 2}) {
    PoolExecutor executor(pool, threads, interrupting_check);
    const auto begin = std::chrono::steady_clock::now();
    bool caught = false;
    try {
      parallel_for(executor, 2000, nap);
    } catch (const std::runtime_error&) {
      caught = true;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    CHECK(caught);
    CHECK(took.count() < 2.0);
  }
  PoolExecutor executor(pool, 2, counting_check);
  parallel_for(executor, 40, nap);
  CHECK(polls.load() >= 1);
}

// What matters is the time since the last look, not the length of a job.
static void test_interrupt_between_short_jobs(Pool& pool) {
  for (const int threads : {1, 2}) {
    PoolExecutor executor(pool, threads, interrupting_check);
    int jobs = 0;
    bool caught = false;
    try {
      for (; jobs < 500; ++jobs) {
        parallel_for(executor, 2, [](std::int64_t, int) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
      }
    } catch (const std::runtime_error&) {
      caught = true;
    }
    CHECK(caught);
    CHECK(jobs < 100);
  }
}

static void test_nesting_and_two_callers(Pool& pool) {
  PoolExecutor executor(pool, 3, nullptr);
  std::atomic<std::int64_t> total{0};
  parallel_for(executor, 8,
               [&](std::int64_t, int) { parallel_for(executor, 5, [&](std::int64_t i, int) { total.fetch_add(i); }); });
  CHECK(total.load() == 80);
  std::int64_t sums[2] = {0, 0};
  std::thread other([&] { sums[1] = sum_of(executor, 1000); });
  sums[0] = sum_of(executor, 1000);
  other.join();
  CHECK(sums[0] == 499500 && sums[1] == 499500);
}

#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer does not support threads started in the child of a fork
static void test_fork() {
  PoolExecutor before(global_pool(), 2, nullptr);
  CHECK(sum_of(before, 100) == 4950);
  const pid_t child = fork();
  if (child == 0) {
    PoolExecutor after(global_pool(), 2, nullptr);
    _exit(sum_of(after, 100) == 4950 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

int main() {
  Pool pool;
  test_jobs(pool);
  test_exceptions(pool);
  test_interrupt(pool);
  test_interrupt_between_short_jobs(pool);
  test_nesting_and_two_callers(pool);
#if !defined(__SANITIZE_THREAD__)
  test_fork();
#endif
  return report("pool");
}
