// What the arguments of a call resolve to. One of three outcomes:
//
//   pass     the call is the library's, or not valid, which the library says best
//   failed   an error that has been raised already; the call returns its code
//   what     what the call is to work on
//
// The last can be had only through a function that says what to do with it, beside one that says what else is
// to be done: no delegate can forget an outcome.
#pragma once

#include <mpi.h>

#include <climits>
#include <utility>

namespace tasuki::shim {

// The outcome of every Resolved that has nothing to work on.
class [[nodiscard]] Unresolved {
 public:
  static Unresolved pass() { return Unresolved(kPass); }
  static Unresolved failed(int code) { return Unresolved(code); }

 private:
  template <typename What>
  friend class Resolved;
  static constexpr int kPass = INT_MIN;  // no MPI error code is negative
  explicit Unresolved(int outcome) : outcome_(outcome) {}
  int outcome_;
};

template <typename What>
class [[nodiscard]] Resolved {
 public:
  Resolved(const What& what) : what_(what) {}                // NOLINT: implicit on purpose
  Resolved(Unresolved u) : what_{}, outcome_(u.outcome_) {}  // NOLINT: implicit on purpose

  // What the MPI function returns: library(), the code of the error, or use(what).
  template <typename Library, typename Use>
  int answer(Library&& library, Use&& use) const {
    if (__builtin_expect(outcome_ == MPI_SUCCESS, 1)) return use(what_);
    return outcome_ == Unresolved::kPass ? library() : outcome_;
  }

  // The same where both other outcomes come down to one substitute.
  What value_or(const What& substitute) const { return outcome_ == MPI_SUCCESS ? what_ : substitute; }

  // use(what), which is a Resolved of something else; the other outcomes stay.
  template <typename Use>
  auto and_then(Use&& use) const -> decltype(use(std::declval<const What&>())) {
    if (__builtin_expect(outcome_ == MPI_SUCCESS, 1)) return use(what_);
    return Unresolved(outcome_);
  }

  // The same for two: use(what, other's), or pass if one of the two does, or the error of the first that
  // failed.
  template <typename Other, typename Use>
  auto and_then(const Resolved<Other>& other, Use&& use) const
      -> decltype(use(std::declval<const What&>(), std::declval<const Other&>())) {
    if (outcome_ != MPI_SUCCESS && (outcome_ == Unresolved::kPass || other.outcome_ != Unresolved::kPass))
      return Unresolved(outcome_);
    return other.and_then([&](const Other& o) { return use(what_, o); });
  }

 private:
  template <typename>
  friend class Resolved;
  What what_;
  int outcome_ = MPI_SUCCESS;
};

}  // namespace tasuki::shim
