// Lists: one per user and epoch, best level first, ties in random order (the paper's stochastic queue).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "sqlrank/parallel.hpp"
#include "sqlrank/random.hpp"

namespace sqlrank {

// What the lists are made of: the users' events, user by user.
struct ListSource {
  std::int64_t users = 0;
  std::int32_t catalogue = 0;            // number of items
  const std::int64_t* starts = nullptr;  // users + 1 offsets into items
  const std::int32_t* items = nullptr;   // explicit: best level first; implicit: ascending codes
  const float* levels = nullptr;         // of each event; null: implicit
  std::int64_t negatives = 0;            // implicit: unseen items per positive, drawn anew for every list
  std::uint64_t seed = 0;
  bool frozen_ties = false;   // the order of equals is that of epoch 0; negatives are drawn anew all the same
  bool keyed_by_user = true;  // false: every user draws from the same stream (fold-in: order of users is no matter)

  std::int64_t events(std::int64_t user) const { return starts[user + 1] - starts[user]; }
  std::int64_t drawn(std::int64_t user) const {
    return levels != nullptr ? 0 : std::min(negatives * events(user), catalogue - events(user));
  }
  std::int64_t length(std::int64_t user) const { return events(user) + drawn(user); }
};

// A set of items that is cheap to fill and to empty again.
class ItemSet {
 public:
  explicit ItemSet(std::int32_t catalogue) : words_(static_cast<std::size_t>(catalogue) / 64 + 1, 0) {}
  bool has(std::uint32_t item) const { return (words_[item >> 6] >> (item & 63)) & 1; }
  void add(std::uint32_t item) { words_[item >> 6] |= std::uint64_t{1} << (item & 63); }
  // Takes the items out again that were put in: all words where they are fewer than the items.
  void clear(const std::int32_t* items, std::int64_t n) {
    if (static_cast<std::int64_t>(words_.size()) <= n) {
      std::fill(words_.begin(), words_.end(), 0);
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) words_[static_cast<std::uint32_t>(items[i]) >> 6] = 0;
  }

 private:
  std::vector<std::uint64_t> words_;
};

class ListBuilder {
 public:
  explicit ListBuilder(std::int32_t catalogue) : taken_(catalogue) {}

  // Writes source.length(user) items to `list`.
  void build(const ListSource& source, std::int64_t user, std::uint32_t epoch, std::int32_t* list) {
    const std::int64_t events = source.events(user);
    const std::uint32_t key = source.keyed_by_user ? static_cast<std::uint32_t>(user) : 0u;
    std::copy_n(source.items + source.starts[user], events, list);
    Stream queue(source.seed, Purpose::queue, source.frozen_ties ? 0u : epoch, key);
    if (source.levels != nullptr) {
      shuffle_ties(source.levels + source.starts[user], events, queue, list);
      return;
    }
    shuffle(list, events, queue);
    Stream draws(source.seed, Purpose::negatives, epoch, key);
    draw_unseen(source, list, events, source.drawn(user), draws);
  }

 private:
  static void shuffle(std::int32_t* list, std::int64_t n, Stream& stream) {
    for (std::int64_t i = n - 1; i > 0; --i) {
      std::swap(list[i], list[stream.bounded(static_cast<std::uint32_t>(i + 1))]);
    }
  }

  static void shuffle_ties(const float* levels, std::int64_t n, Stream& stream, std::int32_t* list) {
    for (std::int64_t begin = 0; begin < n;) {
      std::int64_t end = begin + 1;
      while (end < n && levels[end] == levels[begin]) ++end;
      shuffle(list + begin, end - begin, stream);
      begin = end;
    }
  }

  // `count` different items, none of them among the first `events` of the list, are written behind these.
  void draw_unseen(const ListSource& source, std::int32_t* list, std::int64_t events, std::int64_t count,
                   Stream& stream) {
    if (count == 0) return;
    const auto catalogue = static_cast<std::uint32_t>(source.catalogue);
    for (std::int64_t i = 0; i < events; ++i) taken_.add(static_cast<std::uint32_t>(list[i]));
    std::int64_t filled = events;
    if (2 * (events + count) > source.catalogue) {
      // Little is left: list the unseen items and shuffle the first `count` of them to the front.
      unseen_.clear();
      for (std::uint32_t item = 0; item < catalogue; ++item) {
        if (!taken_.has(item)) unseen_.push_back(static_cast<std::int32_t>(item));
      }
      const auto left = static_cast<std::uint32_t>(unseen_.size());
      for (std::uint32_t i = 0; i < count; ++i) {
        std::swap(unseen_[i], unseen_[i + stream.bounded(left - i)]);
        list[filled++] = unseen_[i];
      }
    } else {
      // At least half of the draws are unseen and new.
      while (filled < events + count) {
        const std::uint32_t item = stream.bounded(catalogue);
        if (taken_.has(item)) continue;
        taken_.add(item);
        list[filled++] = static_cast<std::int32_t>(item);
      }
    }
    taken_.clear(list, filled);
  }

  ItemSet taken_;
  std::vector<std::int32_t> unseen_;
};

// The lists of all users, one after the other: `out` holds the sum of all lengths.
inline void build_lists(const ListSource& source, Executor& executor, std::uint32_t number, std::int32_t* out) {
  constexpr std::int64_t kUsers = 256;
  const std::int64_t blocks = ceil_div(source.users, kUsers);
  std::vector<std::int64_t> begins(static_cast<std::size_t>(blocks), 0);
  std::int64_t begin = 0;
  for (std::int64_t u = 0; u < source.users; ++u) {
    if (u % kUsers == 0) begins[static_cast<std::size_t>(u / kUsers)] = begin;
    begin += source.length(u);
  }
  std::vector<std::unique_ptr<ListBuilder>> builders(static_cast<std::size_t>(executor.threads()));
  parallel_for(executor, blocks, [&](std::int64_t block, int worker) {
    auto& builder = builders[static_cast<std::size_t>(worker)];
    if (builder == nullptr) builder = std::make_unique<ListBuilder>(source.catalogue);
    std::int32_t* list = out + begins[static_cast<std::size_t>(block)];
    for (std::int64_t u = block * kUsers; u < std::min(source.users, (block + 1) * kUsers); ++u) {
      builder->build(source, u, number, list);
      list += source.length(u);
    }
  });
}

// Every user's events, best level first; equal levels stay in the order they came in.
inline void sort_by_level(Executor& executor, std::int64_t users, const std::int64_t* starts, const std::int32_t* items,
                          const float* levels, std::int32_t* sorted_items, float* sorted_levels) {
  constexpr std::int64_t kUsers = 256;
  parallel_for(executor, ceil_div(users, kUsers), [&](std::int64_t block, int) {
    std::vector<std::int64_t> order;
    for (std::int64_t u = block * kUsers; u < std::min(users, (block + 1) * kUsers); ++u) {
      order.resize(static_cast<std::size_t>(starts[u + 1] - starts[u]));
      std::iota(order.begin(), order.end(), starts[u]);
      std::stable_sort(order.begin(), order.end(),
                       [&](std::int64_t a, std::int64_t b) { return levels[a] > levels[b]; });
      for (std::size_t i = 0; i < order.size(); ++i) {
        sorted_items[starts[u] + static_cast<std::int64_t>(i)] = items[order[i]];
        sorted_levels[starts[u] + static_cast<std::int64_t>(i)] = levels[order[i]];
      }
    }
  });
}

}  // namespace sqlrank
