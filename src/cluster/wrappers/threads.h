// Which threads of this process are the pager's and the MPI library's.
#pragma once

namespace tasuki::cluster {

// Of a thread that an internal thread (pinning.h) has started, or that has been started in an InternalScope.
bool is_internal_thread(int tid);

}  // namespace tasuki::cluster
