// async: communication that goes on behind its directive until wait_async (XcalableMP 1.4, sections 4.6.8 and
// 4.6.9).
#pragma once

#include <memory>
#include <vector>

#include "coarray/local/fail.h"

namespace tasuki::coarray {

class Pending {
 public:
  virtual ~Pending() = default;
  // Whether finish() would return without waiting for another node to come.
  virtual bool ready() = 0;
  virtual void finish() = 0;
};

class Asynchronous {
 public:
  void add(int id, std::unique_ptr<Pending> operation) { begun_.push_back({id, std::move(operation)}); }
  // Those with the number, in the order in which they were begun.
  void wait(int id);
  bool test(int id);
  void wait_all();

 private:
  struct Begun {
    int id;
    std::unique_ptr<Pending> operation;
  };
  std::vector<Begun> begun_;
};

}  // namespace tasuki::coarray
