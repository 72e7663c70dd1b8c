// Opens the kernels of one instruction set: the best one the machine has, or the one that SQLRANK_ISA names.
#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "sqlrank/kernels.hpp"

namespace sqlrank {

namespace {

bool machine_has(const std::string& isa) {
  if (isa == "baseline") return true;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2");
  if (isa == "v3") return v3;
  if (isa == "v4") {
    return v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
  }
#endif
  return false;
}

std::string module_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&kernels), &info) == 0 || info.dli_fname == nullptr) {
    throw std::runtime_error("sqlrank: the compiled module cannot find its own folder");
  }
  const std::string path = info.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string(".") : path.substr(0, slash);
}

std::string chosen_isa() {
  const char* wanted = std::getenv("SQLRANK_ISA");
  if (wanted != nullptr && *wanted != '\0') {
    const std::string isa = wanted;
    if (isa != "baseline" && isa != "v3" && isa != "v4") {
      throw std::runtime_error("SQLRANK_ISA is '" + isa + "'; it can be baseline, v3 or v4");
    }
    if (!machine_has(isa)) {
      throw std::runtime_error("SQLRANK_ISA asks for '" + isa +
                               "', which this processor lacks; unset it or set it to baseline");
    }
    return isa;
  }
  for (const char* isa : {"v4", "v3"}) {
    if (machine_has(isa)) return isa;
  }
  return "baseline";
}

const Kernels* open_kernels() {
  const std::string path = module_folder() + "/_kernels_" + chosen_isa() + ".so";
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    throw std::runtime_error("sqlrank: cannot open " + path + ": " + (why != nullptr ? why : "unknown error"));
  }
  using Entry = const Kernels* (*)();
  auto entry = reinterpret_cast<Entry>(dlsym(handle, "sqlrank_kernels"));
  if (entry == nullptr) throw std::runtime_error("sqlrank: " + path + " holds no kernel table");
  return entry();
}

}  // namespace

const Kernels& kernels() {
  static const Kernels* const table = open_kernels();
  return *table;
}

}  // namespace sqlrank
