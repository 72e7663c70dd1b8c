#include "sqlrank/pool.hpp"

#include <pthread.h>

#include <utility>

namespace sqlrank {

namespace {

// The phases of an epoch follow each other within microseconds: a worker that looks a little longer before it sleeps
// saves the wake-up.
constexpr int kSpins = 4000;

thread_local bool inside_job = false;

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

void run_inline(InterruptClock* clock, std::int64_t tasks, Executor::Task task, void* context) {
  for (std::int64_t i = 0; i < tasks; ++i) {
    task(context, i, 0);
    if (clock != nullptr) clock->look();
  }
}

}  // namespace

Pool::~Pool() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    generation_.fetch_add(1, std::memory_order_release);
  }
  start_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void Pool::grow(int workers) {
  while (static_cast<int>(workers_.size()) < workers) {
    const int id = static_cast<int>(workers_.size()) + 1;  // 0 is the caller
    const std::uint64_t seen = generation_.load(std::memory_order_acquire);
    workers_.emplace_back([this, id, seen] { worker_loop(id, seen); });
  }
}

void Pool::fail(std::exception_ptr error) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!error_) error_ = error;
  cancelled_.store(true, std::memory_order_relaxed);
}

void Pool::work(const Job& job, int worker, InterruptClock* clock) {
  inside_job = true;
  try {
    while (!cancelled_.load(std::memory_order_relaxed)) {
      const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= job.tasks) break;
      job.task(job.context, i, worker);
      if (clock != nullptr) clock->look();
    }
  } catch (...) {
    fail(std::current_exception());
  }
  inside_job = false;
}

void Pool::worker_loop(int worker, std::uint64_t seen) {
  for (;;) {
    for (int spin = 0; spin < kSpins && generation_.load(std::memory_order_acquire) == seen; ++spin) {
      pause_briefly();
    }
    Job job;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      start_.wait(lock, [&] { return generation_.load(std::memory_order_acquire) != seen; });
      if (stop_) return;
      seen = generation_.load(std::memory_order_acquire);
      if (!open_ || worker > job_.helpers) continue;
      job = job_;
      running_.fetch_add(1, std::memory_order_relaxed);
    }
    work(job, worker, nullptr);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      std::lock_guard<std::mutex> lock(mutex_);
      finished_.notify_one();
    }
  }
}

void Pool::wait_for_helpers(InterruptClock* clock) {
  {
    // Who has not woken up by now has nothing left to do: nobody waits for a thread that never started.
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = false;
  }
  const auto done = [&] { return running_.load(std::memory_order_acquire) == 0; };
  for (int spin = 0; spin < kSpins && !done(); ++spin) pause_briefly();
  while (!done()) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (finished_.wait_for(lock, InterruptClock::kEvery, done)) break;
    }
    if (clock == nullptr || cancelled_.load(std::memory_order_relaxed)) continue;
    try {
      clock->look();
    } catch (...) {
      fail(std::current_exception());
    }
  }
}

void Pool::run(int threads, InterruptClock* clock, std::int64_t tasks, Executor::Task task, void* context) {
  if (tasks <= 0) return;
  // A job inside a job, or a second thread while the pool is busy, runs on its own thread: same bits, no deadlock.
  std::unique_lock<std::mutex> exclusive(run_mutex_, std::defer_lock);
  if (threads <= 1 || tasks == 1 || inside_job || !exclusive.try_lock()) {
    run_inline(inside_job ? nullptr : clock, tasks, task, context);  // the job around it looks at the clock
    return;
  }
  Job job{tasks, task, context, threads - 1};
  grow(job.helpers);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    job_ = job;
    error_ = nullptr;
    cancelled_.store(false, std::memory_order_relaxed);
    next_.store(0, std::memory_order_relaxed);
    open_ = true;
    generation_.fetch_add(1, std::memory_order_release);
  }
  start_.notify_all();
  work(job, 0, clock);
  wait_for_helpers(clock);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

namespace {

Pool* shared_pool = nullptr;
std::mutex* shared_mutex = new std::mutex;

// Leaked on purpose: the parent's threads are not there to be joined.
void forget_pool_after_fork() {
  shared_pool = nullptr;
  shared_mutex = new std::mutex;
  inside_job = false;
}

}  // namespace

Pool& global_pool() {
  static const int registered = pthread_atfork(nullptr, nullptr, forget_pool_after_fork);
  (void)registered;
  std::lock_guard<std::mutex> lock(*shared_mutex);
  if (shared_pool == nullptr) shared_pool = new Pool;
  return *shared_pool;
}

}  // namespace sqlrank
