// From loose (user, item, value, time) events to compressed rows: by user code, then item code, duplicates merged.
#pragma once

#include <cstdint>

#include "sqlrank/parallel.hpp"

namespace sqlrank {

// What becomes of several events of one (user, item) pair. "First" and "last" go by time where there is one and by
// row order otherwise; max, sum and mean take the time of the last one.
enum class Duplicates : std::int32_t { keep = 0, first = 1, last = 2, max = 3, sum = 4, mean = 5 };

// Events sorted by user; values and times may be null.
struct EventRows {
  std::int64_t users;
  const std::int64_t* offsets;  // users + 1
  std::int32_t* items;
  float* values;
  std::int64_t* times;
};

struct InteractionsKernels {
  // counts[rank[codes[i]]] += 1
  void (*count_codes)(const std::int32_t* codes, std::int64_t n, const std::int32_t* rank, std::int64_t* counts);
  // positions[i] = next[rank[codes[i]]]++ : where event i goes in the user-major order. May overwrite codes in place.
  void (*positions)(const std::int32_t* codes, std::int64_t n, const std::int32_t* rank, std::int64_t* next,
                    std::uint32_t* positions);
  // out[positions[i]] = rank[codes[i]]
  void (*scatter_codes)(Executor& executor, const std::int32_t* codes, const std::uint32_t* positions, std::int64_t n,
                        const std::int32_t* rank, std::int32_t* out);
  // out[positions[i]] = values[i]
  void (*scatter_values)(Executor& executor, const float* values, const std::uint32_t* positions, std::int64_t n,
                         float* out);
  void (*scatter_times)(Executor& executor, const std::int64_t* values, const std::uint32_t* positions, std::int64_t n,
                        std::int64_t* out);
  // Sorts every row by item (stable) and merges equal items into the front of the row; kept[u] is what remains of
  // row u. Returns the number of events beyond the first of their pair.
  std::int64_t (*sort_rows)(Executor& executor, const EventRows& rows, Duplicates policy, std::int64_t* kept);
  // Closes the gaps that merging left: shifts rows together in place and writes the new offsets.
  void (*compact_rows)(const EventRows& rows, const std::int64_t* kept, std::int64_t* new_offsets);
  // Events without value and time, each packed as user code << 32 | item code: applies the ranks and sorts in place.
  void (*sort_pairs)(Executor& executor, std::uint64_t* pairs, std::int64_t n, const std::int32_t* user_rank,
                     const std::int32_t* item_rank, std::int64_t users);
  // Sorted pairs to compressed rows; the item codes go to the front of the pairs' own memory. Returns the number of
  // distinct pairs, which is also the number of item codes unless equal pairs are all kept.
  std::int64_t (*unpack_pairs)(std::uint64_t* pairs, std::int64_t n, std::int64_t users, bool keep_equal,
                               std::int64_t* offsets);
  // The same events by item: users ascending within an item; order[k] is the position in the user-major arrays.
  void (*transpose)(Executor& executor, std::int64_t users, const std::int64_t* offsets, const std::int32_t* items,
                    std::int64_t n_items, std::int64_t* item_offsets, std::int32_t* item_users, std::int64_t* order);
};

}  // namespace sqlrank
