#include "task/start/request.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "task/examine/python.h"

namespace tasuki::task {
namespace {

// Both ends are the same program on the same machine; the bytes need no portable form, only bounds.
constexpr size_t kChunk = 64 * 1024;
constexpr uint64_t kMaxRequest = 64 << 20;  // the kernel allows exec's arguments 6 MiB

class Writer {
 public:
  template <typename T>
  void plain(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(const std::string& s) {
    plain(static_cast<uint64_t>(s.size()));
    bytes_ += s;
  }
  void list(const std::vector<std::string>& all) {
    plain(static_cast<uint64_t>(all.size()));
    for (const std::string& s : all) text(s);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  template <typename T>
  void plain(T* value) {
    if (bytes_.size() - at_ < sizeof *value) return fail();
    memcpy(value, bytes_.data() + at_, sizeof *value);
    at_ += sizeof *value;
  }
  void text(std::string* s) {
    uint64_t n = 0;
    plain(&n);
    if (bytes_.size() - at_ < n) return fail();
    s->assign(bytes_, at_, n);
    at_ += n;
  }
  void list(std::vector<std::string>* all) {
    uint64_t n = 0;
    plain(&n);
    for (uint64_t i = 0; i < n && ok_; i++) text(&all->emplace_back());
  }
  bool ok() const { return ok_ && at_ == bytes_.size(); }

 private:
  void fail() {
    ok_ = false;
    at_ = bytes_.size();
  }
  const std::string& bytes_;
  size_t at_ = 0;
  bool ok_ = true;
};

struct Announcement {
  uint64_t bytes;
  uint64_t fd_count;  // the working directory first, if there is one
  uint64_t has_cwd;
};

}  // namespace

Result<TaskRequest> capture_request(const Program& program, const Job& job, char** environment) {
  TaskRequest r;
  r.path = program.path;
  r.canonical = program.canonical;
  r.loader = program.loader;
  r.loaded = program.canonical;
  r.argv = program.argv;
  if (!program.library.empty()) {
    r.loaded = python_main();
    r.argv.insert(r.argv.begin(), {r.argv[0], program.library});
  }
  for (char** e = environment; *e != nullptr; e++) r.environment.emplace_back(*e);
  r.abi = mpi_abi_of(program.image.needed);
  r.launcher_abi = job.abi;
  r.launcher_rank = job.world_rank;
  os::capture_inherited(&r.inherited);
  os::raise_descriptor_limit();  // for the copies; the task gets back what was captured
  r.cwd.reset(open(".", O_PATH | O_CLOEXEC | O_DIRECTORY));
  r.fd_numbers = os::open_descriptors(/*without_close_on_exec=*/true);
  // They are moved behind the last of them on their way to their numbers.
  const size_t needed =
      r.fd_numbers.empty() ? 0 : static_cast<size_t>(r.fd_numbers.back()) + 2 + r.fd_numbers.size();
  if (needed > r.inherited.limits[RLIMIT_NOFILE].hard)
    return Status::error(EMFILE, "has descriptors up to " + std::to_string(r.fd_numbers.back()) +
                                     ", too near to the limit (ulimit -Hn) to be passed on");
  for (const int fd : r.fd_numbers) {
    r.fds.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!r.fds.back().valid()) {
      const int err = errno;
      return Status::error(err, std::string("cannot duplicate a descriptor: ") + strerror(err));
    }
  }
  return r;
}

Status send_request(int socket, const TaskRequest& r) {
  Writer w;
  w.text(r.path);
  w.text(r.canonical);
  w.text(r.loader);
  w.text(r.loaded);
  w.list(r.argv);
  w.list(r.environment);
  w.plain(r.abi);
  w.plain(r.launcher_abi);
  w.plain(r.launcher_rank);
  w.plain(r.inherited);
  for (const int number : r.fd_numbers) w.plain(number);

  std::vector<int> fds;
  if (r.cwd.valid()) fds.push_back(r.cwd.get());
  for (const os::Fd& fd : r.fds) fds.push_back(fd.get());
  const Announcement a{w.bytes().size(), fds.size(), r.cwd.valid() ? 1u : 0u};
  if (Status s = os::send_message(socket, &a, sizeof a); !s.ok()) return s;
  for (size_t at = 0; at < w.bytes().size(); at += kChunk)
    if (Status s = os::send_message(socket, w.bytes().data() + at, std::min(kChunk, w.bytes().size() - at));
        !s.ok())
      return s;
  for (size_t at = 0; at < fds.size(); at += os::kMaxPassed) {
    const size_t n = std::min(os::kMaxPassed, fds.size() - at);
    if (Status s = os::send_message(socket, "f", 1, fds.data() + at, n); !s.ok()) return s;
  }
  return {};
}

Result<TaskRequest> receive_request(int socket) {
  const auto broken = [] { return Status::error(EPROTO, "incomplete request"); };
  Announcement a;
  if (Result<size_t> n = os::receive_message(socket, &a, sizeof a); !n.ok() || n.value() != sizeof a)
    return n.ok() ? broken() : n.status();
  if (a.bytes > kMaxRequest) return broken();
  std::string bytes(a.bytes, '\0');
  for (size_t at = 0; at < bytes.size();) {
    Result<size_t> n = os::receive_message(socket, bytes.data() + at, std::min(kChunk, bytes.size() - at));
    if (!n.ok()) return n.status();
    if (n.value() == 0) return broken();
    at += n.value();
  }
  std::vector<os::Fd> fds;
  while (fds.size() < a.fd_count) {
    char c;
    Result<size_t> n = os::receive_message(socket, &c, 1, &fds);
    if (!n.ok()) return n.status();
    if (n.value() == 0) return broken();
  }

  TaskRequest r;
  Reader in(bytes);
  in.text(&r.path);
  in.text(&r.canonical);
  in.text(&r.loader);
  in.text(&r.loaded);
  in.list(&r.argv);
  in.list(&r.environment);
  in.plain(&r.abi);
  in.plain(&r.launcher_abi);
  in.plain(&r.launcher_rank);
  in.plain(&r.inherited);
  size_t first = 0;
  if (a.has_cwd != 0 && !fds.empty()) r.cwd = std::move(fds[first++]);
  for (size_t i = first; i < fds.size(); i++) {
    in.plain(&r.fd_numbers.emplace_back());
    r.fds.push_back(std::move(fds[i]));
  }
  if (!in.ok()) return broken();
  return r;
}

}  // namespace tasuki::task
