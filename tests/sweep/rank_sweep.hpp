// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <stdexcept>

namespace strata::test {

inline constexpr int rank_sweep_ranks = 3;
inline constexpr std::int64_t rank_sweep_points = 1600;

/// What the ranks of a sweep and the test that kills them share.
struct RankSweepState {
  std::atomic<std::int64_t> finished;
  std::atomic<std::int64_t> allowed;  // no point is begun when so many are finished
  std::array<std::atomic<pid_t>, rank_sweep_ranks> processes;
};

/// Lies in a file, zeros at first, and stays when a process is killed.
class SharedState {
 public:
  explicit SharedState(const std::filesystem::path& file) {
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0 || ::ftruncate(descriptor, sizeof(RankSweepState)) != 0)
      throw std::runtime_error("no shared state");
    state_ = static_cast<RankSweepState*>(
        ::mmap(nullptr, sizeof(RankSweepState), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0));
    ::close(descriptor);
    if (state_ == MAP_FAILED) throw std::runtime_error("no shared state");
  }
  ~SharedState() { ::munmap(state_, sizeof(RankSweepState)); }
  SharedState(const SharedState&) = delete;
  SharedState& operator=(const SharedState&) = delete;
  RankSweepState* operator->() const { return state_; }
  RankSweepState& operator*() const { return *state_; }

 private:
  RankSweepState* state_ = nullptr;
};

}  // namespace strata::test
