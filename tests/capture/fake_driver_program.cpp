// SPDX-License-Identifier: Apache-2.0
// Does what NVIDIA's driver does at cuInit, loads the library that CUDA_INJECTION64_PATH names, and
// then "launches" on the fake CUPTI that LD_LIBRARY_PATH leads to.
//   fake_driver_program STEPS [exit code | kill | fork]
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

template <class Function>
Function found(void* library, const char* name) {
  const auto function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) std::fprintf(stderr, "no %s\n", name);
  return function;
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 1;
  const std::string then = argc > 2 ? argv[2] : "0";
  void* const cupti = ::dlopen("libcupti.so.13", RTLD_NOW);
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  if (cupti == nullptr || path == nullptr) return 90;
  void* const injected = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (injected == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 91;
  }
  if (found<int (*)()>(injected, "InitializeInjection")() != 1) return 92;
  const auto launch = found<void (*)(const char*)>(cupti, "fake_launch");
  const auto copy = found<void (*)(unsigned long)>(cupti, "fake_copy");
  const auto push = found<void (*)(const char*)>(cupti, "fake_push");
  const auto pop = found<void (*)()>(cupti, "fake_pop");
  for (int step = 0; step < steps; ++step) {
    push("step");
    push("conv1");
    launch("_Z4convPf");
    launch("_Z4convPf");
    pop();
    launch("_Z3sgdv");
    copy(4096);
    pop();
    launch("_Z7outsidev");
  }
  if (then == "fork") {
    if (::fork() == 0) return 0;
    ::wait(nullptr);
    return 0;
  }
  if (then == "kill") {
    ::usleep(300'000);
    ::raise(SIGKILL);
  }
  return std::atoi(then.c_str());
}
