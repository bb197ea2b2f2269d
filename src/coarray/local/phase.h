// phase: whether coarrays can be used: not before all have their memory, and not after the end of the
// program.
#pragma once

namespace tasuki::coarray {

class Phase {
 public:
  bool off() const { return state_ == State::off; }
  bool running() const { return state_ == State::running; }
  // Fails with a message if `function`, which the program calls, comes too early or too late.
  void require_start(const char* function) const {
    if (!running()) [[unlikely]]
      not_started(function);
  }
  void begin() { state_ = State::running; }
  void end() { state_ = State::ended; }

 private:
  enum class State { off, running, ended };
  [[noreturn]] void not_started(const char* function) const;

  State state_ = State::off;
};

}  // namespace tasuki::coarray
