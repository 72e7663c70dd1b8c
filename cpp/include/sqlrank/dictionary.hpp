// Growing dictionaries: ids become codes 0, 1, 2, ... in the order in which they first appear.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace sqlrank {

// Thrown when there are more different ids than codes.
struct TooManyIds : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Random lookups in a large table miss the address cache at nearly every step; pages of 2 MB make that rare.
inline void advise_huge_pages(void* memory, std::size_t bytes) {
#if defined(__linux__)
  constexpr std::uintptr_t kHuge = std::uintptr_t{1} << 21;
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(memory) + kHuge - 1) / kHuge * kHuge;
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / kHuge * kHuge;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

// A growing array of plain values: realloc lets the system move pages instead of copying bytes.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { std::free(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

  void push_back(T value) {
    if (size_ == capacity_) reserve(capacity_ + capacity_ / 2 + 64);
    data_[size_++] = value;
  }
  void append(const T* values, std::size_t n) {
    if (size_ + n > capacity_) reserve(size_ + n + capacity_ / 2 + 64);
    if (n > 0) std::memcpy(data_ + size_, values, n * sizeof(T));
    size_ += n;
  }
  void reserve(std::size_t capacity) {
    void* moved = std::realloc(static_cast<void*>(data_), capacity * sizeof(T));
    if (moved == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    capacity_ = capacity;
    advise_huge_pages(moved, capacity * sizeof(T));
  }
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

// The upper half of a 128-bit product folded into the lower: every input bit reaches every output bit.
inline std::uint64_t mix_bits(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t load_bytes(const char* p, std::size_t n) {  // n <= 8
  std::uint64_t word = 0;
  std::memcpy(&word, p, n);
  return word;
}

inline std::uint64_t hash_bytes(std::string_view text) {
  constexpr std::uint64_t k0 = 0xa0761d6478bd642fu, k1 = 0xe7037ed1a0b428dbu;
  const char* p = text.data();
  std::size_t n = text.size();
  std::uint64_t hash = k0 ^ n;
  for (; n > 16; p += 16, n -= 16) hash = mix_bits(load_bytes(p, 8) ^ k1, load_bytes(p + 8, 8) ^ hash);
  std::uint64_t a, b = 0;
  if (n >= 8) {
    a = load_bytes(p, 8);
    b = load_bytes(p + n - 8, 8);
  } else if (n >= 4) {
    a = load_bytes(p, 4);
    b = load_bytes(p + n - 4, 4);
  } else {
    a = load_bytes(p, n);
  }
  return mix_bits(mix_bits(a ^ k1, b ^ hash), k0);
}

// Open addressing over (32 bits of hash, code); `Keys` stores the ids themselves and compares them.
template <class Keys>
class Dictionary {
 public:
  using Key = typename Keys::Key;

  explicit Dictionary(std::int64_t limit) : limit_(limit) { resize(1024); }

  std::int64_t size() const { return keys_.size(); }
  const Keys& keys() const { return keys_; }
  Keys& keys() { return keys_; }

  // codes[i] = code of key(i), new ones being added. Looks ahead so that memory arrives before it is needed.
  template <class KeyAt>
  void encode(std::int64_t n, KeyAt&& key_at, std::int32_t* codes) {
    constexpr std::int64_t kAhead = 32;
    std::uint32_t hashes[kAhead];
    Key keys[kAhead];
    for (std::int64_t begin = 0; begin < n; begin += kAhead) {
      const std::int64_t count = n - begin < kAhead ? n - begin : kAhead;
      if (static_cast<std::uint64_t>(size() + kAhead) * 2 > mask_) resize((mask_ + 1) * 2);
      for (std::int64_t i = 0; i < count; ++i) {
        keys[i] = key_at(begin + i);
        hashes[i] = static_cast<std::uint32_t>(Keys::hash(keys[i]) >> 32);
        __builtin_prefetch(&slots_[hashes[i] & mask_]);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const Slot slot = slots_[hashes[i] & mask_];
        if (slot.code >= 0) keys_.prefetch(slot.code);
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const Slot slot = slots_[hashes[i] & mask_];
        if (slot.code >= 0) keys_.prefetch_text(slot.code);
      }
      for (std::int64_t i = 0; i < count; ++i) codes[begin + i] = find_or_add(keys[i], hashes[i]);
    }
  }

 private:
  struct Slot {
    std::uint32_t hash;
    std::int32_t code;
  };

  std::int32_t find_or_add(const Key& key, std::uint32_t hash) {
    for (std::uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.code < 0) {
        if (size() >= limit_) throw TooManyIds("too many different ids");
        slot = {hash, static_cast<std::int32_t>(size())};
        keys_.add(key);
        return slot.code;
      }
      if (slot.hash == hash && keys_.equal(slot.code, key)) return slot.code;
    }
  }

  void resize(std::uint64_t slots) {
    Buffer<Slot> old;
    old.swap(slots_);
    slots_.reserve(slots);
    mask_ = slots - 1;
    for (std::uint64_t i = 0; i < slots; ++i) slots_.push_back({0, -1});
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (old[i].code < 0) continue;
      std::uint64_t at = old[i].hash & mask_;
      while (slots_[at].code >= 0) at = (at + 1) & mask_;
      slots_[at] = old[i];
    }
  }

  Keys keys_;
  Buffer<Slot> slots_;
  std::uint64_t mask_ = 0;
  std::int64_t limit_;
};

// The texts one after another, with the offsets at which they start: the layout of an Arrow large string column.
class TextKeys {
 public:
  using Key = std::string_view;

  TextKeys() { offsets_.push_back(0); }
  std::int64_t size() const { return static_cast<std::int64_t>(offsets_.size()) - 1; }
  static std::uint64_t hash(Key key) { return hash_bytes(key); }
  void prefetch(std::int32_t code) const { __builtin_prefetch(&offsets_[static_cast<std::size_t>(code)]); }
  void prefetch_text(std::int32_t code) const {
    __builtin_prefetch(bytes_.data() + offsets_[static_cast<std::size_t>(code)]);
  }
  bool equal(std::int32_t code, Key key) const { return at(code) == key; }
  Key at(std::int32_t code) const {
    const std::int64_t begin = offsets_[static_cast<std::size_t>(code)];
    const std::int64_t end = offsets_[static_cast<std::size_t>(code) + 1];
    return Key(bytes_.data() + begin, static_cast<std::size_t>(end - begin));
  }
  void add(Key key) {
    bytes_.append(key.data(), key.size());
    offsets_.push_back(static_cast<std::int64_t>(bytes_.size()));
  }
  const std::int64_t* offsets() const { return offsets_.data(); }
  const char* bytes() const { return bytes_.data(); }

 private:
  Buffer<std::int64_t> offsets_;
  Buffer<char> bytes_;
};

class NumberKeys {
 public:
  using Key = std::int64_t;

  std::int64_t size() const { return static_cast<std::int64_t>(numbers_.size()); }
  static std::uint64_t hash(Key key) {
    return mix_bits(static_cast<std::uint64_t>(key) ^ 0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu);
  }
  void prefetch(std::int32_t code) const { __builtin_prefetch(&numbers_[static_cast<std::size_t>(code)]); }
  void prefetch_text(std::int32_t) const {}
  bool equal(std::int32_t code, Key key) const { return numbers_[static_cast<std::size_t>(code)] == key; }
  void add(Key key) { numbers_.push_back(key); }
  const std::int64_t* data() const { return numbers_.data(); }

 private:
  Buffer<std::int64_t> numbers_;
};

}  // namespace sqlrank
