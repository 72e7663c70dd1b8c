# C++ tests: one program per file, kernels of one instruction set linked in, sanitizers as asked for.
# Built and run by `cmake -S . -B build/cpp -DSQLRANK_BUILD_TESTS=ON -DSQLRANK_SANITIZE=address,undefined`,
# `cmake --build build/cpp -j` and `ctest --test-dir build/cpp`.
enable_testing()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
if(SQLRANK_SANITIZE)
  add_compile_options(-fsanitize=${SQLRANK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${SQLRANK_SANITIZE})
endif()

list(FILTER runtime_sources EXCLUDE REGEX "dispatch.cpp$")
add_library(kernels STATIC ${kernel_sources} ${runtime_sources})
target_include_directories(kernels PUBLIC cpp/include)
target_compile_options(kernels PRIVATE ${kernel_flags})
target_compile_definitions(kernels PUBLIC SQLRANK_ISA="baseline")
target_link_libraries(kernels PUBLIC Threads::Threads)

file(GLOB test_sources CONFIGURE_DEPENDS cpp/tests/test_*.cpp)
foreach(source IN LISTS test_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE kernels)
  add_test(NAME ${name} COMMAND ${name})
endforeach()
