// Point-to-point messages that are under way during a collective operation, on the same communicator.
#include <unistd.h>

#include <algorithm>

#include "collectives.h"

namespace collectives {

void complete_once(Random& own, Way& way) {
  MPI_Request* const request = &way.request;
  if (own.chance(20)) usleep(static_cast<useconds_t>(own.between(1, 200)));
  int done = 0;
  switch (draw(own, 0, 2)) {
    case 0:
      MUST(MPI_Wait(request, MPI_STATUS_IGNORE));
      break;
    case 1:
      while (done == 0) MUST(MPI_Test(request, &done, MPI_STATUS_IGNORE));
      break;
    default:
      while (done == 0) MUST(MPI_Request_get_status(*request, &done, MPI_STATUS_IGNORE));
      MUST(MPI_Waitall(1, request, MPI_STATUSES_IGNORE));
  }
  if (way.persistent && *request == MPI_REQUEST_NULL) fail("a persistent request is gone");
  if (!way.persistent && *request != MPI_REQUEST_NULL) fail("a complete operation has a request");
}

Messages::Messages(Random& plan, Random& own, const Comm& comm) : comm_(comm), fill_(plan.next()) {
  if (!plan.chance(40)) return;
  messages_.resize(static_cast<size_t>(draw(plan, 1, 3)));
  const int to = (comm.rank + 1) % comm.size;
  const bool wild = own.chance(30);  // then the messages are taken in the order in which they are sent
  for (size_t i = 0; i < messages_.size(); i++) {
    Message& m = messages_[i];
    const size_t bytes = plan.chance(5) ? 100000 : static_cast<size_t>(plan.between(0, 200));
    m.tag = draw(plan, 0, 1);
    m.early = i == 0 ? own.chance(60) : messages_[i - 1].early && own.chance(60);
    m.wild = wild;
    m.out = random_bytes(word_of(fill_ + i, static_cast<uint64_t>(comm.rank)), 0, bytes);
    m.in = random_bytes(own.next(), 0, bytes + 16);
    if (m.early) receive(m);
    MUST(MPI_Isend(m.out.data(), static_cast<int>(bytes), MPI_BYTE, to, m.tag, comm.handle, &m.sent));
  }
}

void Messages::receive(Message& m) {
  const int from = (comm_.rank + comm_.size - 1) % comm_.size;
  MUST(MPI_Irecv(m.in.data(), static_cast<int>(m.out.size()), MPI_BYTE, m.wild ? MPI_ANY_SOURCE : from,
                 m.wild ? MPI_ANY_TAG : m.tag, comm_.handle, &m.received));
}

void Messages::finish() {
  const int from = (comm_.rank + comm_.size - 1) % comm_.size;
  for (Message& m : messages_)
    if (!m.early) receive(m);
  for (size_t i = 0; i < messages_.size(); i++) {
    Message& m = messages_[i];
    const std::string name = "message " + std::to_string(i) + " from " + std::to_string(from);
    MPI_Status status;
    int n = -1;
    MUST(MPI_Wait(&m.received, &status));
    MPI_Get_count(&status, MPI_BYTE, &n);
    const Bytes expected = random_bytes(word_of(fill_ + i, static_cast<uint64_t>(from)), 0, m.out.size());
    if (status.MPI_SOURCE != from || status.MPI_TAG != m.tag || n != static_cast<int>(expected.size()))
      fail(name + " has source " + std::to_string(status.MPI_SOURCE) + ", tag " +
           std::to_string(status.MPI_TAG) + " and " + std::to_string(n) + " bytes");
    const auto wrong = std::mismatch(expected.begin(), expected.end(), m.in.begin());
    if (wrong.first != expected.end())
      fail("byte " + std::to_string(wrong.first - expected.begin()) + " of " + name + " is " +
           std::to_string(*wrong.second) + ", not " + std::to_string(*wrong.first));
    MUST(MPI_Wait(&m.sent, MPI_STATUS_IGNORE));
  }
}

}  // namespace collectives
