#include "bench/driver/jobs/limit.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "os/files/text_file.h"
#include "os/memory/control_groups.h"
#include "os/process/self.h"

namespace tasuki::bench {

Status MemoryLimit::make() {
  const std::string name = "/tasuki-bench-" + std::to_string(os::pid_of_self());
  std::string reason = "no control groups with a memory limit are mounted";
  // The own group first, then those around it: version 2 has no groups beside processes, and gives a
  // controller to groups only where the one around them says so.
  for (const os::ControlGroup& around : os::control_groups("memory")) {
    std::error_code none;
    if (!std::filesystem::exists(around.folder, none)) continue;  // as seen outside of this container
    const std::string folder = around.folder + name, limit_file = os::memory_limit_file(around);
    const Status made =
        holder_.start({},
                      "g=" + quoted(folder) + " && mkdir \"$g\" && { test -w \"$g\"/" + limit_file +
                          " || { echo \"$g has no " + limit_file + "\"; false; }; }" +
                          // That a process may go there.
                          " && sh -c 'echo $$ > \"$0\"/cgroup.procs' \"$g\"",
                      "for i in $(seq 100); do rmdir \"$g\" 2>/dev/null && break; test -d \"$g\" || break; "
                      "sleep 0.1; done");
    if (made.ok()) {
      folder_ = folder;
      limit_file_ = folder + "/" + limit_file;
      return Status();
    }
    reason = made.message();
  }
  return Status::error(EPERM, "no limit of memory can be set here (control groups): " + reason);
}

Status MemoryLimit::set(uint64_t bytes) {
  return os::write_file(limit_file_, std::to_string(bytes));
}

std::vector<std::string> MemoryLimit::command() const {
  return {"sh", "-c", "echo $$ > " + quoted(folder_ + "/cgroup.procs") + " && exec \"$@\"", "sh"};
}

Status Space::make(const std::string& kind, uint64_t bytes, const std::string& folder) {
  folder_.clear();
  if (kind == "file-disk") {
    folder_ = folder;
    return Status();
  }
  const std::string mebibytes = std::to_string((bytes >> 20) + 1);
  const auto file_in = [&mebibytes](const std::string& where) {
    return "f=$(mktemp " + where +
           "/tasuki-space-XXXXXX) && chmod 600 \"$f\" && dd if=/dev/zero of=\"$f\" bs=1M count=" + mebibytes +
           " status=none";
  };
  // Of a file system whose pages never leave main memory.
  const std::string
      device = "r=$(mktemp -d /tmp/tasuki-space-XXXXXX) && mount -t ramfs -o mode=700 ramfs \"$r\" && " +
               file_in("\"$r\"") + " && d=$(losetup -f --show \"$f\")",
      no_device = "losetup -d \"$d\"; umount \"$r\"; rmdir \"$r\"";
  const std::string on = " && mkswap \"$d\" >/dev/null && swapon -p 32000 \"$d\"";
  std::string setup, cleanup;
  if (kind == "swap-disk") {
    setup = file_in(quoted(folder)) + " && d=$f" + on;
    cleanup = "swapoff \"$d\"; rm -f \"$f\"";
  } else if (kind == "swap-zram") {
    setup =
        "{ test -e /sys/class/zram-control || modprobe zram; } && d=$(zramctl -f -s " + mebibytes + "M)" + on;
    cleanup = "swapoff \"$d\"; zramctl -r \"$d\"";
  } else {
    setup = device +
            " && mkfs.ext4 -q -m 0 \"$d\" && mkdir \"$r/files\" && mount \"$d\" \"$r/files\" && echo "
            "\"$r/files\"";
    // A program that is ending may hold its file for a moment.
    cleanup = "for i in $(seq 50); do umount \"$r/files\" && break; sleep 0.1; done; " + no_device;
  }
  const Status made = holder_.start({}, setup, "{ " + cleanup + "; } 2>/dev/null");
  if (!made.ok()) return Status::error(EPERM, "no " + kind + " can be made here: " + made.message());
  if (kind == "file-ram") folder_ = holder_.output();
  return Status();
}

}  // namespace tasuki::bench
