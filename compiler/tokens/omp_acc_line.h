// One line of `#pragma omp` or `#pragma acc` as tokens, and what its words mean.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "compiler/text/text.h"

namespace tasuki::cc {

inline bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Clauses of OpenACC.
inline bool is_compute(std::string_view construct) {
  return one_of(construct, {"parallel", "kernels", "serial"});
}
inline bool copies(std::string_view clause) {
  return one_of(clause, {"copy", "copyin", "copyout", "pcopy", "pcopyin", "pcopyout", "present_or_copy",
                         "present_or_copyin", "present_or_copyout"});
}
inline bool is_data(std::string_view clause) {
  return copies(clause) ||
         one_of(clause, {"create", "pcreate", "present_or_create", "present", "no_create", "delete", "attach",
                         "detach", "deviceptr", "device_resident", "link"});
}
inline bool is_private(std::string_view clause) {
  return one_of(clause, {"private", "firstprivate", "reduction"});
}

// Clauses and directives whose list makes copies of a variable, or hands it elsewhere.
inline bool makes_copies(std::string_view clause) {
  return one_of(clause, {"private", "firstprivate", "lastprivate", "reduction", "in_reduction",
                         "task_reduction", "linear", "copyin", "copyprivate", "threadprivate", "inclusive",
                         "exclusive", "allocate", "uniform"});
}
inline bool goes_to_device(std::string_view clause, bool acc) {
  if (acc)
    return one_of(clause, {"copy", "copyin", "copyout", "create", "present", "deviceptr", "delete", "attach",
                           "detach", "host", "device", "self", "use_device", "cache", "declare", "link",
                           "device_resident", "no_create"});
  return one_of(clause, {"map", "to", "from", "link", "enter", "target", "is_device_ptr", "use_device_ptr",
                         "use_device_addr", "has_device_addr"});
}
inline bool wants_variable(std::string_view clause) {
  return one_of(clause, {"shared", "aligned", "nontemporal", "flush"});
}

// One directive, as tokens of its own text; offsets are those of the whole text.
class Pragma {
 public:
  explicit Pragma(const Text& text, size_t token)
      : line_(std::string(text.spelling(token).substr(1)) + " "),
        base_(text.begin_of(token) + 1),
        token_(token) {}

  const Text& line() const { return line_; }
  size_t token() const { return token_; }
  size_t offset(size_t i) const { return base_ + line_.begin_of(i); }
  size_t end(size_t i) const { return base_ + line_.end_of(i); }
  size_t count() const { return line_.tokens().size(); }
  size_t match(size_t i) const { return line_.tokens()[i].match; }
  std::string_view word(size_t i) const { return i < count() ? line_.spelling(i) : std::string_view(); }
  bool is_acc() const { return word(0) == "pragma" && word(1) == "acc" && count() > 2; }
  // "enter data" is enter.
  std::string_view construct() const { return word(2); }

 private:
  Text line_;
  size_t base_, token_;
};

// Does no statement belong to it?
inline bool stands_alone(const Pragma& p) {
  if (p.word(0) != "pragma") return false;
  if (p.word(1) == "acc")
    return one_of(p.construct(), {"update", "enter", "exit", "wait", "declare", "routine", "cache", "init",
                                  "shutdown", "set"});
  if (p.word(1) != "omp") return false;
  return one_of(p.construct(),
                {"barrier", "taskwait", "taskyield", "flush", "threadprivate", "cancel", "cancellation",
                 "declare", "requires", "depobj", "allocate", "error", "nothing", "scan"}) ||
         (p.construct() == "target" && one_of(p.word(3), {"update", "enter", "exit"}));
}

// Calls visit(first, last) for each item of the list behind a clause's "(", commas aside.
template <typename Visit>
void each_item(const Pragma& p, size_t open, Visit visit) {
  size_t first = open + 1;
  for (size_t i = open + 1; i <= p.match(open); i++) {
    if (p.line().is(i, ",") || i == p.match(open)) {
      if (first < i) visit(first, i - 1);
      first = i + 1;
    } else if (p.match(i) > i) {
      i = p.match(i);
    }
  }
}

// Calls visit(open) for the "(" of each clause.
template <typename Visit>
void each_clause(const Pragma& p, Visit visit) {
  for (size_t i = 3; i < p.count(); i++) {
    if (!p.line().is(i, "(")) continue;
    visit(i);
    i = p.match(i);
  }
}

}  // namespace tasuki::cc
