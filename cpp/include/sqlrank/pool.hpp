// The thread pool: lazy, grows to the largest number of threads asked for, survives fork, can be interrupted.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "sqlrank/parallel.hpp"

namespace sqlrank {

// Calls a check every few tens of milliseconds, however short the jobs are that the time is spent in. The check throws
// to cancel. Looked at by one thread only: the one that asked for the work.
class InterruptClock {
 public:
  using Check = void (*)();
  static constexpr auto kEvery = std::chrono::milliseconds(25);

  explicit InterruptClock(Check check) : check_(check), last_(Clock::now()) {}
  void look() {
    if (check_ == nullptr || Clock::now() - last_ <= kEvery) return;
    check_();
    last_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Check check_;
  Clock::time_point last_;
};

class Pool {
 public:
  Pool() = default;
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // `clock` may be null: nothing can interrupt the job.
  void run(int threads, InterruptClock* clock, std::int64_t tasks, Executor::Task task, void* context);
  int workers() const { return static_cast<int>(workers_.size()); }

 private:
  struct Job {
    std::int64_t tasks = 0;
    Executor::Task task = nullptr;
    void* context = nullptr;
    int helpers = 0;
  };

  void grow(int workers);
  void worker_loop(int worker, std::uint64_t seen);
  void work(const Job& job, int worker, InterruptClock* clock);
  void fail(std::exception_ptr error);
  void wait_for_helpers(InterruptClock* clock);

  std::vector<std::thread> workers_;
  std::mutex run_mutex_;  // one job at a time
  std::mutex mutex_;
  std::condition_variable start_, finished_;
  Job job_;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<std::int64_t> next_{0};
  std::atomic<int> running_{0};
  std::atomic<bool> cancelled_{false};
  bool open_ = false;  // helpers may still join the job
  bool stop_ = false;
  std::exception_ptr error_;
};

// An Executor of a given width on a pool.
class PoolExecutor final : public Executor {
 public:
  PoolExecutor(Pool& pool, int threads, InterruptClock::Check check)
      : pool_(pool), threads_(threads < 1 ? 1 : threads), clock_(check) {}
  void run(std::int64_t tasks, Task task, void* context) override {
    pool_.run(threads_, &clock_, tasks, task, context);
  }
  int threads() const override { return threads_; }

 private:
  Pool& pool_;
  int threads_;
  InterruptClock clock_;
};

// The process-wide pool. A child of fork gets a new one: the parent's threads do not exist there.
Pool& global_pool();

}  // namespace sqlrank
