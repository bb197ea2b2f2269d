#include "bench/driver/hosts.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "bench/driver/report.h"
#include "os/spawn.h"

namespace tasuki::bench {
namespace {

constexpr const char *kNet = "10.99.8.0/24", *kFirst = "10.99.8.1", *kSecond = "10.99.8.2";
constexpr int kStartMilliseconds = 20000;

// sysfs shows the network devices of the namespace in which it was mounted, and UCX reads them there.
std::string setup(const std::string& name) {
  return "mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /dev/shm && hostname " + name +
         " && ip link set lo up";
}

void end(pid_t* process) {
  if (*process <= 0) return;  // 0 and -1 mean others to kill(2)
  kill(*process, SIGKILL);
  waitpid(*process, nullptr, 0);
  *process = -1;
}

Status refused(const std::string& text) {
  return Status::error(
      EPERM,
      "two hosts on one machine need the right to make network namespaces and virtual network "
      "devices (root, or unprivileged user namespaces), and the commands unshare, nsenter, ip: " +
          text);
}

}  // namespace

std::vector<std::string> TwoHosts::enter(pid_t holder) const {
  std::vector<std::string> words = {"nsenter", "-t", std::to_string(holder), "--net", "--uts", "--mount"};
  if (user_namespace_) words.insert(words.end(), {"--user", "--preserve-credentials"});
  return words;
}

// Starts `words` sh -c `script`; it says "ready" when it is, and then waits for the end of its input.
Status TwoHosts::hold(const std::vector<std::string>& words, const std::string& script, pid_t* holder,
                      int* its_input) {
  std::vector<std::string> all = words;
  all.insert(all.end(), {"sh", "-c", script + " && echo ready && exec cat"});
  int input[2], output[2];
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0)
    return Status::error(errno, std::string("pipe: ") + strerror(errno));
  *holder = fork();
  if (*holder < 0) return Status::error(errno, std::string("fork: ") + strerror(errno));
  if (*holder == 0) {
    dup2(input[0], STDIN_FILENO);
    dup2(output[1], STDOUT_FILENO);
    dup2(output[1], STDERR_FILENO);
    execvp(all[0].c_str(), os::pointers_to(all).data());
    dprintf(STDERR_FILENO, "%s: %s\n", all[0].c_str(), strerror(errno));
    _exit(127);
  }
  close(input[0]);
  close(output[1]);
  *its_input = input[1];
  std::string text;
  char buffer[1024];
  pollfd ready{output[0], POLLIN, 0};
  while (text.find("ready\n") == std::string::npos && poll(&ready, 1, kStartMilliseconds) > 0) {
    const ssize_t n = read(output[0], buffer, sizeof buffer);
    if (n <= 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  close(output[0]);
  if (text.find("ready\n") != std::string::npos) return Status();
  return refused(text.empty() ? "no answer" : text);
}

Status TwoHosts::make() {
  const std::string first = setup("tasuki-a");
  Status status;
  for (const bool user : {false, true}) {
    user_namespace_ = user;
    std::vector<std::string> words = {"unshare"};
    if (user) words.insert(words.end(), {"--user", "--map-root-user"});
    words.insert(words.end(), {"--net", "--uts", "--mount"});
    status = hold(words, first, &first_, &ends_[0]);
    if (status.ok()) break;
    end(&first_);
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }
  if (!status.ok()) return status;
  std::vector<std::string> words = enter(first_);
  words.insert(words.end(), {"unshare", "--net", "--uts", "--mount"});
  status = hold(words, setup("tasuki-b"), &second_, &ends_[1]);
  if (!status.ok()) return status;

  const std::string pid = std::to_string(second_), second = "nsenter -t " + pid + " --net --uts --mount ";
  // One name on both sides: what is told to MPI by the environment must hold on both. The devices take a
  // moment until they are running; UCX passes over those that are not.
  const std::string wait =
      "sh -c 'for i in $(seq 50); do [ $(cat /sys/class/net/veth0/operstate) = up ] && exit 0; "
      "sleep 0.1; done; echo veth0 does not come up; exit 1'";
  const std::string script = "ip link add veth0 type veth peer name veth0 netns " + pid +
                             " && ip address add " + kFirst + "/24 dev veth0 && ip link set veth0 up && " +
                             second + "ip address add " + kSecond + "/24 dev veth0 && " + second +
                             "ip link set veth0 up && " + wait + " && " + second + wait;
  pid_t worker = -1;
  int input = -1;
  status = hold(enter(first_), script, &worker, &input);
  if (input >= 0) close(input);
  end(&worker);
  if (!status.ok()) return status;

  const char* tmp = getenv("TMPDIR");
  std::string pattern = std::string(tmp != nullptr && *tmp != '\0' ? tmp : "/tmp") + "/tasuki-hosts-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) return Status::error(errno, pattern + ": " + strerror(errno));
  folder_ = pattern;
  // Called like ssh: AGENT [options] HOST COMMAND...
  const std::vector<int> cores = usable_core_list();
  for (size_t i = 0; cores.size() > 1 && i < cores.size(); i++) {
    std::string& list = i < cores.size() / 2 ? first_cores_ : second_cores_;
    list += (list.empty() ? "" : ",") + std::to_string(cores[i]);
  }
  const std::string on_cores = second_cores_.empty() ? "" : "taskset -c " + second_cores_ + " ";
  const std::string agent =
      "#!/bin/sh\nwhile [ \"${1#-}\" != \"$1\" ]; do shift; done\nhost=$1; shift\nif [ \"$host\" = " +
      std::string(kSecond) + " ]; then exec " + second + on_cores + "sh -c \"$*\"; fi\nexec sh -c \"$*\"\n";
  if (Status s = write_text(folder_ + "/agent", agent); !s.ok()) return s;
  if (chmod((folder_ + "/agent").c_str(), 0755) != 0)
    return Status::error(errno, folder_ + ": " + strerror(errno));
  return Status();
}

TwoHosts::~TwoHosts() {
  end(&second_);
  end(&first_);
  for (const int fd : ends_)
    if (fd >= 0) close(fd);
  if (folder_.empty()) return;
  unlink((folder_ + "/agent").c_str());
  rmdir(folder_.c_str());
}

std::vector<std::string> TwoHosts::launch_command(const Mpi& mpi,
                                                  const std::vector<std::string>& further) const {
  std::vector<std::string> words = enter(first_);
  if (!first_cores_.empty()) words.insert(words.end(), {"taskset", "-c", first_cores_});
  const std::string first = kFirst, second = kSecond;
  if (mpi.kind == "openmpi")
    words.insert(words.end(),
                 {mpi.mpirun, "-n", "2", "--host", first + ":1," + second + ":1", "--bind-to", "none"});
  else
    words.insert(words.end(),
                 {mpi.mpirun, "-n", "2", "-hosts", first + "," + second, "-ppn", "1", "-launcher", "ssh",
                  "-launcher-exec", folder_ + "/agent", "-localhost", first});
  words.insert(words.end(), further.begin(), further.end());
  return words;
}

std::vector<std::string> TwoHosts::environment(const Mpi& mpi) const {
  if (mpi.kind != "openmpi") return {"UCX_TLS=tcp,self", "UCX_NET_DEVICES=veth0"};
  const std::string net = kNet;
  return {"OMPI_MCA_plm_rsh_agent=" + folder_ + "/agent",
          "OMPI_MCA_plm_rsh_no_tree_spawn=1",
          "OMPI_MCA_oob_tcp_if_include=" + net,
          "OMPI_MCA_btl_tcp_if_include=" + net,
          "OMPI_MCA_pml=ob1",
          "OMPI_MCA_btl=tcp,self",
          "OMPI_MCA_mpi_yield_when_idle=1"};
}

}  // namespace tasuki::bench
