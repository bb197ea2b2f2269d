#include "coarray/local/phase.h"

#include "coarray/local/fail.h"

namespace tasuki::coarray {

void Phase::not_started(const char* function) const {
  fail({nullptr, 0},
       off() ? "%s is called before the runtime has started: link the program with tasukicc, or "
               "call xmp_init_mpi at the beginning of main"
             : "%s is called after the end of the program",
       function);
}

}  // namespace tasuki::coarray
