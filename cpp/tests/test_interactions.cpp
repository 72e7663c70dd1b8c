// Run under AddressSanitizer: dictionaries that grow, rows that are sorted, merged and closed up, and the transpose.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "check.hpp"
#include "sqlrank/dictionary.hpp"
#include "sqlrank/kernels.hpp"
#include "sqlrank/pool.hpp"

using namespace sqlrank;

static std::uint64_t next_random(std::uint64_t& state) {
  state = mix_bits(state + 0x9E3779B97F4A7C15u, 0xe7037ed1a0b428dbu);
  return state;
}

static void test_text_dictionary() {
  std::uint64_t state = 1;
  std::vector<std::string> texts;
  for (int i = 0; i < 50000; ++i) {
    const std::uint64_t number = next_random(state) % 9000;
    texts.push_back(std::string(static_cast<std::size_t>(number % 40), 'x') + std::to_string(number));
  }
  texts.emplace_back();
  std::map<std::string, std::int32_t> expected;
  Dictionary<TextKeys> dictionary(1 << 30);
  std::vector<std::int32_t> codes(texts.size());
  dictionary.encode(
      static_cast<std::int64_t>(texts.size()), [&](std::int64_t i) { return std::string_view(texts[i]); },
      codes.data());
  bool right = true;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto code = expected.emplace(texts[i], static_cast<std::int32_t>(expected.size())).first->second;
    right = right && codes[i] == code && dictionary.keys().at(code) == texts[i];
  }
  CHECK(right);
  CHECK(dictionary.size() == static_cast<std::int64_t>(expected.size()));
}

static void test_number_dictionary_and_its_limit() {
  Dictionary<NumberKeys> dictionary(100);
  std::vector<std::int32_t> codes(1000);
  dictionary.encode(1000, [](std::int64_t i) { return -(i % 100) * (std::int64_t{1} << 56); }, codes.data());
  bool right = true;
  for (int i = 0; i < 1000; ++i) right = right && codes[static_cast<std::size_t>(i)] == i % 100;
  CHECK(right);
  bool refused = false;
  try {
    dictionary.encode(1, [](std::int64_t) { return std::int64_t{1}; }, codes.data());
  } catch (const TooManyIds&) {
    refused = true;
  }
  CHECK(refused);
  CHECK(dictionary.size() == 100);
}

struct Events {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> items;
  std::vector<float> values;
  std::vector<std::int64_t> times;
  EventRows rows() {
    return {static_cast<std::int64_t>(offsets.size()) - 1, offsets.data(), items.data(), values.data(), times.data()};
  }
};

// Users of very different length, empty ones among them, at the end too.
static Events make_events() {
  std::uint64_t state = 7;
  Events events;
  events.offsets.push_back(0);
  for (int user = 0; user < 400; ++user) {
    const std::int64_t n =
        user % 7 == 0 ? 0 : static_cast<std::int64_t>(next_random(state) % (user == 9 ? 200000 : 900));
    for (std::int64_t i = 0; i < n; ++i) {
      events.items.push_back(static_cast<std::int32_t>(next_random(state) % 600));
      events.values.push_back(static_cast<float>(next_random(state) % 9));
      events.times.push_back(static_cast<std::int64_t>(next_random(state) % 50));
    }
    events.offsets.push_back(static_cast<std::int64_t>(events.items.size()));
  }
  events.offsets.push_back(events.offsets.back());
  return events;
}

static void test_rows(Pool& pool) {
  const InteractionsKernels& kernels = *sqlrank_kernels()->interactions;
  Events before = make_events();
  std::map<std::pair<std::int64_t, std::int32_t>, std::tuple<double, std::int64_t>> sums;
  for (std::int64_t user = 0; user < before.rows().users; ++user) {
    for (std::int64_t e = before.offsets[user]; e < before.offsets[user + 1]; ++e) {
      auto& [sum, last] = sums.emplace(std::make_pair(user, before.items[e]), std::make_tuple(0.0, -1)).first->second;
      sum += before.values[e];
      last = std::max(last, before.times[e]);
    }
  }
  Events first;
  for (const int threads : {1, 2, 3}) {
    PoolExecutor executor(pool, threads, nullptr);
    Events events = before;
    std::vector<std::int64_t> kept(events.offsets.size() - 1), offsets(events.offsets.size());
    const std::int64_t extra = kernels.sort_rows(executor, events.rows(), Duplicates::sum, kept.data());
    CHECK(extra == static_cast<std::int64_t>(before.items.size() - sums.size()));
    kernels.compact_rows(events.rows(), kept.data(), offsets.data());
    CHECK(offsets.back() == static_cast<std::int64_t>(sums.size()));
    std::int64_t at = 0;
    bool right = true;
    for (const auto& [pair, merged] : sums) {
      right = right && offsets[pair.first] <= at && at < offsets[pair.first + 1] && events.items[at] == pair.second &&
              events.values[at] == static_cast<float>(std::get<0>(merged)) && events.times[at] == std::get<1>(merged);
      ++at;
    }
    CHECK(right);
    if (threads == 1) first = events;
    CHECK(events.items == first.items && events.values == first.values && events.times == first.times);
  }
}

static void test_transpose(Pool& pool) {
  const InteractionsKernels& kernels = *sqlrank_kernels()->interactions;
  Events events = make_events();
  const auto n = static_cast<std::int64_t>(events.items.size());
  PoolExecutor executor(pool, 3, nullptr);
  std::vector<std::int64_t> offsets(601), order(events.items.size());
  std::vector<std::int32_t> users(events.items.size());
  kernels.transpose(executor, events.rows().users, events.offsets.data(), events.items.data(), 600, offsets.data(),
                    users.data(), order.data());
  CHECK(offsets[0] == 0 && offsets[600] == n);
  bool right = true;
  for (std::int64_t item = 0; item < 600; ++item) {
    for (std::int64_t k = offsets[item]; k < offsets[item + 1]; ++k) {
      const std::int64_t e = order[k];
      right = right && events.items[e] == item && events.offsets[users[k]] <= e && e < events.offsets[users[k] + 1] &&
              (k == offsets[item] || order[k - 1] < e);
    }
  }
  CHECK(right);
}

int main() {
  Pool pool;
  test_text_dictionary();
  test_number_dictionary_and_its_limit();
  test_rows(pool);
  test_transpose(pool);
  return report("interactions");
}
