// Status: the result of an internal operation. The first detector of an error fills in the text; callers
// propagate it. Outputs are set only on success. At C boundaries a Status becomes an errno or an MPI error
// class.
#pragma once

#include <cerrno>
#include <string>
#include <utility>
#include <variant>

namespace tasuki {

class [[nodiscard]] Status {
 public:
  Status() = default;  // success
  // `err` is an errno value that tells the class of the failure; `message` says what, where and what to do.
  static Status error(int err, std::string message) {
    return Status(err == 0 ? EIO : err, std::move(message));
  }

  bool ok() const { return err_ == 0; }
  int err() const { return err_; }
  const std::string& message() const { return message_; }

 private:
  Status(int err, std::string message) : err_(err), message_(std::move(message)) {}
  int err_ = 0;
  std::string message_;
};

// A value or the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}         // NOLINT: implicit on purpose
  Result(Status status) : v_(std::in_place_index<1>, std::move(status)) {}  // NOLINT: implicit on purpose

  bool ok() const { return v_.index() == 0; }
  T& value() { return std::get<0>(v_); }
  const T& value() const { return std::get<0>(v_); }
  Status status() const { return ok() ? Status() : std::get<1>(v_); }

 private:
  std::variant<T, Status> v_;
};

}  // namespace tasuki
