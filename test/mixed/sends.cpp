// The side of senders.
#include "rank.h"

namespace mixed {

void Rank::attach() {
  size_t bytes = 0;
  for (const Message& m : plan_.messages) {
    if (m.from != me_ || !buffered(m.mode)) continue;
    int packed = 0;
    MUST(MPI_Pack_size(m.count, plan_.basic_type(m.comm).type, control_,
                       &packed));  // 3.6: what a buffered send needs
    // Plain MPICH keeps the entries aligned, and counts a derived type's own header.
    bytes += static_cast<size_t>(packed) + MPI_BSEND_OVERHEAD + 256;
  }
  bsend_memory_.resize(bytes);
  if (bytes > 0) MUST(MPI_Buffer_attach(bsend_memory_.data(), static_cast<int>(bytes)));
}

void Rank::detach() {
  if (bsend_memory_.empty()) return;
  step("MPI_Buffer_detach");
  void* where = nullptr;
  int bytes = 0;
  MUST(MPI_Buffer_detach(&where, &bytes));
  CHECK(where == bsend_memory_.data() && static_cast<size_t>(bytes) == bsend_memory_.size());
}

// 3.2.1: sends do not write their buffers.
void Rank::check_unchanged(const Sending& s) {
  const Message& m = at(s.message);
  const std::string difference = s.buffer->difference(*s.layout, content_of(plan_, m));
  CHECK_THAT(difference.empty(), "the send buffer was written: " + difference + ": " + describe(plan_, m));
}

void Rank::start(int k, bool may_block) {
  const Message& m = at(k);
  Comm& c = comm(m.comm);
  const int to = c.number[static_cast<size_t>(m.to)];
  count(kMessages);

  Sending* s = m.series >= 0 ? series_[static_cast<size_t>(m.series)] : nullptr;
  const bool again = s != nullptr;
  if (again) {
    if (s->active) wait_for(*s);
    check_unchanged(*s);
  } else {
    operations_.push_back(std::make_unique<Sending>());
    s = static_cast<Sending*>(operations_.back().get());
    s->layout = std::make_unique<Layout>(m.shape, m.count, plan_.basic_type(m.comm),
                                         plan_.fill + static_cast<uint64_t>(k));
    s->buffer = std::make_unique<Buffer>(*s->layout);
    if (m.series >= 0) series_[static_cast<size_t>(m.series)] = s;
  }
  s->message = k;
  sent_[static_cast<size_t>(k)] = 1;
  s->layout->scatter(content_of(plan_, m), s->buffer->data());
  void* memory = s->buffer->at();
  const int n = s->layout->count();
  const MPI_Datatype type = s->layout->type();
  Mode mode = m.mode;
  if (blocks(mode) && !may_block)
    mode = mode == Mode::ssend ? Mode::issend : mode == Mode::send ? Mode::isend : Mode::irsend;
  step("step %d: starting message %d to %d, mode %d%s", now_, k, m.to, static_cast<int>(mode),
       again ? ", again" : "");
  sent_at_[static_cast<size_t>(k)] = now();
  if (persistent(mode)) {
    if (!again) {
      s->persistent = true;
      if (mode == Mode::init) MUST(MPI_Send_init(memory, n, type, to, m.tag, c.handle, &s->request));
      if (mode == Mode::ssend_init) MUST(MPI_Ssend_init(memory, n, type, to, m.tag, c.handle, &s->request));
      if (mode == Mode::bsend_init) MUST(MPI_Bsend_init(memory, n, type, to, m.tag, c.handle, &s->request));
      if (mode == Mode::rsend_init) MUST(MPI_Rsend_init(memory, n, type, to, m.tag, c.handle, &s->request));
    }
    if (mine_.chance(50)) {
      MUST(MPI_Start(&s->request));
    } else {
      MUST(MPI_Startall(1, &s->request));
    }
    s->active = true;
    return;
  }
  switch (mode) {
    case Mode::send:
      MUST(MPI_Send(memory, n, type, to, m.tag, c.handle));
      break;
    case Mode::ssend:
      MUST(MPI_Ssend(memory, n, type, to, m.tag, c.handle));
      synchronised_at_[static_cast<size_t>(k)] = now();
      break;
    case Mode::bsend:
      MUST(MPI_Bsend(memory, n, type, to, m.tag, c.handle));
      break;
    case Mode::rsend:
      MUST(MPI_Rsend(memory, n, type, to, m.tag, c.handle));
      break;
    case Mode::issend:
      MUST(MPI_Issend(memory, n, type, to, m.tag, c.handle, &s->request));
      break;
    case Mode::ibsend:
      MUST(MPI_Ibsend(memory, n, type, to, m.tag, c.handle, &s->request));
      break;
    case Mode::irsend:
      MUST(MPI_Irsend(memory, n, type, to, m.tag, c.handle, &s->request));
      break;
    default:
      MUST(MPI_Isend(memory, n, type, to, m.tag, c.handle, &s->request));
      break;
  }
  s->active = s->request != MPI_REQUEST_NULL;
  if (mode == Mode::freed) {
    MUST(MPI_Request_free(&s->request));  // 3.7.3: the send completes; its buffer stays until the round ends
    s->active = false;
  } else if (s->active && !m.late && may_block && mine_.chance(30)) {
    wait_for(*s);
  }
  if (s->active && m.late && mine_.chance(30)) {
    int flag = 0;
    MPI_Status status = poisoned();
    MUST(MPI_Request_get_status(s->request, &flag, &status));  // 3.7.6: changes nothing
  }
}

// Message `out` and `in` by one call. False: something that is pending may take `in`, so the call might wait for another message, and the
// ring with it.
bool Rank::exchange(int out, int in) {
  const Message &o = at(out), &i = at(in);
  if (!open(in) || !takers(in).empty()) return false;
  Pattern p = pattern_for(in);
  if (!exact(p, in)) p = pattern_for(in, true);
  if (!exact(p, in)) return false;
  Comm& c = comm(o.comm);
  const int to = c.number[static_cast<size_t>(o.to)];
  count(kMessages);
  count(kExchanges);
  operations_.push_back(std::make_unique<Sending>());
  Sending* s = static_cast<Sending*>(operations_.back().get());
  s->message = out;
  sent_[static_cast<size_t>(out)] = 1;
  s->layout = std::make_unique<Layout>(o.shape, o.count, plan_.basic_type(o.comm),
                                       plan_.fill + static_cast<uint64_t>(out));
  s->buffer = std::make_unique<Buffer>(*s->layout);
  s->layout->scatter(content_of(plan_, o), s->buffer->data());
  MPI_Status status = poisoned();
  auto r = std::make_unique<Receiving>();
  const bool replace = o.count >= i.count && mine_.chance(40);
  step("step %d: MPI_Sendrecv%s of message %d to %d", now_, replace ? "_replace" : "", out, o.to);
  begin_event(Event::receive, p);
  if (!replace) {
    r = prepare(p);
    MUST(MPI_Sendrecv(s->buffer->at(), s->layout->count(), s->layout->type(), to, o.tag, r->buffer->at(),
                      r->layout->count(), r->layout->type(), source_of(p), tag_of(p), c.handle, &status));
  } else {
    // What arrives lies over what was sent, and over the beginning of it only where it is shorter (3.10).
    r->pattern = p;
    r->layout = std::make_unique<Layout>(o.shape, o.count, plan_.basic_type(o.comm),
                                         plan_.fill + static_cast<uint64_t>(out));
    r->buffer = std::make_unique<Buffer>(*s->buffer);
    MUST(MPI_Sendrecv_replace(r->buffer->at(), r->layout->count(), r->layout->type(), to, o.tag, source_of(p),
                              tag_of(p), c.handle, &status));
    std::vector<unsigned char> expected = content_of(plan_, o), arrived = content_of(plan_, i);
    std::copy(arrived.begin(), arrived.end(), expected.begin());
    const std::string difference = r->buffer->difference(*r->layout, expected);
    CHECK_THAT(difference.empty(), "MPI_Sendrecv_replace: " + difference + ": " + describe(plan_, i));
    r->buffer->wipe();
    r->layout->scatter(arrived, r->buffer->data());
  }
  r->event = events_.size() - 1;
  take(*r, status, ++tick_);
  CHECK_THAT(!open(in), "MPI_Sendrecv received another message than " + describe(plan_, i));
  return true;
}

}  // namespace mixed
