// Copies by several threads, for machines where one core does not fill the memory's bandwidth (`--threads`).
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tasuki::cluster {

class CopyTeam {
 public:
  explicit CopyTeam(unsigned threads);  // the caller's included; 1: nobody else
  ~CopyTeam();
  CopyTeam(const CopyTeam&) = delete;
  CopyTeam& operator=(const CopyTeam&) = delete;

  // Calls part(first, end) for pieces of [0, bytes), each a multiple of 4096 but the last, and returns when
  // all are done. Small amounts are the caller's alone: waking a thread takes as long as copying some 256
  // KiB. While another caller has the team, a second one is alone. A part that captures two words allocates
  // nothing.
  using Part = std::function<void(size_t first, size_t end)>;
  void run(size_t bytes, const Part& part);

 private:
  void help();
  void take_pieces(std::unique_lock<std::mutex>* lock);

  std::vector<std::thread> helpers_;
  std::mutex caller_, mutex_;
  std::condition_variable wake_, done_;
  const Part* part_ = nullptr;
  size_t next_ = 0, end_ = 0, left_ = 0;  // left_: bytes that are not copied yet
  bool stop_ = false;
};

}  // namespace tasuki::cluster
