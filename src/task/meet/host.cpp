#include "task/meet/host.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "base/log.h"
#include "os/clock.h"
#include "os/memory/mapping.h"
#include "os/process/environment.h"
#include "os/process/process.h"
#include "task/examine/preload.h"
#include "task/meet/protocol.h"
#include "task/segment.h"
#include "task/start/start.h"
#include "task/start/turns.h"

namespace tasuki::task {
namespace {

constexpr int kReplyTimeoutSeconds = 30;  // a proxy that does not send its request in this time is left out
// What tells a task its number where no launcher does.
constexpr const char* kRankVariable = "TASUKI_RANK";
constexpr const char* kSizeVariable = "TASUKI_SIZE";
constexpr int kGraceMs = 2000;  // between SIGTERM and SIGKILL when a task's death ends the others

struct Member {
  os::Fd connection;  // to its proxy; invalid without one
  int local_rank = 0;
  os::CpuSet cores = {};
  TaskSlot* slot = nullptr;  // none of a plain process
  pid_t pid = 0;             // 0: not running
};

void send_text(int socket, Say say, const std::string& text) {
  Message m = make_message(say);
  strncpy(m.text, text.c_str(), sizeof m.text - 1);
  (void)os::send_message(socket, &m, sizeof m);
}

// False at the end of the connection or after nonsense.
template <typename T>
bool receive(int socket, T* m) {
  Result<size_t> n = os::receive_message(socket, m, sizeof *m);
  return n.ok() && n.value() == sizeof *m && m->version == kProtocolVersion;
}

// The process has nothing of the rank that forked it but its user, namespaces and limits.
void leave_everything(const os::Fd& listener, const os::Fd& starter) {
  setpgid(0, 0);
  prctl(PR_SET_NAME, "tasuki-host");
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; fd++) dup2(null, fd);
  os::close_all_but({0, 1, 2, listener.get(), starter.get()});
  if (chdir("/") != 0) return;
}

// Programs of one job are few; the dynamic linker is asked once for each.
class AbiCache {
 public:
  MpiAbi of(const TaskRequest& r) {
    if (names_of(r.abi) != nullptr) return r.abi;
    const auto key = std::make_tuple(r.canonical, r.abi, r.launcher_abi);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    return known_[key] = decide_abi(r.abi, r.launcher_abi, r.loader, r.canonical, r.environment);
  }

 private:
  std::map<std::tuple<std::string, MpiAbi, MpiAbi>, MpiAbi> known_;
};

// Processes that another MPI's launcher has started find nobody; as without Tasuki each runs alone. Empty: it
// is theirs, or nobody can tell.
std::string wrong_launcher(const TaskRequest& r, MpiAbi abi) {
  const auto name = [](MpiAbi of) -> std::string {
    return of == MpiAbi::openmpi ? "Open MPI" : of == MpiAbi::mpich ? "MPICH" : "";
  };
  const std::string own = name(abi), launcher = name(r.launcher_abi);
  if (own.empty() || launcher.empty() || own == launcher) return "";
  return r.path + " is linked with " + own + " and was started by the launcher of " + launcher +
         ": each of its processes will be alone in its MPI_COMM_WORLD; start it with " + own + "'s mpirun";
}

// To a rank that stays away: whether it is the first with its reason; and the segment of such ranks, if it
// can share one.
void answer_absent(int socket, bool first, bool shares, int local_size, os::Fd* segment) {
  if (shares && local_size > 1 && !segment->valid())
    if (Result<os::Fd> made = make_segment(static_cast<uint32_t>(local_size)); made.ok())
      *segment = std::move(made.value());
  const Message answer = make_message(Say::absent, first ? 1 : 0);
  const int fd = segment->get();
  (void)os::send_message(socket, &answer, sizeof answer, &fd, shares && segment->valid() ? 1 : 0);
}

// Collects the ranks of the job: until all have come, have said that they stay away, the time is over, or the
// launcher has ended, which starts no more.
std::vector<Member> gather(const os::Fd& listener, const os::Fd& starter, int local_size, int timeout_ms) {
  const os::Deadline deadline(timeout_ms);
  const std::string home = os::namespaces_of_self();
  std::vector<Member> members;
  std::vector<os::Fd> silent;  // connected, no hello yet
  std::set<uint64_t> reasons;  // of those that stay away
  os::Fd segment;              // for these
  int away = 0;
  while (static_cast<int>(members.size()) + away < local_size) {
    if (deadline.over()) break;
    std::vector<pollfd> polled{{listener.get(), POLLIN, 0}, {starter.get(), POLLIN, 0}};
    const size_t first_silent = polled.size();
    for (const os::Fd& fd : silent) polled.push_back({fd.get(), POLLIN, 0});
    for (const Member& m : members) polled.push_back({m.connection.get(), POLLIN, 0});
    if (poll(polled.data(), polled.size(), deadline.left_ms()) < 0) continue;

    // A member that speaks or hangs up before it is asked has died.
    const size_t first_member = first_silent + silent.size();
    for (size_t i = members.size(); i-- > 0;) {
      if (polled[first_member + i].revents == 0) continue;
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(i));
      away++;
    }
    for (size_t i = silent.size(); i-- > 0;) {
      if (polled[first_silent + i].revents == 0) continue;
      Hello hello{};
      os::Fd fd = std::move(silent[i]);
      silent.erase(silent.begin() + static_cast<std::ptrdiff_t>(i));
      if (!receive(fd.get(), &hello) || hello.say != Say::hello) {
        if (hello.say == Say::absent)
          answer_absent(fd.get(), reasons.insert(hello.reason).second, home == hello.namespaces, local_size,
                        &segment);
        away++;
      } else if (home != hello.namespaces) {
        send_text(fd.get(), Say::refused, "lives in other namespaces than the first rank of this node");
        away++;
      } else {
        Member member;
        member.connection = std::move(fd);
        member.local_rank = hello.local_rank;
        member.cores = hello.cores;
        members.push_back(std::move(member));
      }
    }
    if (polled[1].revents != 0) break;
    if (polled[0].revents != 0) {
      Result<os::Fd> fd = os::accept_connection(listener.get(), 0);
      if (!fd.ok()) continue;
      Result<os::Peer> peer = os::peer_of(fd.value().get());
      // Anybody may connect to a name; only the same user is heard.
      if (peer.ok() && peer.value().uid == geteuid()) silent.push_back(std::move(fd.value()));
    }
  }
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.local_rank < b.local_rank; });
  return members;
}

class Host {
 public:
  explicit Host(const HostOptions& options) : options_(options) {}

  bool open_signals() {
    os::block_all_signals();
    os::raise_descriptor_limit();
    signals_.reset(os::signal_descriptor());
    return signals_.valid();
  }

  void start_job(std::vector<Member> members, uint32_t job_task_count, uint32_t node_tasks);
  Status start_here(TaskRequest* request, int count);
  Status start_plain_here(const std::string& name, int count, const std::function<void()>& execute);

  // Until no task is left. `starter` as in host_job. The result is the status to end with when there are no
  // proxies.
  int supervise(os::Fd starter);

 private:
  void start_member(Member* member);
  void announce_tasks();
  void on_signals();
  void reap();
  void on_ended(Member* member, int status);
  void on_proxy(Member* member);
  void kill_group(const Member& member) {
    kill(-member.pid, SIGKILL);
    kill(member.pid, SIGKILL);
  }
  bool any_left() const {
    return std::any_of(members_.begin(), members_.end(), [](const Member& m) { return m.pid != 0; });
  }
  void relay_to_all(const os::Signal& signal);
  void end_the_others();
  static void signal_proxy(const Member& m, int signal);

  HostOptions options_;
  os::Fd signals_;
  std::vector<Member> members_;
  AbiCache abis_;
  uint32_t node_tasks_ = 0;
  bool here_ = false;  // no proxies: this is the command that the user started
  std::string name_;   // of its program
  int result_ = 0;
  bool killed_ = false;    // a task, by a signal
  bool orphaned_ = false;  // the launcher has ended
  bool ending_ = false;    // a task died; the others have until deadline_
  os::Deadline deadline_{0};
};

void Host::start_member(Member* member) {
  const int socket = member->connection.get();
  const timeval timeout = {kReplyTimeoutSeconds, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  Message ask = make_message(Say::send_request);
  if (!os::send_message(socket, &ask, sizeof ask).ok()) return member->connection.reset();
  Result<TaskRequest> request = receive_request(socket);
  if (!request.ok()) {
    send_text(socket, Say::refused, request.status().message());
    return member->connection.reset();
  }
  StartOptions start;
  start.library_dir = options_.library_dir;
  start.own_group = true;
  start.layout_seed = options_.layout_seed;
  start.node_tasks = node_tasks_;
  start.abi = abis_.of(request.value());
  std::string notice;
  if (Status s = start_task(member->slot, request.value(), start, &notice); !s.ok()) {
    send_text(socket, Say::refused, s.message());
    return member->connection.reset();
  }
  if (notice.empty() && members_.size() > 1) notice = wrong_launcher(request.value(), start.abi);
  if (!notice.empty() && member->slot->index == 0) send_text(socket, Say::notice, notice);
  member->pid = member->slot->pid.load();
  Message started = make_message(Say::started, member->pid);
  started.signal.sender = getpid();
  if (!os::send_message(socket, &started, sizeof started).ok()) kill_group(*member);
}

void Host::start_job(std::vector<Member> members, uint32_t job_task_count, uint32_t node_tasks) {
  node_tasks_ = node_tasks;
  members_ = std::move(members);
  Result<Space*> space =
      create_space(static_cast<uint32_t>(members_.size()), job_task_count, options_.guarded);
  if (!space.ok()) {
    for (Member& m : members_) send_text(m.connection.get(), Say::refused, space.status().message());
    members_.clear();
    return;
  }
  os::CpuSet cores = {};
  for (const Member& m : members_) cores.add_all(m.cores);
  space.value()->core_count = static_cast<uint32_t>(os::count_cores(cores));
  os::use_cores(cores);
  for (size_t i = 0; i < members_.size(); i++) {
    members_[i].slot = &space.value()->tasks()[i];
    start_member(&members_[i]);
  }
  announce_tasks();
  open_gate(space.value());
}

void Host::announce_tasks() {
  auto list = std::make_unique<TaskList>();
  list->session = getsid(0);
  for (const Member& m : members_)
    if (m.pid != 0 && list->count < TaskList::kMax) list->pids[list->count++] = m.pid;
  if (list->count > 0) list->latest = os::start_time_of(list->pids[list->count - 1]);
  const size_t length = offsetof(TaskList, pids) + list->count * sizeof list->pids[0];
  const Message head = make_message(Say::tasks);
  for (const Member& m : members_) {
    if (m.pid == 0 || !m.connection.valid()) continue;
    if (os::send_message(m.connection.get(), &head, sizeof head).ok())
      (void)os::send_message(m.connection.get(), list.get(), length);
  }
}

Status Host::start_here(TaskRequest* request, int count) {
  here_ = true;
  name_ = request->path;
  Result<Space*> space =
      create_space(static_cast<uint32_t>(count), static_cast<uint32_t>(count), options_.guarded);
  if (!space.ok()) return space.status();
  os::CpuSet cores;
  space.value()->core_count = static_cast<uint32_t>(os::current_cpu_set(&cores));
  StartOptions start;
  start.library_dir = options_.library_dir;
  start.layout_seed = options_.layout_seed;
  start.abi = abis_.of(*request);
  os::set_variable(&request->environment, kSizeVariable, std::to_string(count));
  for (int i = 0; i < count; i++) {
    request->launcher_rank = i;
    os::set_variable(&request->environment, kRankVariable, std::to_string(i));
    for (size_t f = 0; i == 1 && f < request->fds.size(); f++)
      if (request->fd_numbers[f] == 0) request->fds[f].reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
    Member m;
    m.local_rank = i;
    m.slot = &space.value()->tasks()[i];
    std::string notice;
    if (Status s = start_task(m.slot, *request, start, &notice); !s.ok()) {
      for (const Member& running : members_) kill(running.pid, SIGKILL);
      return s;
    }
    if (!notice.empty() && i == 0) log(LogLevel::warning, "%s", notice.c_str());
    m.pid = m.slot->pid.load();
    members_.push_back(std::move(m));
  }
  open_gate(space.value());
  return {};
}

Status Host::start_plain_here(const std::string& name, int count, const std::function<void()>& execute) {
  here_ = true;
  name_ = name;
  os::Inherited inherited;
  os::capture_inherited(&inherited);
  if (!open_signals()) return Status::error(errno, "cannot make a signal descriptor (signalfd)");
  const pid_t self = getpid();
  for (int i = 0; i < count; i++) {
    const pid_t pid = fork();
    if (pid < 0) {
      const int err = errno;
      for (const Member& running : members_) kill(running.pid, SIGKILL);
      return Status::error(err, std::string("fork: ") + strerror(err));
    }
    if (pid == 0) {
      if (!os::die_with_parent(self)) _exit(128 + SIGKILL);
      if (i > 0)
        if (const int null = open("/dev/null", O_RDONLY | O_CLOEXEC); null > 0) dup2(null, 0);
      setenv(kRankVariable, std::to_string(i).c_str(), 1);
      setenv(kSizeVariable, std::to_string(count).c_str(), 1);
      os::apply_inherited(inherited);
      execute();
      _exit(127);
    }
    Member m;
    m.local_rank = i;
    m.pid = pid;
    members_.push_back(std::move(m));
  }
  return {};
}

void Host::relay_to_all(const os::Signal& signal) {
  for (const Member& m : members_)
    if (m.pid != 0) os::forward_signal(m.pid, signal);
}

void Host::on_signals() {
  os::Signal signal;
  while (os::next_signal(signals_.get(), &signal)) {
    if (signal.number == SIGCHLD) {
      reap();
      continue;
    }
    // With proxies, signals for the tasks come through them; without, the terminal has signalled the tasks
    // itself, which are in this process group.
    if (!here_) continue;
    if (signal.code != SI_KERNEL) relay_to_all(signal);
    if (signal.number == SIGTSTP || signal.number == SIGTTIN || signal.number == SIGTTOU) raise(SIGSTOP);
  }
}

// The launcher sees its process stop and go on as the task does, whoever has stopped and continued that.
void Host::signal_proxy(const Member& m, int signal) {
  if (!m.connection.valid()) return;
  const Result<os::Peer> proxy = os::peer_of(m.connection.get());
  if (proxy.ok()) kill(proxy.value().pid, signal);
}

void Host::reap() {
  for (;;) {
    // A task that was killed leaves no children: a launcher kills them with the group of the rank, but knows
    // only the proxy's. The group is killed while the dead task still holds its number.
    siginfo_t info = {};
    const int kinds = WEXITED | WSTOPPED | WCONTINUED | WNOHANG;
    if (waitid(P_ALL, 0, &info, kinds | WNOWAIT) != 0 || info.si_pid == 0) return;
    if (!here_ && (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)) kill(-info.si_pid, SIGKILL);
    int status = 0;
    const pid_t pid = waitpid(info.si_pid, &status, WNOHANG | WUNTRACED | WCONTINUED);
    if (pid <= 0) return;
    for (Member& m : members_) {
      if (m.pid != pid) continue;
      if (WIFSTOPPED(status))
        signal_proxy(m, SIGSTOP);
      else if (WIFCONTINUED(status))
        signal_proxy(m, SIGCONT);
      else
        on_ended(&m, status);
      break;
    }
  }
}

void Host::on_ended(Member* m, int status) {
  m->pid = 0;
  if (m->slot != nullptr) {
    m->slot->wait_status = status;
    m->slot->state.store(TaskState::ended);
    if (m->slot->key != 0) give_turn(m->slot->space, m->slot->index);
  }
  if (m->connection.valid()) {
    Message ended = make_message(Say::ended, status);
    (void)os::send_message(m->connection.get(), &ended, sizeof ended);
    m->connection.reset();
  }
  if (status != 0 && result_ == 0) result_ = status;
  if (WIFSIGNALED(status)) {
    killed_ = true;
    if (here_ && !ending_ && any_left())
      log(LogLevel::warning, "task %d (%s) was killed by signal %d (%s): ending the others", m->local_rank,
          name_.c_str(), WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  end_the_others();
}

// After a task that was killed. Where there is a launcher, it does it itself as long as it is there: one that
// is gone together with some of its ranks, killed or ended by MPI_Abort, would leave the rest waiting.
void Host::end_the_others() {
  const bool failed = here_ ? killed_ : orphaned_ && result_ != 0;
  if (!failed || ending_ || !any_left()) return;
  ending_ = true;
  deadline_ = os::Deadline(kGraceMs);
  relay_to_all({SIGTERM, SI_USER, getpid(), 0});
}

// A proxy that says nothing more is dead, and its task with it.
void Host::on_proxy(Member* m) {
  Message message;
  if (!receive(m->connection.get(), &message)) {
    m->connection.reset();
    if (m->pid != 0) kill_group(*m);
    return;
  }
  if (message.say == Say::signal && m->pid != 0) os::forward_signal(m->pid, message.signal);
}

int Host::supervise(os::Fd starter) {
  while (any_left()) {
    std::vector<pollfd> polled{{signals_.get(), POLLIN, 0}, {starter.get(), POLLIN, 0}};
    const size_t first_member = polled.size();
    std::vector<Member*> by_index;
    for (Member& m : members_) {
      if (!m.connection.valid()) continue;
      polled.push_back({m.connection.get(), POLLIN, 0});
      by_index.push_back(&m);
    }
    const int timeout = ending_ ? deadline_.left_ms() : -1;
    const int ready = poll(polled.data(), polled.size(), timeout);
    if (ready < 0) continue;
    if (ready == 0 && ending_) {
      for (const Member& m : members_)
        if (m.pid != 0) kill(m.pid, SIGKILL);
      ending_ = false;
    }
    if (polled[0].revents != 0) on_signals();
    if (polled[1].revents != 0) {
      starter.reset();
      orphaned_ = true;
      end_the_others();
    }
    for (size_t i = 0; i < by_index.size(); i++)
      if (polled[first_member + i].revents != 0 && by_index[i]->connection.valid()) on_proxy(by_index[i]);
  }
  return result_;
}

size_t tasks_per_space(size_t mappings_per_task) {
  const size_t limit = os::mapping_limit();
  const size_t usable = limit > kSpareMappings ? limit - kSpareMappings : 0;
  return std::max<size_t>(usable / mappings_per_task, 1);
}

// The kernel limits the mappings of one address space (vm.max_map_count). When the ranks of the node need
// more, they get several spaces, one host each: this process goes on as one of the hosts, with the members of
// its space. The ranks of a node are dealt out in equal blocks.
std::vector<Member> deal_out(std::vector<Member> members, const HostOptions& options) {
  const size_t each =
      options.mappings_per_task != 0 ? options.mappings_per_task : expected_mappings(members.size());
  const size_t capacity = tasks_per_space(each);
  const size_t spaces = (members.size() + capacity - 1) / capacity;
  if (spaces <= 1) return members;
  char text[320];
  snprintf(text, sizeof text,
           "%zu ranks of this node share %zu address spaces (the MPI library carries messages between them): "
           "the kernel "
           "allows %zu mappings per address space; to have one, sysctl -w vm.max_map_count=%zu",
           members.size(), spaces, os::mapping_limit(), members.size() * each + kSpareMappings);
  send_text(members[0].connection.get(), Say::notice, text);
  for (size_t s = 0; s < spaces; s++) {
    // The last block is this process's own.
    if (s + 1 < spaces && os::fork_detached() != 0) continue;
    const auto at = [&](size_t i) {
      return members.begin() + static_cast<std::ptrdiff_t>(members.size() * i / spaces);
    };
    std::vector<Member> mine(std::make_move_iterator(at(s)), std::make_move_iterator(at(s + 1)));
    return mine;  // the other connections close here: their hosts have them
  }
  return {};
}

}  // namespace

void host_job(os::Fd listener, os::Fd starter, int local_size, const HostOptions& options) {
  leave_everything(listener, starter);
  Host host(options);
  std::vector<Member> members = gather(listener, starter, local_size, options.join_timeout_ms);
  listener.reset();  // a rank that comes later founds a space of its own
  if (members.empty()) return;
  const auto node_tasks = static_cast<uint32_t>(members.size());
  members = deal_out(std::move(members), options);
  if (!host.open_signals()) return;  // a descriptor of the process that goes on, not of its parent
  host.start_job(std::move(members), static_cast<uint32_t>(local_size), node_tasks);
  host.supervise(std::move(starter));
}

// Without a launcher there is one space, so that the tasks of a test share whatever the estimate for MPI
// ranks says; what cannot fit at all is said before the first task starts.
constexpr size_t kSmallestTask = 24;  // mappings of a program with libc only

Result<int> host_here(TaskRequest request, int count, const HostOptions& options) {
  const size_t needed = static_cast<size_t>(count) * kSmallestTask + kSpareMappings;
  if (needed > os::mapping_limit())
    return Status::error(ENOMEM, std::to_string(count) + " tasks need at least " + std::to_string(needed) +
                                     " mappings in one address space, and the kernel allows " +
                                     std::to_string(os::mapping_limit()) +
                                     " (sysctl -w vm.max_map_count=" + std::to_string(needed) + ")");
  Host host(options);
  if (!host.open_signals()) return Status::error(errno, "cannot make a signal descriptor (signalfd)");
  Status status = host.start_here(&request, count);
  request.close_descriptors();
  if (!status.ok()) return status;
  return host.supervise({});
}

Result<int> plain_here(const std::string& name, int count, const std::function<void()>& execute) {
  Host host({});
  if (Status s = host.start_plain_here(name, count, execute); !s.ok()) return s;
  return host.supervise({});
}

}  // namespace tasuki::task
