#include "sqlrank/interactions.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace sqlrank {

namespace {

constexpr std::int64_t kBlock = 1 << 16;

inline std::int32_t ranked(const std::int32_t* rank, std::int32_t code) { return rank == nullptr ? code : rank[code]; }

void count_codes(const std::int32_t* codes, std::int64_t n, const std::int32_t* rank, std::int64_t* counts) {
  for (std::int64_t i = 0; i < n; ++i) ++counts[ranked(rank, codes[i])];
}

// Serial, because the order of equal codes is the order of the rows; the table of counters stays in the cache.
void positions_of(const std::int32_t* codes, std::int64_t n, const std::int32_t* rank, std::int64_t* next,
                  std::uint32_t* positions) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int32_t code = codes[i];
    positions[i] = static_cast<std::uint32_t>(next[ranked(rank, code)]++);
  }
}

template <class Value, class Transform>
void scatter(Executor& executor, const Value* values, const std::uint32_t* positions, std::int64_t n, Value* out,
             Transform transform) {
  parallel_for(executor, ceil_div(n, kBlock), [&](std::int64_t block, int) {
    const std::int64_t end = std::min(n, (block + 1) * kBlock);
    for (std::int64_t i = block * kBlock; i < end; ++i) out[positions[i]] = transform(values[i]);
  });
}

void scatter_codes(Executor& executor, const std::int32_t* codes, const std::uint32_t* positions, std::int64_t n,
                   const std::int32_t* rank, std::int32_t* out) {
  scatter(executor, codes, positions, n, out, [rank](std::int32_t code) { return ranked(rank, code); });
}

void scatter_values(Executor& executor, const float* values, const std::uint32_t* positions, std::int64_t n,
                    float* out) {
  scatter(executor, values, positions, n, out, [](float value) { return value; });
}

void scatter_times(Executor& executor, const std::int64_t* values, const std::uint32_t* positions, std::int64_t n,
                   std::int64_t* out) {
  scatter(executor, values, positions, n, out, [](std::int64_t value) { return value; });
}

// Rows [first, last) whose start lies in block `block` of the events: cut by the data, never by the threads.
struct RowRange {
  std::int64_t first, last;
};

RowRange rows_of_block(const std::int64_t* offsets, std::int64_t rows, std::int64_t block, std::int64_t size) {
  const auto row_at = [&](std::int64_t event) {
    return static_cast<std::int64_t>(std::lower_bound(offsets, offsets + rows, event) - offsets);
  };
  return {row_at(block * size), row_at((block + 1) * size)};
}

// Scratch for one row; grows to the longest row of its block.
struct Scratch {
  std::vector<std::uint64_t> keys;
  std::vector<float> values;
  std::vector<std::int64_t> times;
};

bool strictly_ascending(const std::int32_t* items, std::int64_t n) {
  for (std::int64_t i = 1; i < n; ++i) {
    if (items[i - 1] >= items[i]) return false;
  }
  return true;
}

void sort_one_row(const EventRows& rows, std::int64_t begin, std::int64_t n, Scratch& scratch) {
  auto& keys = scratch.keys;
  keys.resize(static_cast<std::size_t>(n));
  std::int32_t* items = rows.items + begin;
  for (std::int64_t i = 0; i < n; ++i) {
    keys[static_cast<std::size_t>(i)] =
        (static_cast<std::uint64_t>(items[i]) << 32) | static_cast<std::uint64_t>(static_cast<std::uint32_t>(i));
  }
  std::sort(keys.begin(), keys.end());  // keys are distinct: ties of an item stay in row order
  const auto source = [&](std::int64_t i) { return keys[static_cast<std::size_t>(i)] & 0xffffffffu; };
  for (std::int64_t i = 0; i < n; ++i) items[i] = static_cast<std::int32_t>(keys[static_cast<std::size_t>(i)] >> 32);
  if (rows.values != nullptr) {
    scratch.values.assign(rows.values + begin, rows.values + begin + n);
    for (std::int64_t i = 0; i < n; ++i) rows.values[begin + i] = scratch.values[source(i)];
  }
  if (rows.times != nullptr) {
    scratch.times.assign(rows.times + begin, rows.times + begin + n);
    for (std::int64_t i = 0; i < n; ++i) rows.times[begin + i] = scratch.times[source(i)];
  }
}

std::int64_t first_event(const std::int64_t* times, std::int64_t begin, std::int64_t end) {
  return times == nullptr ? begin : std::min_element(times + begin, times + end) - times;
}

std::int64_t last_event(const std::int64_t* times, std::int64_t begin, std::int64_t end) {
  std::int64_t last = end - 1;
  for (std::int64_t i = end - 2; times != nullptr && i >= begin; --i) {
    if (times[i] > times[last]) last = i;
  }
  return last;
}

float merged_value(const float* values, std::int64_t begin, std::int64_t end, std::int64_t chosen, Duplicates policy) {
  if (policy == Duplicates::max) return *std::max_element(values + begin, values + end);
  if (policy == Duplicates::first || policy == Duplicates::last) return values[chosen];
  double sum = 0;
  for (std::int64_t i = begin; i < end; ++i) sum += values[i];
  return static_cast<float>(policy == Duplicates::mean ? sum / static_cast<double>(end - begin) : sum);
}

// Events [begin, end) of a sorted row; returns how many remain at its front.
std::int64_t merge_one_row(const EventRows& rows, std::int64_t begin, std::int64_t end, Duplicates policy) {
  std::int64_t write = begin;
  for (std::int64_t group = begin; group < end;) {
    std::int64_t next = group + 1;
    while (next < end && rows.items[next] == rows.items[group]) ++next;
    const std::int64_t chosen =
        policy == Duplicates::first ? first_event(rows.times, group, next) : last_event(rows.times, group, next);
    const float value = rows.values == nullptr ? 0.0f : merged_value(rows.values, group, next, chosen, policy);
    rows.items[write] = rows.items[group];
    if (rows.values != nullptr) rows.values[write] = value;
    if (rows.times != nullptr) rows.times[write] = rows.times[chosen];
    ++write;
    group = next;
  }
  return write - begin;
}

std::int64_t distinct_items(const std::int32_t* items, std::int64_t n) {
  std::int64_t distinct = n > 0 ? 1 : 0;
  for (std::int64_t i = 1; i < n; ++i) distinct += items[i] != items[i - 1];
  return distinct;
}

std::int64_t sort_rows(Executor& executor, const EventRows& rows, Duplicates policy, std::int64_t* kept) {
  const std::int64_t blocks = ceil_div(rows.offsets[rows.users], kBlock) + 1;
  std::vector<std::int64_t> duplicates(static_cast<std::size_t>(blocks), 0);
  parallel_for(executor, blocks, [&](std::int64_t block, int) {
    Scratch scratch;
    const RowRange range = rows_of_block(rows.offsets, rows.users, block, kBlock);
    for (std::int64_t user = range.first; user < range.last; ++user) {
      const std::int64_t begin = rows.offsets[user], n = rows.offsets[user + 1] - begin;
      kept[user] = n;
      if (strictly_ascending(rows.items + begin, n)) continue;
      sort_one_row(rows, begin, n, scratch);
      const std::int64_t distinct = distinct_items(rows.items + begin, n);
      duplicates[static_cast<std::size_t>(block)] += n - distinct;
      if (distinct < n && policy != Duplicates::keep) kept[user] = merge_one_row(rows, begin, begin + n, policy);
    }
  });
  std::int64_t total = 0;
  for (const std::int64_t count : duplicates) total += count;
  return total;
}

template <class Value>
void shift(Value* values, std::int64_t to, std::int64_t from, std::int64_t n) {
  if (values != nullptr) std::memmove(values + to, values + from, static_cast<std::size_t>(n) * sizeof(Value));
}

void compact_rows(const EventRows& rows, const std::int64_t* kept, std::int64_t* new_offsets) {
  std::int64_t write = 0;
  new_offsets[0] = 0;
  for (std::int64_t user = 0; user < rows.users; ++user) {
    const std::int64_t begin = rows.offsets[user];
    if (write != begin) {
      shift(rows.items, write, begin, kept[user]);
      shift(rows.values, write, begin, kept[user]);
      shift(rows.times, write, begin, kept[user]);
    }
    write += kept[user];
    new_offsets[user + 1] = write;
  }
}

constexpr int kPairBuckets = 1024;

int bucket_shift(std::int64_t users) {
  int shift = 32;
  while (users > std::int64_t{kPairBuckets} << (shift - 32)) ++shift;
  return shift;
}

// In-place distribution ("American flag sort"): every swap brings one pair home to its bucket.
std::vector<std::int64_t> distribute(std::uint64_t* pairs, std::int64_t n, int shift) {
  std::vector<std::int64_t> ends(kPairBuckets + 1, 0);
  for (std::int64_t i = 0; i < n; ++i) ++ends[(pairs[i] >> shift) + 1];
  for (int b = 0; b < kPairBuckets; ++b) ends[b + 1] += ends[b];
  std::vector<std::int64_t> next(ends.begin(), ends.end() - 1);
  for (std::size_t bucket = 0; bucket < kPairBuckets; ++bucket) {
    while (next[bucket] < ends[bucket + 1]) {
      std::uint64_t pair = pairs[next[bucket]];
      while ((pair >> shift) != bucket) std::swap(pair, pairs[next[pair >> shift]++]);
      pairs[next[bucket]++] = pair;
    }
  }
  return ends;
}

void sort_pairs(Executor& executor, std::uint64_t* pairs, std::int64_t n, const std::int32_t* user_rank,
                const std::int32_t* item_rank, std::int64_t users) {
  parallel_for(executor, ceil_div(n, kBlock), [&](std::int64_t block, int) {
    const std::int64_t end = std::min(n, (block + 1) * kBlock);
    for (std::int64_t i = block * kBlock; i < end; ++i) {
      const auto user = ranked(user_rank, static_cast<std::int32_t>(pairs[i] >> 32));
      const auto item = ranked(item_rank, static_cast<std::int32_t>(pairs[i] & 0xffffffffu));
      pairs[i] = static_cast<std::uint64_t>(user) << 32 | static_cast<std::uint64_t>(item);
    }
  });
  const std::vector<std::int64_t> ends = distribute(pairs, n, bucket_shift(users));
  parallel_for(executor, kPairBuckets, [&](std::int64_t bucket, int) {
    std::sort(pairs + ends[static_cast<std::size_t>(bucket)], pairs + ends[static_cast<std::size_t>(bucket) + 1]);
  });
}

std::int64_t unpack_pairs(std::uint64_t* pairs, std::int64_t n, std::int64_t users, bool keep_equal,
                          std::int64_t* offsets) {
  std::fill(offsets, offsets + users + 1, 0);
  char* front = reinterpret_cast<char*>(pairs);  // item k is written over bytes of pairs that were read before
  std::int64_t distinct = 0, written = 0;
  std::uint64_t previous = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t pair = pairs[i];
    const bool fresh = i == 0 || pair != previous;
    previous = pair;
    distinct += fresh;
    if (!fresh && !keep_equal) continue;
    const auto item = static_cast<std::int32_t>(pair & 0xffffffffu);
    std::memcpy(front + written * static_cast<std::int64_t>(sizeof(item)), &item, sizeof(item));
    ++written;
    ++offsets[(pair >> 32) + 1];
  }
  for (std::int64_t user = 0; user < users; ++user) offsets[user + 1] += offsets[user];
  return distinct;
}

// How many blocks of users to count separately: few enough that the counters stay small beside the events.
std::int64_t transpose_blocks(std::int64_t events, std::int64_t n_items) {
  const std::int64_t affordable = events / (4 * std::max<std::int64_t>(n_items, 1) + kBlock);
  return std::min<std::int64_t>(32, std::max<std::int64_t>(1, affordable));
}

void transpose(Executor& executor, std::int64_t users, const std::int64_t* offsets, const std::int32_t* items,
               std::int64_t n_items, std::int64_t* item_offsets, std::int32_t* item_users, std::int64_t* order) {
  const std::int64_t events = offsets[users];
  const std::int64_t blocks = transpose_blocks(events, n_items);
  const std::int64_t size = ceil_div(events, blocks) + 1;
  std::vector<std::int64_t> next(static_cast<std::size_t>(blocks * n_items), 0);
  parallel_for(executor, blocks, [&](std::int64_t block, int) {
    const RowRange range = rows_of_block(offsets, users, block, size);
    std::int64_t* counts = next.data() + block * n_items;
    for (std::int64_t e = offsets[range.first]; e < offsets[range.last]; ++e) ++counts[items[e]];
  });
  std::int64_t total = 0;
  for (std::int64_t item = 0; item < n_items; ++item) {
    item_offsets[item] = total;
    for (std::int64_t block = 0; block < blocks; ++block) {
      std::int64_t& slot = next[static_cast<std::size_t>(block * n_items + item)];
      const std::int64_t count = slot;
      slot = total;
      total += count;
    }
  }
  item_offsets[n_items] = total;
  parallel_for(executor, blocks, [&](std::int64_t block, int) {
    const RowRange range = rows_of_block(offsets, users, block, size);
    std::int64_t* slots = next.data() + block * n_items;
    for (std::int64_t user = range.first; user < range.last; ++user) {
      for (std::int64_t e = offsets[user]; e < offsets[user + 1]; ++e) {
        const std::int64_t at = slots[items[e]]++;
        item_users[at] = static_cast<std::int32_t>(user);
        order[at] = e;
      }
    }
  });
}

}  // namespace

extern const InteractionsKernels interactions_kernels;
const InteractionsKernels interactions_kernels{count_codes, positions_of, scatter_codes, scatter_values, scatter_times,
                                               sort_rows,   compact_rows, sort_pairs,    unpack_pairs,   transpose};

}  // namespace sqlrank
