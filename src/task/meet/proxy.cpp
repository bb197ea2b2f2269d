#include "task/meet/proxy.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "base/log.h"
#include "os/clock.h"
#include "os/process/environment.h"
#include "os/process/process.h"
#include "task/meet/protocol.h"

namespace tasuki::task {
namespace {

// Connects to the host of this job's ranks on this node; the first one to come founds it.
Result<os::Fd> join(const Job& job, const HostOptions& options) {
  const std::string name = meeting_point(job);
  const os::Deadline deadline(options.join_timeout_ms);
  for (;;) {
    Result<os::Fd> listener = os::listen_abstract(name);
    if (listener.ok()) {
      os::Fd starter(os::process_descriptor(starter_of_ranks(job)));
      const pid_t pid = os::fork_detached();
      if (pid < 0) return Status::error(errno, std::string("fork: ") + strerror(errno));
      if (pid == 0) {
        host_job(std::move(listener.value()), std::move(starter), job.local_size, options);
        _exit(0);
      }
    } else if (listener.status().err() != EADDRINUSE) {
      return listener.status();
    }
    Result<os::Fd> connection = os::connect_abstract(name);
    if (connection.ok()) {
      Result<os::Peer> peer = os::peer_of(connection.value().get());
      if (!peer.ok() || peer.value().uid != geteuid())
        return Status::error(
            EPERM,
            "cannot join the other ranks of this node: another user holds the meeting point of this job");
      return connection;
    }
    // Bound but not listening yet, or just closed.
    if (deadline.over()) return connection.status();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool receive(int socket, Message* m, std::vector<os::Fd>* fds = nullptr) {
  Result<size_t> n = os::receive_message(socket, m, sizeof *m, fds);
  return n.ok() && n.value() == sizeof *m && m->version == kProtocolVersion;
}

Hello introduce(const Job& job, Say say) {
  Hello h = {};
  h.version = kProtocolVersion;
  h.say = say;
  h.local_rank = job.local_rank;
  os::current_cpu_set(&h.cores);
  strncpy(h.namespaces, os::namespaces_of_self().c_str(), sizeof h.namespaces - 1);
  return h;
}

// The host is gone, and all tasks with it: end what they have left behind, then as the task did.
[[noreturn]] void die_with_host(const TaskList& tasks) {
  os::kill_groups(tasks.session, tasks.latest, tasks.pids, tasks.count);
  log(LogLevel::error, "the process that holds this node's address space has died; ending");
  os::end_like(SIGKILL);
}

[[noreturn]] void relay(int socket, pid_t host) {
  static TaskList tasks;  // empty until the host tells; no task runs before that
  os::Fd signals(os::signal_descriptor());
  for (;;) {
    pollfd polled[2] = {{socket, POLLIN, 0}, {signals.get(), POLLIN, 0}};
    if (poll(polled, 2, -1) < 0) continue;
    if (polled[0].revents != 0) {
      Message m;
      if (!receive(socket, &m)) die_with_host(tasks);
      if (m.say == Say::tasks && !os::receive_message(socket, &tasks, sizeof tasks).ok()) tasks.count = 0;
      if (m.say == Say::ended) os::end_like(static_cast<int>(m.number));
      if (m.say == Say::notice) log(LogLevel::warning, "%s", m.text);
    }
    if (polled[1].revents != 0) {
      os::Signal signal;
      while (os::next_signal(signals.get(), &signal)) {
        if (signal.number == SIGCHLD) continue;  // of the host, if this process founded it
        if (signal.number == SIGCONT && signal.sender == host) continue;  // the task goes on already
        Message m = make_message(Say::signal);
        m.signal = signal;
        if (!os::send_message(socket, &m, sizeof m).ok()) break;  // the end of the connection is seen above
      }
    }
  }
}

}  // namespace

Status run_as_proxy(const Job& job, TaskRequest request, const HostOptions& options) {
  // A connection that closes before it is served belongs to a space whose ranks have all come or that has
  // waited long enough: then this rank, which is late, tries again.
  for (int attempt = 0; attempt < 5; attempt++) {
    Result<os::Fd> connection = join(job, options);
    if (!connection.ok()) return connection.status();
    const int socket = connection.value().get();
    const Hello hello = introduce(job, Say::hello);
    if (!os::send_message(socket, &hello, sizeof hello).ok()) continue;
    Message m;
    bool heard = receive(socket, &m);
    while (heard && m.say == Say::notice) {
      log(LogLevel::warning, "%s", m.text);
      heard = receive(socket, &m);
    }
    if (!heard) continue;
    if (m.say == Say::refused) return Status::error(EPERM, m.text);

    // From here on signals wait for the task.
    os::block_all_signals();
    if (Status s = send_request(socket, request); !s.ok()) die_with_host({});
    do {
      if (!receive(socket, &m)) die_with_host({});
      if (m.say == Say::refused) {
        os::restore_signals(request.inherited);
        return Status::error(ECANCELED, m.text);
      }
      if (m.say == Say::notice) log(LogLevel::warning, "%s", m.text);
    } while (m.say != Say::started);
    // The descriptors are the task's now: whoever is at their other ends must see when it closes them. But
    // Hydra kills the job's processes, this one too, when a connection to a rank closes before MPI_Finalize:
    // a second end of it, which lasts until this process has ended as the task did, keeps the exit code.
    const char* to_launcher = os::variable(request.environment, "PMI_FD");
    const os::Fd kept(to_launcher != nullptr ? dup(atoi(to_launcher)) : -1);
    request.close_descriptors();
    os::close_all_but({STDERR_FILENO, socket, kept.get()});
    relay(socket, m.signal.sender);
  }
  return Status::error(ECONNREFUSED,
                       "cannot join the other ranks of this node: no address space has taken it");
}

Away stay_away(const Job& job, const std::string& why, const HostOptions& options) {
  Away away;
  // As above: a connection that closes unanswered belongs to a host that waits for nobody any more.
  for (int attempt = 0; attempt < 5; attempt++) {
    Result<os::Fd> connection = join(job, options);
    if (!connection.ok()) break;
    Hello hello = introduce(job, Say::absent);
    hello.reason = std::hash<std::string>()(why);
    const int socket = connection.value().get();
    const timeval timeout = {2, 0};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    Message answer;
    std::vector<os::Fd> fds;
    if (!os::send_message(socket, &hello, sizeof hello).ok() || !receive(socket, &answer, &fds)) continue;
    away.first = answer.say != Say::absent || answer.number != 0;
    if (!fds.empty()) away.segment = os::moved_out_of_the_way(std::move(fds[0]));
    break;
  }
  return away;
}

}  // namespace tasuki::task
