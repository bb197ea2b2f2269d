#include "cluster/lend/lender_process.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "base/bytes.h"
#include "base/log.h"
#include "os/memory/host_memory.h"
#include "os/memory/mapping.h"
#include "os/memory/memory_file.h"

namespace tasuki::cluster::lend {
namespace {

// Left to the host, and to this process itself.
constexpr uint64_t kMargin = 64 << 20;
constexpr uint64_t kDeadSeconds = 60;  // without a sign of life of a host
constexpr int64_t kTellNs = 1'000'000'000, kLookNs = 1'000'000'000;
// What a request may be long; a borrower never asks for more.
constexpr uint32_t kMostUnits = 1 << 16;
constexpr uint64_t kLeastUnit = 512;  // an eighth of a page

std::string rounded(uint64_t bytes) {
  return bytes_text(bytes, BytesStyle::rounded);
}

}  // namespace

Result<std::unique_ptr<LenderProcess>> LenderProcess::open(const LenderOptions& options) {
  const uint64_t available = os::host_memory().available;
  if (available != 0 && options.bytes + kMargin > available)
    return Status::error(ENOMEM, "cannot lend " + rounded(options.bytes) +
                                     ": this host (or the control group) has " + rounded(available) +
                                     " to spare, of which " + rounded(kMargin) + " stay free");
  Result<os::Fd> listener = os::listen_on(options.listen);
  if (!listener.ok()) return listener.status();
  const Result<uint16_t> port = os::port_of(listener.value().get());
  if (!port.ok()) return port.status();
  Result<os::Poller> poller = os::Poller::open();
  if (!poller.ok()) return poller.status();
  std::unique_ptr<LenderProcess> lender(
      new LenderProcess(options, std::move(listener.value()), port.value(), std::move(poller.value())));
  Status status = lender->poller_.add(lender->listener_.get(), kListener);
  if (status.ok()) status = lender->poller_.add(lender->left_.descriptor(), kLeave);
  if (!status.ok()) return status;
  return lender;
}

void LenderProcess::say(const char* format, ...) {
  char line[512];
  va_list values;
  va_start(values, format);
  vsnprintf(line, sizeof line, format, values);
  va_end(values);
  options_.say(line);
}

LenderProcess::LenderProcess(const LenderOptions& options, os::Fd listener, uint16_t port, os::Poller poller)
    : options_(options), listener_(std::move(listener)), port_(port), poller_(std::move(poller)) {}

LenderProcess::~LenderProcess() {
  connections_.clear();
  for (const auto& borrower : borrowers_) os::unmap(borrower->memory, borrower->bytes);
}

void LenderProcess::leave() {
  leaves_.fetch_add(1);
  left_.wake();
}

Status LenderProcess::serve() {
  std::vector<os::Poller::Event> events;
  for (;;) {
    const int leaves = leaves_.load();
    if (leaves > 1 || (leaves == 1 && borrowers_.empty())) return {};
    const bool filling =
        std::any_of(borrowers_.begin(), borrowers_.end(), [](const auto& b) { return b->ready < b->bytes; });
    events.clear();
    poller_.wait(filling ? 0 : !strangers_.empty() || !listens_ ? 1000 : -1, &events);
    for (const os::Poller::Event& event : events) {
      if (event.id == kListener) {
        accept_all();
      } else if (event.id == kLeave) {
        left_.clear();
        if (leaves_.load() != 1 || borrowers_.empty()) continue;
        say("lends nothing new, and ends when the last of %zu programs has ended or has moved its pages to "
            "other lenders; once more ends it, and them, now",
            borrowers_.size());
        ask_all_to_go();
      } else {
        const auto found = connections_.find(event.id);
        if (found == connections_.end()) continue;
        found->second.turn = kTurnBytes;
        if (event.writable) write(event.id, &found->second);
        if (event.readable) read(event.id);
      }
    }
    drop_strangers(false);
    if (filling) fill_grants();
  }
}

void LenderProcess::accept_all() {
  for (std::string from;;) {
    os::Fd socket = os::accept_stream(listener_.get(), &from);
    if (!socket.valid()) {
      if (errno == EAGAIN || errno == ECONNABORTED) return;
      // No more descriptors: the listener would be ready again and again.
      drop_strangers(true);
      poller_.await(listener_.get(), kListener, false, false);
      listens_ = false;
      return;
    }
    // A borrower that is stopped for long is none that has gone.
    os::prepare_stream(socket.get(), kDeadSeconds, false);
    const uint64_t id = next_++;
    if (!poller_.add(socket.get(), id).ok()) continue;
    Connection& connection = connections_[id];
    connection.socket = std::move(socket);
    connection.from = from;
    expect(&connection, Reading::hello, sizeof(Hello));
    strangers_.insert(id);
    drop_strangers(false);
  }
}

// Those who have been here too long, or are too many. `oldest`: one at least.
void LenderProcess::drop_strangers(bool oldest) {
  if (strangers_.empty() && listens_) return;
  const int64_t now = os::monotonic_ns();
  bool dropped = false;
  for (; !strangers_.empty(); oldest = false, dropped = true) {
    const uint64_t first = *strangers_.begin();
    const bool late = now - connections_.at(first).since_ns > kStrangerNs;
    if (!late && !oldest && strangers_.size() <= kMostStrangers) break;
    close(first, "has not said who it is");
  }
  if (listens_ || (!dropped && now - looked_ns_ < kLookNs)) return;
  looked_ns_ = now;
  listens_ = true;
  poller_.await(listener_.get(), kListener, true, false);
}

// What comes next.
void LenderProcess::expect(Connection* connection, Reading what, size_t bytes) {
  connection->reading = what;
  connection->left = bytes;
  if (what == Reading::data) return;
  connection->buffer.resize(bytes);
  connection->to = connection->buffer.data();
}

void LenderProcess::read(uint64_t id) {
  for (size_t done = 0; done < kTurnBytes;) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) return;
    Connection* connection = &found->second;
    if (connection->out.size() >= kMostWaiting)
      return;  // write() waits for what comes again, when it is time
    int failed = 0;
    const iovec part = {connection->to, connection->left};
    const size_t n = os::receive_now(connection->socket.get(), &part, 1, &failed);
    if (failed != 0) return close(id, strerror(failed));
    if (n == 0) return;
    done += n;
    connection->to += n;
    connection->left -= n;
    if (connection->left == 0 && !take(id, connection)) return;
  }
}

// All of what was expected is there. False: the connection is gone.
bool LenderProcess::take(uint64_t id, Connection* c) {
  switch (c->reading) {
    case Reading::hello:
      return begin(id, c);
    case Reading::request:
      memcpy(&c->request, c->buffer.data(), sizeof c->request);
      if (serve_request(c)) break;
      close(id, "a request that makes no sense");
      return false;
    case Reading::data:
      c->out.add(answer_to(c->request), nullptr, 0);
      expect(c, Reading::request, sizeof(Request));
      break;
  }
  if (!c->writes) write(id, c);
  return connections_.count(id) != 0;
}

bool LenderProcess::serve_request(Connection* c) {
  const Request& r = c->request;
  const Borrower& b = *c->borrower;
  const uint64_t slots = b.bytes / b.unit_bytes;
  if (b.ready < b.bytes || (r.op == Op::put) != (c->stream == Stream::puts)) return false;
  if ((r.op != Op::get && r.op != Op::put) || r.units == 0 || r.units > kMostUnits || r.slot > slots ||
      r.units > slots - r.slot)
    return false;
  std::byte* const at = b.memory + r.slot * b.unit_bytes;
  if (r.op == Op::get) {
    c->out.add(answer_to(r), at, r.units * b.unit_bytes);
    expect(c, Reading::request, sizeof(Request));
  } else {
    c->to = at;
    expect(c, Reading::data, r.units * b.unit_bytes);
  }
  return true;
}

// What waits to go there, as far as it can.
void LenderProcess::write(uint64_t id, Connection* c) {
  if (const int failed = c->out.send(c->socket.get(), &c->turn); failed != 0)
    return close(id, strerror(failed));
  const bool reads = c->out.size() < kMostWaiting, writes = !c->out.empty();
  if (reads == c->reads && writes == c->writes) return;
  c->reads = reads;
  c->writes = writes;
  poller_.await(c->socket.get(), id, reads, writes);
}

void LenderProcess::welcome(Connection* connection, int error, const std::string& text, uint64_t bytes) {
  Welcome answer = {};
  answer.magic = kMagic;
  answer.version = kVersion;
  answer.error = error;
  answer.bytes = bytes;
  snprintf(answer.text, sizeof answer.text, "%s", text.c_str());
  // The first message of a stream: there is room for it.
  const Status sent = os::send_all(connection->socket.get(), &answer, sizeof answer, 1);
  if (!sent.ok()) log(LogLevel::debug, "%s: %s", connection->from.c_str(), sent.message().c_str());
}

bool LenderProcess::begin(uint64_t id, Connection* c) {
  Hello hello;
  memcpy(&hello, c->buffer.data(), sizeof hello);
  hello.name[sizeof hello.name - 1] = 0;
  for (char& letter : hello.name)
    if (letter != 0 && (static_cast<unsigned char>(letter) < ' ' || letter == 127)) letter = '?';
  const bool known_key = hello.magic == kMagic && same(hello.key, options_.key);
  const auto refuse = [&](int error, const std::string& text) {
    say("refuses %s (%s): %s", known_key ? hello.name : "somebody", c->from.c_str(), text.c_str());
    if (hello.magic == kMagic) welcome(c, error, text, 0);
    close(id, "");
    return false;
  };
  if (hello.magic != kMagic) return refuse(EPROTO, "it does not speak as borrowers of Tasuki do");
  if (hello.version != kVersion) return refuse(EPROTO, "it has another version of Tasuki");
  if (!known_key)
    return refuse(EACCES, "its key is not this lender's: both read the file that `tasuki lend` names");
  if (hello.unit_bytes == 0 || hello.unit_bytes % kLeastUnit != 0 || hello.unit_bytes > (2u << 20))
    return refuse(EPROTO, "slots of " + std::to_string(hello.unit_bytes) + " bytes");
  const auto known = std::find_if(borrowers_.begin(), borrowers_.end(),
                                  [&](const auto& b) { return b->id == hello.borrower; });
  c->stream = hello.stream;
  if (hello.stream != Stream::gets) {
    if (known == borrowers_.end()) return refuse(EPROTO, "its memory has gone");
    const auto& streams = (*known)->streams;
    const bool twice = std::any_of(streams.begin(), streams.end(), [&](uint64_t other) {
      return connections_.at(other).stream == Stream::puts;
    });
    if (hello.stream != Stream::aside && (hello.stream != Stream::puts || twice))
      return refuse(EPROTO, "a stream that it has already, or of no kind");
    c->borrower = known->get();
    c->borrower->streams.push_back(id);
    strangers_.erase(id);
    expect(c, Reading::request, sizeof(Request));
    welcome(c, 0, "", c->borrower->bytes);
    if (leaves_.load() > 0 && c->stream == Stream::puts) ask_to_go(id, c);
    return connections_.count(id) != 0;
  }
  if (known != borrowers_.end()) return refuse(EPROTO, "it is here already");
  if (leaves_.load() > 0) return refuse(ESHUTDOWN, "this lender is about to leave");
  const uint64_t most = options_.quota != 0 ? std::min(options_.quota, options_.bytes) : options_.bytes;
  const uint64_t left = options_.bytes - lent_, fits = std::min(most, left);
  // Who asks for nothing in particular gets its part of what its whole job could have.
  const uint64_t wanted = hello.bytes != 0 ? hello.bytes : std::min(fits, most / std::max(1u, hello.parts));
  const uint64_t bytes = wanted - wanted % std::max<uint64_t>(hello.unit_bytes, os::page_size());
  if (bytes > fits || bytes == 0)
    return refuse(
        ENOMEM, (hello.bytes == 0 ? "nothing" : rounded(hello.bytes) + " are wanted, but " + rounded(fits)) +
                    std::string(hello.bytes == 0 ? " is" : " are") + " left for it: " + rounded(lent_) +
                    " of " + rounded(options_.bytes) + " are lent, and each borrower gets at most " +
                    rounded(most));
  auto borrower = std::make_unique<Borrower>(Borrower{hello.borrower, hello.name});
  borrower->unit_bytes = hello.unit_bytes;
  borrower->memory = static_cast<std::byte*>(os::map_memory(bytes));
  if (borrower->memory == nullptr) return refuse(ENOMEM, "no address space for " + rounded(bytes));
  borrower->bytes = bytes;
  os::keep_out_of_core_files(borrower->memory, bytes);
  os::allow_huge_pages(borrower->memory, bytes);
  borrower->streams.push_back(id);
  lent_ += bytes;
  c->borrower = borrower.get();
  strangers_.erase(id);
  borrowers_.push_back(std::move(borrower));
  expect(c, Reading::request, sizeof(Request));
  return true;  // fill_grants() answers
}

// A part of each grant that is not there yet.
void LenderProcess::fill_grants() {
  for (size_t i = 0; i < borrowers_.size(); i++) {
    Borrower& b = *borrowers_[i];
    if (b.ready == b.bytes) continue;
    const uint64_t part = std::min<uint64_t>(kFillBytes, b.bytes - b.ready);
    const uint64_t available = os::host_memory().available;
    Connection& c = connections_.at(b.streams.front());
    const bool short_of = available != 0 && part + kMargin > available;
    if (short_of || !os::populate(b.memory + b.ready, part)) {
      say("cannot lend %s to %s: the host has no more", rounded(b.bytes).c_str(), b.name.c_str());
      welcome(&c, ENOMEM, "its host has only " + rounded(available) + " to spare", 0);
      close(b.streams.front(), "");
      i--;
      continue;
    }
    b.ready += part;
    if (b.ready == b.bytes) {
      say("%s borrows %s; %s of %s are left", b.name.c_str(), rounded(b.bytes).c_str(),
          rounded(options_.bytes - lent_).c_str(), rounded(options_.bytes).c_str());
      welcome(&c, 0, "", b.bytes);
    } else if (const int64_t now = os::monotonic_ns(); now - b.told_ns > kTellNs) {
      welcome(&c, EINPROGRESS, "", b.ready);
      b.told_ns = now;
    }
  }
}

// By the stream of puts. Who has none yet hears of it when it comes.
void LenderProcess::ask_to_go(uint64_t id, Connection* connection) {
  connection->out.add(Answer{0, 0, kLeaves}, nullptr, 0);
  connection->turn = std::max(connection->turn, sizeof(Answer));
  if (!connection->writes) write(id, connection);
}

void LenderProcess::ask_all_to_go() {
  std::vector<uint64_t> ids;  // a connection may end on the way
  for (const auto& [id, connection] : connections_)
    if (connection.borrower != nullptr && connection.stream == Stream::puts) ids.push_back(id);
  for (const uint64_t id : ids)
    if (const auto found = connections_.find(id); found != connections_.end()) ask_to_go(id, &found->second);
}

// A borrower goes with the first of its streams, but for those of its children. `why`: empty: that has been
// said.
void LenderProcess::close(uint64_t id, const std::string& why) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Borrower* borrower = found->second.borrower;
  if (borrower != nullptr && found->second.stream == Stream::aside) {
    std::erase(borrower->streams, id);
    borrower = nullptr;
  }
  if (borrower == nullptr && !why.empty())
    log(LogLevel::debug, "%s: %s", found->second.from.c_str(), why.c_str());
  strangers_.erase(id);
  connections_.erase(found);  // the kernel takes what is closed out of the poller
  if (borrower != nullptr) drop(borrower);
}

void LenderProcess::drop(Borrower* borrower) {
  for (const uint64_t id : borrower->streams) connections_.erase(id);
  lent_ -= borrower->bytes;
  if (borrower->ready == borrower->bytes)
    say("%s has ended; %s of %s are left", borrower->name.c_str(), rounded(options_.bytes - lent_).c_str(),
        rounded(options_.bytes).c_str());
  os::unmap(borrower->memory, borrower->bytes);
  std::erase_if(borrowers_, [borrower](const auto& b) { return b.get() == borrower; });
}

}  // namespace tasuki::cluster::lend
