// The one way kernels run in parallel: a fixed number of tasks, cut by the data and never by the number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace sqlrank {

// What a kernel sees of the pool. Virtual, because kernels live in objects of their own (one per instruction set)
// and the pool in the module that opens them.
class Executor {
 public:
  using Task = void (*)(void* context, std::int64_t index, int worker);

  virtual ~Executor() = default;
  // Calls task(context, i, worker) once for every i in [0, tasks); worker < threads() names the calling thread's
  // scratch slot. Returns when all are done; rethrows the first exception, or what the interrupt check threw.
  virtual void run(std::int64_t tasks, Task task, void* context) = 0;
  virtual int threads() const = 0;
};

template <class Function>
void parallel_for(Executor& executor, std::int64_t tasks, Function&& function) {
  using Plain = std::remove_reference_t<Function>;
  executor.run(
      tasks, [](void* context, std::int64_t index, int worker) { (*static_cast<Plain*>(context))(index, worker); },
      const_cast<void*>(static_cast<const void*>(std::addressof(function))));
}

inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace sqlrank
