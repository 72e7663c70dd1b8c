#include "sqlrank/interactions.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "arrow.hpp"
#include "common.hpp"
#include "sqlrank/dictionary.hpp"

namespace sqlrank::bindings {

namespace {

// One side's ids while a table streams by: `load` takes a batch, `encode_batches` turns the loaded ones into codes.
class IdIndex {
 public:
  virtual ~IdIndex() = default;
  virtual std::int64_t size() const = 0;
  virtual std::int64_t loaded() const = 0;
  virtual void encode(std::int32_t* codes) = 0;
  virtual void unload() = 0;
};

class TextIndex final : public IdIndex {
 public:
  explicit TextIndex(std::int64_t limit) : dictionary_(limit) {}
  void load(nb::object series) {
    batch_ = std::make_unique<TextColumn>(nb::cast<nb::capsule>(series.attr("__arrow_c_stream__")()));
  }
  std::int64_t size() const override { return dictionary_.size(); }
  std::int64_t loaded() const override { return batch_ ? batch_->length() : 0; }
  void encode(std::int32_t* codes) override {
    if (batch_) batch_->encode(dictionary_, codes);
  }
  void unload() override { batch_.reset(); }
  TextExport release() {
    TextExport ids(std::move(dictionary_.keys()));
    dictionary_ = Dictionary<TextKeys>(0);
    return ids;
  }

 private:
  Dictionary<TextKeys> dictionary_;
  std::unique_ptr<TextColumn> batch_;
};

class NumberIndex final : public IdIndex {
 public:
  explicit NumberIndex(std::int64_t limit) : dictionary_(limit) {}
  void load(In<std::int64_t> numbers) { batch_ = numbers; }
  std::int64_t size() const override { return dictionary_.size(); }
  std::int64_t loaded() const override { return batch_ ? static_cast<std::int64_t>(batch_->size()) : 0; }
  void encode(std::int32_t* codes) override {
    if (!batch_) return;
    const std::int64_t* numbers = batch_->data();
    dictionary_.encode(loaded(), [numbers](std::int64_t i) { return numbers[i]; }, codes);
  }
  void unload() override { batch_.reset(); }
  void copy_to(Out<std::int64_t> out) const {
    require(static_cast<std::int64_t>(out.size()) == size(), "out needs one place per id");
    if (size() > 0) std::memcpy(out.data(), dictionary_.keys().data(), out.size() * sizeof(std::int64_t));
  }

 private:
  Dictionary<NumberKeys> dictionary_;
  std::optional<In<std::int64_t>> batch_;
};

void encode_batches(IdIndex& users, Out<std::int32_t> user_codes, IdIndex& items, Out<std::int32_t> item_codes,
                    int threads) {
  require(&users != &items, "users and items need an index each");
  require(static_cast<std::int64_t>(user_codes.size()) == users.loaded(), "user_codes needs one place per row");
  require(static_cast<std::int64_t>(item_codes.size()) == items.loaded(), "item_codes needs one place per row");
  IdIndex* sides[] = {&users, &items};
  std::int32_t* codes[] = {user_codes.data(), item_codes.data()};
  run_parallel(threads, [&](Executor& executor) {
    parallel_for(executor, 2, [&](std::int64_t side, int) { sides[side]->encode(codes[side]); });
  });
  users.unload();
  items.unload();
}

template <class T>
auto* data_or_null(std::optional<T>& array) {
  return array ? array->data() : nullptr;
}

template <class T>
std::int64_t length(const T& array) {
  return static_cast<std::int64_t>(array.size());
}

template <class Value, class Scatter>
void scatter(Scatter kernel, In<Value> values, In<std::uint32_t> positions, Out<Value> out, int threads) {
  require(values.size() == positions.size(), "values and positions must have one length");
  run_parallel(threads, [&](Executor& executor) {
    kernel(executor, values.data(), positions.data(), length(values), out.data());
  });
}

EventRows rows_of(In<std::int64_t>& offsets, Out<std::int32_t>& items, std::optional<Out<float>>& values,
                  std::optional<Out<std::int64_t>>& times) {
  require(offsets.size() >= 1 && offsets.data()[offsets.size() - 1] <= length(items), "offsets reach beyond items");
  require(!values || values->size() == items.size(), "values and items must have one length");
  require(!times || times->size() == items.size(), "times and items must have one length");
  return {length(offsets) - 1, offsets.data(), items.data(), data_or_null(values), data_or_null(times)};
}

std::int64_t sort_rows(In<std::int64_t> offsets, Out<std::int32_t> items, std::optional<Out<float>> values,
                       std::optional<Out<std::int64_t>> times, int policy, Out<std::int64_t> kept, int threads) {
  const EventRows rows = rows_of(offsets, items, values, times);
  require(length(kept) == rows.users, "kept needs one place per row");
  require(policy >= 0 && policy <= static_cast<int>(Duplicates::mean), "unknown policy");
  std::int64_t duplicates = 0;
  run_parallel(threads, [&](Executor& executor) {
    duplicates = kernels().interactions->sort_rows(executor, rows, static_cast<Duplicates>(policy), kept.data());
  });
  return duplicates;
}

void compact_rows(In<std::int64_t> offsets, Out<std::int32_t> items, std::optional<Out<float>> values,
                  std::optional<Out<std::int64_t>> times, In<std::int64_t> kept, Out<std::int64_t> new_offsets) {
  const EventRows rows = rows_of(offsets, items, values, times);
  require(length(kept) == rows.users && length(new_offsets) == rows.users + 1, "kept or new_offsets is too short");
  nb::gil_scoped_release release;
  kernels().interactions->compact_rows(rows, kept.data(), new_offsets.data());
}

void transpose(In<std::int64_t> offsets, In<std::int32_t> items, Out<std::int64_t> item_offsets,
               Out<std::int32_t> item_users, Out<std::int64_t> order, int threads) {
  require(item_users.size() == items.size() && order.size() == items.size(), "outputs need one place per event");
  require(offsets.size() >= 1 && offsets.data()[offsets.size() - 1] == length(items), "offsets do not fit items");
  run_parallel(threads, [&](Executor& executor) {
    kernels().interactions->transpose(executor, length(offsets) - 1, offsets.data(), items.data(),
                                      length(item_offsets) - 1, item_offsets.data(), item_users.data(), order.data());
  });
}

void bind_indexes(nb::module_& m) {
  nb::class_<TextExport>(m, "TextExport", "String ids for whoever speaks the Arrow C data interface.")
      .def("__arrow_c_array__", &TextExport::capsules, nb::arg("requested_schema") = nb::none());
  nb::class_<IdIndex>(m, "IdIndex", "Ids of one side, coded in the order of appearance.")
      .def("__len__", &IdIndex::size);
  nb::class_<TextIndex, IdIndex>(m, "TextIndex")
      .def(nb::init<std::int64_t>(), nb::arg("limit"))
      .def("load", &TextIndex::load, nb::arg("series"), "Take a batch: a polars String series without nulls.")
      .def("release", &TextIndex::release, "Hand the ids over, in the order of their codes; the index is empty then.");
  nb::class_<NumberIndex, IdIndex>(m, "NumberIndex")
      .def(nb::init<std::int64_t>(), nb::arg("limit"))
      .def("load", &NumberIndex::load, nb::arg("numbers"), "Take a batch of integers.")
      .def("copy_to", &NumberIndex::copy_to, nb::arg("out").noconvert(), "The ids, in the order of their codes.");
  m.def("encode_batches", &encode_batches, nb::arg("users"), nb::arg("user_codes").noconvert(), nb::arg("items"),
        nb::arg("item_codes").noconvert(), nb::arg("threads") = 1, "Codes of the loaded batches, both sides at once.");
}

}  // namespace

void bind_interactions(nb::module_& m) {
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const TooManyIds& e) {
      PyErr_SetString(PyExc_OverflowError, e.what());
    }
  });
  bind_indexes(m);
  m.def(
      "count_codes",
      [](In<std::int32_t> codes, std::optional<In<std::int32_t>> rank, Out<std::int64_t> counts) {
        nb::gil_scoped_release release;
        kernels().interactions->count_codes(codes.data(), length(codes), data_or_null(rank), counts.data());
      },
      nb::arg("codes"), nb::arg("rank").none(), nb::arg("counts").noconvert(), "counts[rank[codes]] += 1");
  m.def(
      "positions",
      [](Out<std::int32_t> codes, std::optional<In<std::int32_t>> rank, Out<std::int64_t> next) {
        nb::gil_scoped_release release;
        auto* in_place = reinterpret_cast<std::uint32_t*>(codes.data());
        kernels().interactions->positions(codes.data(), length(codes), data_or_null(rank), next.data(), in_place);
      },
      nb::arg("codes").noconvert(), nb::arg("rank").none(), nb::arg("next").noconvert(),
      "Replace every code by the place of its event in user-major order (read it as uint32); advances `next`.");
  m.def(
      "scatter_codes",
      [](In<std::int32_t> codes, In<std::uint32_t> positions, std::optional<In<std::int32_t>> rank,
         Out<std::int32_t> out, int threads) {
        require(codes.size() == positions.size(), "codes and positions must have one length");
        run_parallel(threads, [&](Executor& executor) {
          kernels().interactions->scatter_codes(executor, codes.data(), positions.data(), length(codes),
                                                data_or_null(rank), out.data());
        });
      },
      nb::arg("codes"), nb::arg("positions"), nb::arg("rank").none(), nb::arg("out").noconvert(),
      nb::arg("threads") = 1, "out[positions] = rank[codes]");
  m.def(
      "scatter_values",
      [](In<float> values, In<std::uint32_t> positions, Out<float> out, int threads) {
        scatter<float>(kernels().interactions->scatter_values, values, positions, out, threads);
      },
      nb::arg("values"), nb::arg("positions"), nb::arg("out").noconvert(), nb::arg("threads") = 1,
      "out[positions] = values");
  m.def(
      "scatter_times",
      [](In<std::int64_t> times, In<std::uint32_t> positions, Out<std::int64_t> out, int threads) {
        scatter<std::int64_t>(kernels().interactions->scatter_times, times, positions, out, threads);
      },
      nb::arg("times"), nb::arg("positions"), nb::arg("out").noconvert(), nb::arg("threads") = 1,
      "out[positions] = times");
  m.def("sort_rows", &sort_rows, nb::arg("offsets"), nb::arg("items").noconvert(), nb::arg("values").noconvert().none(),
        nb::arg("times").noconvert().none(), nb::arg("policy"), nb::arg("kept").noconvert(), nb::arg("threads") = 1,
        "Sort every row by item, merge duplicates into its front; returns how many events were beyond the first.");
  m.def("compact_rows", &compact_rows, nb::arg("offsets"), nb::arg("items").noconvert(),
        nb::arg("values").noconvert().none(), nb::arg("times").noconvert().none(), nb::arg("kept"),
        nb::arg("new_offsets").noconvert(), "Close the gaps that merging left.");
  m.def(
      "sort_pairs",
      [](Out<std::uint64_t> pairs, std::optional<In<std::int32_t>> user_rank, std::optional<In<std::int32_t>> item_rank,
         bool keep_equal, Out<std::int64_t> offsets, int threads) {
        require(offsets.size() >= 1, "offsets needs one place more than there are users");
        const std::int64_t users = length(offsets) - 1;
        run_parallel(threads, [&](Executor& executor) {
          kernels().interactions->sort_pairs(executor, pairs.data(), length(pairs), data_or_null(user_rank),
                                             data_or_null(item_rank), users);
        });
        nb::gil_scoped_release release;
        return kernels().interactions->unpack_pairs(pairs.data(), length(pairs), users, keep_equal, offsets.data());
      },
      nb::arg("pairs").noconvert(), nb::arg("user_rank").none(), nb::arg("item_rank").none(), nb::arg("keep_equal"),
      nb::arg("offsets").noconvert(), nb::arg("threads") = 1,
      "Sort events packed as user << 32 | item; writes the offsets of the rows, and their item codes (int32) over the "
      "front of `pairs`. Returns the number of distinct pairs.");
  m.def("transpose", &transpose, nb::arg("offsets"), nb::arg("items"), nb::arg("item_offsets").noconvert(),
        nb::arg("item_users").noconvert(), nb::arg("order").noconvert(), nb::arg("threads") = 1,
        "The same events by item: offsets, users, and positions in the user-major arrays.");
}

}  // namespace sqlrank::bindings
