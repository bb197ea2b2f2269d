// Errors of MPI calls as a Status. The profiling names are called: what watches the program's MPI calls does
// not see the pager's.
#pragma once

#include <mpi.h>

#include <string>

#include "base/status.h"

namespace tasuki::cluster {

inline Status mpi_status(int rc, const char* call) {
  if (rc == MPI_SUCCESS) return {};
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  PMPI_Error_string(rc, text, &length);
  return Status::error(EIO, std::string(call) + ": " + std::string(text, static_cast<size_t>(length)));
}

}  // namespace tasuki::cluster
