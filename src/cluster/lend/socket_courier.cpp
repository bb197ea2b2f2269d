#include "cluster/lend/socket_courier.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "base/bytes.h"
#include "os/process/self.h"

namespace tasuki::cluster::lend {
namespace {

constexpr uint64_t kForever = 1'000'000;
constexpr uint64_t kPatience = 10;  // seconds, to be connected
constexpr int kLookMilliseconds = 250;
constexpr int kIdleMilliseconds = 1000;  // to hear of a lender that is lost or leaves: others get its pages

Hello hello_of(const SocketCourier::Options& options, uint64_t borrower) {
  Hello hello = {};
  hello.magic = kMagic;
  hello.version = kVersion;
  hello.key = options.key;
  hello.borrower = borrower;
  hello.unit_bytes = options.unit_bytes;
  hello.bytes = options.bytes;
  hello.parts = options.parts;
  snprintf(hello.name, sizeof hello.name, "%s", options.name.c_str());
  return hello;
}

// A stream of this borrower, and what the lender lends.
Result<os::Fd> open_stream(const os::HostPort& at, const Hello& hello, uint64_t dead_s, uint64_t* bytes) {
  Result<os::Fd> socket = os::connect_to(at, kPatience, dead_s);
  if (!socket.ok())
    return Status::error(socket.status().err(), "cannot reach a lender: " + socket.status().message() +
                                                    " (does `tasuki lend` run there?)");
  const int fd = socket.value().get();
  const uint64_t patience = dead_s != 0 ? std::max(dead_s, kPatience) : kForever;
  Welcome welcome = {};
  Status status = os::send_all(fd, &hello, sizeof hello, kPatience);
  // While it takes memory from its system, which may last, it says so again and again.
  do {
    if (status.ok()) status = os::receive_all(fd, &welcome, sizeof welcome, patience);
  } while (status.ok() && welcome.magic == kMagic && welcome.error == EINPROGRESS);
  if (!status.ok()) return Status::error(status.err(), "lender " + at.text() + ": " + status.message());
  if (welcome.magic != kMagic)
    return Status::error(EPROTO, at.text() + " is no lender of Tasuki, or one of another byte order");
  welcome.text[sizeof welcome.text - 1] = 0;
  if (welcome.error != 0)
    return Status::error(welcome.error, "lender " + at.text() + " refuses: " + welcome.text);
  *bytes = welcome.bytes;
  return socket;
}

}  // namespace

Result<std::unique_ptr<SocketCourier>> SocketCourier::connect(const std::vector<os::HostPort>& lenders,
                                                              const Options& options,
                                                              std::vector<uint64_t>* bytes) {
  std::vector<std::string> names;
  for (const os::HostPort& at : lenders) names.push_back(at.text());
  Result<os::Poller> poller = os::Poller::open();
  if (!poller.ok()) return poller.status();
  std::unique_ptr<SocketCourier> courier(
      new SocketCourier(std::move(names), options, std::move(poller.value())));
  bytes->resize(lenders.size());
  for (uint32_t i = 0; i < lenders.size(); i++)
    if (const Status joined = courier->join(i, lenders[i], &(*bytes)[i]); !joined.ok()) return joined;
  return courier;
}

SocketCourier::SocketCourier(std::vector<std::string> names, const Options& options, os::Poller poller)
    : Courier(std::move(names), options.keeps_on),
      unit_(options.unit_bytes),
      timeout_s_(options.timeout_s),
      timeout_ns_(static_cast<int64_t>(options.timeout_s) * 1'000'000'000),
      keep_(options.keep),
      poller_(std::move(poller)) {
  std::random_device random;
  hello_ = hello_of(options, uint64_t{random()} << 32 | random());
}

Status SocketCourier::join(uint32_t server, const os::HostPort& at, uint64_t* bytes) {
  lenders_.emplace_back();
  for (const lend::Stream stream : {lend::Stream::gets, lend::Stream::puts}) {
    hello_.stream = stream;
    Result<os::Fd> opened = open_stream(at, hello_, timeout_s_, bytes);
    if (!opened.ok()) return opened.status();
    const uint64_t id = 2 * uint64_t{server} + static_cast<uint64_t>(stream);
    Stream& mine = lenders_[server].streams[static_cast<int>(stream)];
    mine.socket = std::move(opened.value());
    if (const Status added = poller_.add(mine.socket.get(), id); !added.ok()) return added;
  }
  return {};
}

Status SocketCourier::get(uint32_t server, uint64_t slot, uint32_t units, std::byte* to, uint64_t token) {
  return start(server, lend::Stream::gets, {token, {Op::get, units, slot}, to, time_.now()}, nullptr, 0);
}

Status SocketCourier::put(uint32_t server, uint64_t slot, uint32_t units, const std::byte* from,
                          uint64_t token) {
  return start(server, lend::Stream::puts, {token, {Op::put, units, slot}, nullptr, time_.now()}, from,
               units * unit_);
}

Status SocketCourier::start(uint32_t server, lend::Stream stream, const Transfer& transfer,
                            const std::byte* data, size_t bytes) {
  if (!alive(server)) {
    lost_.push_back(transfer.token);
    return {};
  }
  Stream& mine = lenders_[server].streams[static_cast<int>(stream)];
  mine.transfers.push_back(transfer);
  mine.out.add(transfer.request, data, bytes);
  moving_++;
  return mine.out.size() > 1 ? Status() : flush(server, static_cast<int>(stream));
}

// Sends what waits, as far as it goes at once.
Status SocketCourier::flush(uint32_t server, int stream) {
  Stream& s = lenders_[server].streams[stream];
  size_t all = SIZE_MAX;
  if (const int failed = s.out.send(s.socket.get(), &all); failed != 0)
    return failure(server, Status::error(failed, std::string(": ") + strerror(failed)));
  if (s.awaits_writable != !s.out.empty()) {
    s.awaits_writable = !s.out.empty();
    poller_.await(s.socket.get(), 2 * uint64_t{server} + static_cast<uint64_t>(stream), true,
                  s.awaits_writable);
  }
  return {};
}

// Takes what has come.
Status SocketCourier::drain(uint32_t server, int stream) {
  Stream& s = lenders_[server].streams[stream];
  for (;;) {
    const Transfer* const t = s.transfers.empty() ? nullptr : &s.transfers.front();
    const size_t data = t != nullptr && t->to != nullptr ? t->request.units * unit_ : 0;
    const size_t head = std::min(s.received, sizeof s.answer), body = s.received - head;
    iovec parts[2];
    int count = 0;
    if (head < sizeof s.answer)
      parts[count++] = {reinterpret_cast<char*>(&s.answer) + head, sizeof s.answer - head};
    if (body < data) parts[count++] = {t->to + body, data - body};
    int failed = 0;
    const size_t n = os::receive_now(s.socket.get(), parts, count, &failed);
    if (failed != 0) {
      const std::string why =
          failed == ECONNRESET ? " has ended, or its connection has" : std::string(": ") + strerror(failed);
      if (t != nullptr) return failure(server, Status::error(failed, why));
      lose(server, why);  // perhaps nothing was there
      return {};
    }
    if (n == 0) return {};
    s.received += n;
    if (s.received >= sizeof s.answer) {
      const Answer& a = s.answer;
      if (a.check == kLeaves && stream == static_cast<int>(lend::Stream::puts)) {
        wants_to_leave(server);
        s.received = 0;
        continue;
      }
      if (t == nullptr || a.slot != t->request.slot || a.units != t->request.units ||
          a.check != static_cast<uint32_t>(kMagic))
        return failure(server, Status::error(EPROTO, " answers what was not asked"));
    }
    if (s.received < sizeof s.answer + data) continue;
    done_.push_back(t->token);
    moving_--;
    s.received = 0;
    s.transfers.pop_front();
  }
}

Status SocketCourier::progress(std::vector<uint64_t>* completed, std::vector<uint64_t>* lost) {
  events_.clear();
  poller_.wait(0, &events_);
  Status status;
  for (const os::Poller::Event& event : events_) {
    const auto server = static_cast<uint32_t>(event.id / 2);
    const int stream = static_cast<int>(event.id % 2);
    if (status.ok() && event.writable && alive(server)) status = flush(server, stream);
    if (status.ok() && event.readable && alive(server)) status = drain(server, stream);
  }
  // A sleep of the pager's thread is one of these calls, and RunningTime must see each of them.
  if (status.ok() && (events_.empty() || ++polls_ % 64 == 0)) status = check_time();
  completed->insert(completed->end(), done_.begin(), done_.end());
  lost->insert(lost->end(), lost_.begin(), lost_.end());
  done_.clear();
  lost_.clear();
  return status;
}

// A lender that is stopped confirms what it gets, as far as its kernel is concerned.
Status SocketCourier::check_time() {
  if (timeout_ns_ == 0 || moving_ == 0) return {};
  const int64_t now = time_.now();
  for (uint32_t server = 0; server < lenders_.size(); server++)
    for (const Stream& s : lenders_[server].streams) {
      if (s.transfers.empty() || now - s.transfers.front().begin_ns <= timeout_ns_) continue;
      const Status status =
          failure(server, Status::error(ETIMEDOUT, " has not answered for " +
                                                       std::to_string(timeout_ns_ / 1'000'000'000) +
                                                       " s: it is stopped, or --timeout is too short"));
      if (!status.ok()) return status;
      break;
    }
  return {};
}

// A stream of a forked child, which is its own: those of its parent it has as well, so that the memory stays,
// but there two would speak at a time.
bool SocketCourier::open_aside(Lender* lender) const {
  lender->aside = os::connect_again(lender->streams[0].socket.get(), kPatience, timeout_s_);
  if (!lender->aside.valid()) return false;
  lender->aside_of = os::pid_of_self();
  const int fd = lender->aside.get();
  if (keep_ != nullptr) keep_(fd);
  Hello hello = hello_;
  hello.stream = lend::Stream::aside;
  Welcome welcome = {};
  return os::send_all(fd, &hello, sizeof hello, kPatience).ok() &&
         os::receive_all(fd, &welcome, sizeof welcome, kPatience).ok() && welcome.magic == kMagic &&
         welcome.error == 0;
}

bool SocketCourier::ask_aside(int socket, const Request& request, std::byte* to, size_t bytes) {
  Answer answer = {};
  return os::send_all(socket, &request, sizeof request, kPatience).ok() &&
         os::receive_all(socket, &answer, sizeof answer, kPatience).ok() && answer.slot == request.slot &&
         answer.units == request.units && os::receive_all(socket, to, bytes, kPatience).ok();
}

bool SocketCourier::read_aside(uint32_t server, uint64_t slot, uint32_t units, std::byte* to) {
  Lender& lender = lenders_[server];
  if (lender.aside_of != os::pid_of_self() && !open_aside(&lender)) return false;
  return ask_aside(lender.aside.get(), {Op::get, units, slot}, to, units * unit_);
}

int SocketCourier::longest_rest_ms() {
  if (timeout_ns_ > 0 && moving_ > 0) return kLookMilliseconds;
  return kIdleMilliseconds;
}

void SocketCourier::give_up(uint32_t server) {
  for (Stream& s : lenders_[server].streams) {
    for (const Transfer& t : s.transfers) lost_.push_back(t.token);
    moving_ -= s.transfers.size();
    s.transfers.clear();
    s.out.clear();
    if (s.socket.valid()) poller_.remove(s.socket.get());
    s.socket.reset();
  }
}

// Nothing that is under way is needed any more.
void SocketCourier::finish() {
  keep_on();
  for (uint32_t server = 0; server < servers(); server++)
    if (alive(server)) give_up(server);
  done_.clear();
  lost_.clear();
}

// A lender hears of the end of its borrower by the end of the streams.
void SocketCourier::goodbye(int, bool) {
  finish();
}

}  // namespace tasuki::cluster::lend
