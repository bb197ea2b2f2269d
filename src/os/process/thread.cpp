#include "os/process/thread.h"

#include <locale.h>
#include <pthread.h>
#include <sys/resource.h>

namespace tasuki::os {

void name_thread(const char* name) {
  pthread_setname_np(pthread_self(), name);
}

void use_c_locale() {
  uselocale(newlocale(LC_ALL_MASK, "C", nullptr));
}

long times_displaced() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

NoCancellation::NoCancellation() {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_);
}
NoCancellation::~NoCancellation() {
  pthread_setcancelstate(before_, nullptr);
}

}  // namespace tasuki::os
