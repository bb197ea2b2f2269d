// What a program with cluster memory may set, and how a text becomes a value. One table has all settings:
// base/settings.cpp. On the command line TASUKI_DLM_PAGE_SIZE is --page-size, in a file page-size.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "base/status.h"
#include "cluster/settings/memory_sizes.h"
#include "cluster/transport/redundancy.h"
#include "cluster/transport/slot_map.h"
#include "os/net/sockets.h"
#include "pager/pager.h"

namespace tasuki::cluster {

enum class Window { automatic, on, off };
enum class Compress { none, lz4 };

struct Options {
  pager::Options pager;               // local_bytes 0: automatic
  uint64_t memory = 0;                // bytes of each server; 0: automatic
  std::vector<uint64_t> memfile;      // bytes of each rank; empty: there is no such file
  std::vector<os::HostPort> lenders;  // elsewhere, of which this process borrows
  std::string store;                  // directory on a disk; empty: none
  uint64_t store_bytes = 0;           // there; 0: automatic
  uint64_t compressed_cache = 0;      // bytes; 0: none
  Fill fill = Fill::rank;
  Redundancy redundancy;
  uint32_t threads = 1;  // that copy
  Compress compress = Compress::none;
  bool checksum = false;
  Window window = Window::automatic;
  uint64_t timeout_s = 60;
  void (*keep_descriptor)(int fd) = nullptr;  // no setting: SocketCourier::Options::keep
  bool stats = false;
  std::string stats_file;  // empty: stderr
  std::string help;        // not empty: --help asked for this text, and nothing else is set
};

constexpr std::string_view kSettingsPrefix = "TASUKI_DLM_";
// "page-size" for TASUKI_DLM_PAGE_SIZE.
std::string short_name(const Setting& setting);
// The settings of the table that begin so.
std::vector<const Setting*> cluster_settings();

// A setting's text and where it was given, for messages.
struct Given {
  std::string text, where;
};
using Values = std::map<std::string, Given, std::less<>>;  // by short name

// Adds what the environment gives and `values` has not yet. `variable` is getenv, or looks into another
// environment.
void add_environment(Values* values, const std::function<const char*(const char*)>& variable);

// Errors (EINVAL) say which setting, where it was given and what is accepted. The file of memory sizes is not
// looked at.
Result<Options> make_options(const Values& values);
// With that file, which has a line for each rank of the job; `read` says what it holds. 0 ranks: their number
// is not known, and the file is left out.
using SizesReader = std::function<Result<MemorySizes>(const std::string& file)>;
Result<Options> make_options(const Values& values, int ranks, const SizesReader& read);

// How a program's settings are read: from its arguments behind the last "--" and from elsewhere.
using OptionsReader = Result<Options> (*)(const std::vector<std::string>& arguments, int ranks);
// An OptionsReader for programs under `tasuki mem`, which have no settings among their arguments: the
// environment only, with what that command has put there.
Result<Options> environment_options(const std::vector<std::string>& arguments, int ranks);

}  // namespace tasuki::cluster
