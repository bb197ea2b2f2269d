#include "bench/driver/jobs/hosts.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "os/files/output_file.h"
#include "os/files/temporary_folder.h"

namespace tasuki::bench {
namespace {

constexpr const char *kNet = "10.99.8.0/24", *kFirst = "10.99.8.1", *kSecond = "10.99.8.2";

// sysfs shows the network devices of the namespace in which it was mounted, and UCX reads them there.
std::string setup(const std::string& name) {
  return "mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /dev/shm && hostname " + name +
         " && ip link set lo up";
}

Status refused(const std::string& text) {
  return Status::error(
      EPERM,
      "two hosts on one machine need the right to make network namespaces and virtual network "
      "devices (root, or unprivileged user namespaces), and the commands unshare, nsenter, ip: " +
          text);
}

}  // namespace

std::vector<std::string> TwoHosts::enter() const {
  std::vector<std::string> words = {"nsenter", "-t",    std::to_string(first_.pid()),
                                    "--net",   "--uts", "--mount"};
  if (user_namespace_) words.insert(words.end(), {"--user", "--preserve-credentials"});
  return words;
}

Status TwoHosts::make() {
  const std::string first = setup("tasuki-a");
  Status status;
  for (const bool user : {false, true}) {
    user_namespace_ = user;
    std::vector<std::string> words = {"unshare"};
    if (user) words.insert(words.end(), {"--user", "--map-root-user"});
    words.insert(words.end(), {"--net", "--uts", "--mount"});
    status = first_.start(words, first, "");
    if (status.ok()) break;
  }
  if (!status.ok()) return refused(status.message());
  std::vector<std::string> words = enter();
  words.insert(words.end(), {"unshare", "--net", "--uts", "--mount"});
  status = second_.start(words, setup("tasuki-b"), "");
  if (!status.ok()) return refused(status.message());

  const std::string pid = std::to_string(second_.pid()),
                    second = "nsenter -t " + pid + " --net --uts --mount ";
  // One name on both sides: what is told to MPI by the environment must hold on both. The devices take a
  // moment until they are running; UCX passes over those that are not.
  const std::string wait =
      "sh -c 'for i in $(seq 50); do [ $(cat /sys/class/net/veth0/operstate) = up ] && exit 0; "
      "sleep 0.1; done; echo veth0 does not come up; exit 1'";
  const std::string script = "ip link add veth0 type veth peer name veth0 netns " + pid +
                             " && ip address add " + kFirst + "/24 dev veth0 && ip link set veth0 up && " +
                             second + "ip address add " + kSecond + "/24 dev veth0 && " + second +
                             "ip link set veth0 up && " + wait + " && " + second + wait;
  Holder worker;
  status = worker.start(enter(), script, "");
  if (!status.ok()) return refused(status.message());

  Result<std::string> folder = os::make_temporary_folder("tasuki-hosts");
  if (!folder.ok()) return folder.status();
  folder_ = std::move(folder.value());
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
  if (Status s = os::write_output("the launcher's command", folder_ + "/agent", agent); !s.ok()) return s;
  using std::filesystem::perms;
  std::error_code failed;
  std::filesystem::permissions(
      folder_ + "/agent",
      perms::owner_all | perms::group_read | perms::group_exec | perms::others_read | perms::others_exec,
      failed);
  if (failed) return Status::error(failed.value(), folder_ + ": " + failed.message());
  return Status();
}

TwoHosts::~TwoHosts() {
  if (folder_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::vector<std::string> TwoHosts::launch_command(const Mpi& mpi, int ranks,
                                                  const std::vector<std::string>& further,
                                                  int on_first) const {
  std::vector<std::string> words = enter();
  if (!first_cores_.empty()) words.insert(words.end(), {"taskset", "-c", first_cores_});
  if (on_first == 0) on_first = ranks / 2;
  const std::string hosts =
      kFirst + (":" + std::to_string(on_first)) + "," + kSecond + ":" + std::to_string(ranks - on_first);
  if (mpi.kind == "openmpi")
    words.insert(words.end(),
                 {mpi.mpirun, "-n", std::to_string(ranks), "--host", hosts, "--bind-to", "none"});
  else
    words.insert(words.end(), {mpi.mpirun, "-n", std::to_string(ranks), "-hosts", hosts, "-launcher", "ssh",
                               "-launcher-exec", folder_ + "/agent", "-localhost", kFirst});
  words.insert(words.end(), further.begin(), further.end());
  return words;
}

std::vector<std::string> TwoHosts::environment(const Mpi& mpi) const {
  if (mpi.kind != "openmpi") return {"UCX_TLS=tcp,self", "UCX_NET_DEVICES=veth0"};
  const std::string net = kNet;
  return {"OMPI_MCA_plm_rsh_agent=" + folder_ + "/agent", "OMPI_MCA_plm_rsh_no_tree_spawn=1",
          "OMPI_MCA_oob_tcp_if_include=" + net, "OMPI_MCA_btl_tcp_if_include=" + net, "OMPI_MCA_pml=ob1",
          "OMPI_MCA_btl=tcp,vader,self",
          // With pt2pt, which Debian switches off and without which there are no windows by TCP.
          "OMPI_MCA_osc=^ucx", "OMPI_MCA_mpi_yield_when_idle=1"};
}

}  // namespace tasuki::bench
