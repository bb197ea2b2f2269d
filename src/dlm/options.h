// The settings of a program with cluster memory: behind the last "--" of its command line, in the environment
// (TASUKI_DLM_...), in a TOML file; the first one that names a setting counts. One table has them all:
// base/settings.cpp. On the command line TASUKI_DLM_PAGE_SIZE is --page-size, in the file page-size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "dlm/slot_map.h"
#include "pager/pager.h"

namespace tasuki::dlm {

enum class Window { automatic, on, off };
enum class Compress { none, lz4 };

struct Options {
  pager::Options pager;           // local_bytes 0: automatic
  uint64_t memory = 0;            // bytes of each server; 0: automatic
  std::vector<uint64_t> memfile;  // bytes of each rank; empty: there is no such file
  Fill fill = Fill::rank;
  uint32_t replicas = 1;
  uint32_t threads = 1;  // that copy
  Compress compress = Compress::none;
  bool checksum = false;
  Window window = Window::automatic;
  uint64_t timeout_s = 60;
  bool stats = false;
  std::string stats_file;  // empty: stderr
  bool help = false;       // --help was asked for; nothing else is set
};

// `arguments`: what stands behind the last "--". `ranks`: of the job; the memory file has a line for each.
// Errors (EINVAL, ENOENT) say which setting, where it was given and what is accepted.
Result<Options> read_options(const std::vector<std::string>& arguments, int ranks);

// The bytes of each rank. A line is a number of MiB as in the paper, or a size with its unit; '#' begins a
// comment. Lines beyond `ranks` are ignored with a warning.
Result<std::vector<uint64_t>> read_memfile(const std::string& path, int ranks);

std::string options_help();

}  // namespace tasuki::dlm
