// The Arrow C data interface (https://arrow.apache.org/docs/format/CDataInterface.html): its two structs, a reader of
// string columns and a writer of one.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common.hpp"
#include "sqlrank/dictionary.hpp"

namespace sqlrank::bindings {

struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

// Chunks of strings in the view layout ("vu"), kept alive until this object goes.
class TextColumn {
 public:
  explicit TextColumn(nb::capsule capsule) {
    auto* stream = static_cast<ArrowArrayStream*>(capsule.data("arrow_array_stream"));
    ArrowSchema schema{};
    if (stream == nullptr || stream->get_schema(stream, &schema) != 0) throw std::runtime_error("no Arrow stream");
    const std::string format = schema.format;
    if (schema.release != nullptr) schema.release(&schema);
    if (format != "vu") throw std::invalid_argument("expected a column of string views, got Arrow format " + format);
    for (;;) {
      ArrowArray chunk{};
      if (stream->get_next(stream, &chunk) != 0) throw std::runtime_error("the Arrow stream broke off");
      if (chunk.release == nullptr) break;
      chunks_.push_back(chunk);
      if (chunk.null_count != 0 && has_nulls(chunk)) throw std::invalid_argument("nulls must be dropped first");
      length_ += chunk.length;
    }
  }
  TextColumn(const TextColumn&) = delete;
  TextColumn& operator=(const TextColumn&) = delete;
  ~TextColumn() {
    for (ArrowArray& chunk : chunks_) chunk.release(&chunk);
  }

  std::int64_t length() const { return length_; }

  void encode(Dictionary<TextKeys>& dictionary, std::int32_t* codes) const {
    for (const ArrowArray& chunk : chunks_) {
      const auto* views = static_cast<const View*>(chunk.buffers[1]) + chunk.offset;
      const void** data = chunk.buffers + 2;
      dictionary.encode(chunk.length, [views, data](std::int64_t i) { return text_of(views[i], data); }, codes);
      codes += chunk.length;
    }
  }

 private:
  struct View {
    std::int32_t length;
    char prefix[4];  // texts of up to 12 bytes stand here and in the next two fields
    std::int32_t buffer;
    std::int32_t offset;
  };

  static bool has_nulls(const ArrowArray& chunk) {
    const auto* bits = static_cast<const std::uint8_t*>(chunk.buffers[0]);
    for (std::int64_t i = chunk.offset; bits != nullptr && i < chunk.offset + chunk.length; ++i) {
      if ((bits[i / 8] >> (i % 8) & 1) == 0) return true;
    }
    return false;
  }

  static std::string_view text_of(const View& view, const void** data) {
    const auto length = static_cast<std::size_t>(view.length);
    if (length <= 12) return {reinterpret_cast<const char*>(&view) + sizeof(std::int32_t), length};
    return {static_cast<const char*>(data[view.buffer]) + view.offset, length};
  }

  std::vector<ArrowArray> chunks_;
  std::int64_t length_ = 0;
};

// Hands the texts of a dictionary over as an Arrow large string array ("U"), without copying them.
class TextExport {
 public:
  explicit TextExport(TextKeys&& keys) : keys_(std::make_shared<TextKeys>(std::move(keys))) {}

  nb::typed<nb::tuple, nb::object, nb::object> capsules(nb::object /*requested_schema*/) const {
    auto schema = std::make_unique<ArrowSchema>(
        ArrowSchema{"U", "", nullptr, 0, 0, nullptr, nullptr, [](ArrowSchema* s) { s->release = nullptr; }, nullptr});
    auto held = std::make_unique<Held>(Held{keys_, {nullptr, keys_->offsets(), keys_->bytes()}});
    auto array = std::make_unique<ArrowArray>(
        ArrowArray{keys_->size(), 0, 0, 3, 0, held->buffers, nullptr, nullptr, release_array, nullptr});
    array->private_data = held.release();
    return nb::make_tuple(capsule(schema.release(), "arrow_schema"), capsule(array.release(), "arrow_array"));
  }

 private:
  struct Held {
    std::shared_ptr<TextKeys> keys;
    const void* buffers[3];
  };

  static void release_array(ArrowArray* array) {
    delete static_cast<Held*>(array->private_data);
    array->release = nullptr;
  }

  template <class Struct>
  static nb::capsule capsule(Struct* owned, const char* name) {
    return nb::capsule(owned, name, [](void* p) noexcept {
      auto* s = static_cast<Struct*>(p);
      if (s->release != nullptr) s->release(s);
      delete s;
    });
  }

  std::shared_ptr<TextKeys> keys_;
};

}  // namespace sqlrank::bindings
