// Requests in the user's hands.
#pragma once

#include "simmpi/objects/comm.h"

namespace tasuki::simmpi {

void set_status(MPI_Status* status, const Outcome& outcome);
// Gives the outcome of a request that is complete, null or inactive, and frees it unless it is persistent.
int finish_user(MPI_Request* request, MPI_Status* status, bool in_array = false);
// Runs Request::operation on a task of its own.
void start_operation(Request* request);
// Begins what has been prepared.
int begin(Request* request);
// What a call takes that has looked for something and found nothing.
void poll();

}  // namespace tasuki::simmpi
