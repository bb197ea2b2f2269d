// What the C++ library does not say about threads.
#pragma once

namespace tasuki::os {

// The calling thread's name in debuggers and /proc: at most 15 characters.
void name_thread(const char* name);

// The calling thread's messages are those of the C locale from now on: strerror() looks for no translation,
// for which it would read the environment.
void use_c_locale();

// How often the calling thread had to leave its core to others.
long times_displaced();

// A thread that is cancelled (pthread_cancel) while such an object lives ends behind it.
class NoCancellation {
 public:
  NoCancellation();
  ~NoCancellation();
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = 0;
};

}  // namespace tasuki::os
