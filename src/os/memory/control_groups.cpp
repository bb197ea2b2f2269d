#include "os/memory/control_groups.h"

#include <algorithm>

#include "os/files/text_file.h"

namespace tasuki::os {
namespace {

// What stands before the separator; *text loses both.
std::string_view take(std::string_view* text, char separator) {
  const size_t end = std::min(text->find(separator), text->size());
  const std::string_view part = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return part;
}

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty())
    if (take(&list, ',') == word) return true;
  return false;
}

// A group's path as a line of /proc/self/cgroup has it ("4:memory:/a/b", "0::/a/b"); "" without such a line.
std::string_view path_of(std::string_view own, std::string_view controller) {
  while (!own.empty()) {
    std::string_view line = take(&own, '\n');
    take(&line, ':');
    const std::string_view list = take(&line, ':');
    if (controller.empty() ? list.empty() : has_word(list, controller)) return line;
  }
  return {};
}

// Where the groups are if it cannot be read where.
std::string usual_mounts(std::string_view controller) {
  const std::string name(controller);
  return "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\ncgroup /sys/fs/cgroup/" + name + " cgroup rw," + name +
         " 0 0\n";
}

}  // namespace

std::vector<ControlGroup> control_groups_of(std::string_view mounts, std::string_view own,
                                            std::string_view controller) {
  std::vector<ControlGroup> groups;
  while (!mounts.empty()) {
    std::string_view line = take(&mounts, '\n');
    take(&line, ' ');  // the device
    const std::string at(take(&line, ' '));
    const std::string_view type = take(&line, ' '), options = take(&line, ' ');
    const bool one = type == "cgroup" && has_word(options, controller), two = type == "cgroup2";
    if (!one && !two) continue;
    const int version = one ? 1 : 2;
    std::string path(path_of(own, one ? controller : std::string_view()));
    while (path.size() > 1) {
      groups.push_back({at + path, version});
      const size_t slash = path.rfind('/');
      path.resize(slash == std::string::npos ? 0 : slash);
    }
    groups.push_back({at, version});
  }
  return groups;
}

std::vector<ControlGroup> control_groups(std::string_view controller, const std::string& root) {
  std::string mounts = file_or_empty(root + "/proc/self/mounts");
  if (mounts.empty()) mounts = usual_mounts(controller);
  std::vector<ControlGroup> groups =
      control_groups_of(mounts, file_or_empty(root + "/proc/self/cgroup"), controller);
  for (ControlGroup& group : groups) group.folder.insert(0, root);
  return groups;
}

const char* memory_limit_file(const ControlGroup& group) {
  return group.version == 1 ? "memory.limit_in_bytes" : "memory.max";
}

}  // namespace tasuki::os
