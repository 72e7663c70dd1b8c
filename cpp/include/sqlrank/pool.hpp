// The thread pool: lazy, grows to the largest number of threads asked for, survives fork, can be interrupted.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "sqlrank/parallel.hpp"

namespace sqlrank {

class Pool {
 public:
  // Called by the thread that runs a job, every few tens of milliseconds; throws to cancel the job.
  using InterruptCheck = void (*)();

  Pool() = default;
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void run(int threads, InterruptCheck check, std::int64_t tasks, Executor::Task task, void* context);
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
  void work(const Job& job, int worker, InterruptCheck check);
  void fail(std::exception_ptr error);
  void wait_for_helpers(InterruptCheck check);

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
  PoolExecutor(Pool& pool, int threads, Pool::InterruptCheck check)
      : pool_(pool), threads_(threads < 1 ? 1 : threads), check_(check) {}
  void run(std::int64_t tasks, Task task, void* context) override { pool_.run(threads_, check_, tasks, task, context); }
  int threads() const override { return threads_; }

 private:
  Pool& pool_;
  int threads_;
  Pool::InterruptCheck check_;
};

// The process-wide pool. A child of fork gets a new one: the parent's threads do not exist there.
Pool& global_pool();

}  // namespace sqlrank
