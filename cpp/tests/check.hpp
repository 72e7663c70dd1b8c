// The smallest test harness that will do: CHECK counts, main reports.
#pragma once

#include <cstdio>

inline int& failures() {
  static int count = 0;
  return count;
}
inline int& checks() {
  static int count = 0;
  return count;
}

#define CHECK(condition)                                                                 \
  do {                                                                                   \
    ++checks();                                                                          \
    if (!(condition)) {                                                                  \
      ++failures();                                                                      \
      std::fprintf(stderr, "%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__, #condition); \
    }                                                                                    \
  } while (false)

inline int report(const char* name) {
  std::printf("%s: %d checks, %d failed\n", name, checks(), failures());
  return failures() == 0 && checks() > 0 ? 0 : 1;
}
