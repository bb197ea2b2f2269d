#include "base/settings.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/bytes.h"
#include "base/log.h"

namespace tasuki {
namespace {

constexpr Setting kSettings[] = {
    {"TASUKI", SettingKind::flag, "on", nullptr,
     "off: all MPI calls go to the MPI library, as in the plain program."},
    {"TASUKI_LOG", SettingKind::choice, "warning", "error|warning|info|debug",
     "Which messages are written to stderr: those of this level and the more serious ones."},
    {"TASUKI_STATS", SettingKind::flag, "off", nullptr,
     "on: each rank prints in MPI_Finalize how many messages Tasuki moved, and how; and at its end how many "
     "mappings it changed (mmap, munmap, mremap, mprotect) and how often it forked."},
    {"TASUKI_SPACE", SettingKind::flag, "on", nullptr,
     "off: the ranks of a node do not share an address space; each keeps its memory for itself, as in the "
     "plain program, and messages inside the node go through a segment that all map. The MPI library carries "
     "out collective operations then. Programs that cannot share run so in any case."},
    {"TASUKI_KEEP", SettingKind::flag, "on", nullptr,
     "off: what a rank unmaps is always unmapped at once. on: up to 8 MiB of private memory that it unmaps "
     "stay "
     "mapped, for its next mmap of that size; accesses to what it has unmapped may then not fault."},
    {"TASUKI_PROTOCOL", SettingKind::choice, "auto", "auto|eager|direct|pipelined",
     "How typed and large messages inside the node are copied; auto chooses by layout and size; eager: all "
     "through a buffer of the sender's, as far as its credit goes."},
    {"TASUKI_LEARN", SettingKind::flag, "on", nullptr,
     "off: messages inside the node always take the way that the cost model expects to be the fastest. "
     "on: messages that a rank sends again and again try other ways, too, and keep what the program is "
     "faster with."},
    {"TASUKI_TUNE", SettingKind::text, "auto", nullptr,
     "The file with this machine's constants of the cost model, made by `tasuki tune`; auto: "
     "~/.config/tasuki/tune.toml, if it is there; off: the built-in constants."},
    {"TASUKI_COSTS", SettingKind::text, "", nullptr,
     "The constants themselves, as `tasuki run` hands them to the ranks. If this is set, Tasuki reads no "
     "file."},
    {"TASUKI_EAGER", SettingKind::bytes, "64KiB", nullptr,
     "A standard-mode send of at most this size completes without waiting for its receive, as long as the "
     "messages that one rank has waiting for another do not exceed 2 MiB. A larger typed one may, too, if "
     "its receiver waits; with 0 none does."},
    {"TASUKI_CHUNK", SettingKind::bytes, "64KiB", nullptr,
     "How much of a message a rank claims and copies at a time; the peer and helper threads claim the other "
     "parts."},
    {"TASUKI_THREADS", SettingKind::count_or_auto, "auto", nullptr,
     "Number of helper threads of each rank, which copy parts of large messages and packs; auto: as many as "
     "there are cores that no rank and none of its OpenMP threads needs, among those that the rank may use. "
     "The hardware threads of a core are one core."},
    {"TASUKI_REMOTE", SettingKind::choice, "on", "on|always|off",
     "Who packs and unpacks typed messages between hosts; on: Tasuki, where measurements showed it to be "
     "faster; always: Tasuki; off: the MPI library."},
    {"TASUKI_COARRAY", SettingKind::choice, "auto", "auto|host|window",
     "How an image reaches coarrays of other images; auto: by loads and stores within one address space, or "
     "if all images are on one host, else by windows of the MPI library; host: as auto, but images that are "
     "all on one host use its shared memory even in one address space; window: always by windows."},
    {"TASUKI_COARRAY_PATIENCE", SettingKind::count, "30", nullptr,
     "If all images of a job have waited for this many seconds, a message says which image waits where and "
     "for whom, and the job goes on. 0: no message."},
    {"TASUKI_LIBCLANG", SettingKind::text, "auto", nullptr,
     "The file of the libclang with which tasukicc reads programs; auto: that of the Python package libclang "
     "in tasukicc's own environment, else the newest that the system has."},
    {"TASUKI_CUDA", SettingKind::text, "auto", nullptr,
     "The CUDA driver library for coarrays in device memory; auto: libcuda.so.1, if OpenACC's regions run on "
     "a device; off: device memory is host memory."},
    {"TASUKI_SPIN", SettingKind::count, "2000", nullptr,
     "How often a waiting rank polls before it begins to offer its core to other processes, now and then. "
     "Ranks "
     "that outnumber the cores offer it at once."},
    {"TASUKI_COLLECTIVES", SettingKind::flag, "on", nullptr,
     "off: the MPI library carries out all collective operations but MPI_Bcast and MPI_Barrier, on every "
     "rank of the node."},
    {"TASUKI_LEFT", SettingKind::text, "auto", nullptr,
     "Blocking collectives of one node that the MPI library carries out because it is faster: "
     "OPERATION[:BYTES[-BYTES]][@RANKS[-RANKS]], separated by commas, such as allreduce:8-4KiB@2,barrier; "
     "each for "
     "one library if openmpi/, mpich/ or abi/ stands before it. auto: those that `tasuki tune --collectives` "
     "found; "
     "off: none."},
    {"TASUKI_REQUIRE", SettingKind::flag, "off", nullptr,
     "on: a program that cannot share the address space is an error, not a plain process."},
    {"TASUKI_EVERYWHERE", SettingKind::choice, "auto", "auto|on|off",
     "Does Tasuki carry out collective operations between hosts, too? That needs every rank of the job under "
     "tasuki run. auto: yes, if the ranks find that this is so; on: yes, and a rank that is not under tasuki "
     "run or cannot share the address space is an error; off: no."},
    {"TASUKI_BCAST", SettingKind::choice, "auto", "auto|binomial|chain|binary_tree|trinaryx3",
     "How hosts hand on a broadcast; as all settings of this kind, rank 0's holds for the "
     "job. auto: by hosts and bytes; trinaryx3: three pipelines at once, on a torus of hosts "
     "(TASUKI_SHAPE)."},
    {"TASUKI_ALLTOALL", SettingKind::choice, "auto", "auto|spread|linear|ring|pairwise|a2at",
     "In which order ranks on several hosts exchange pieces (MPI_Alltoall, MPI_Alltoallv, MPI_Alltoallw). "
     "auto: all at once; a2at: four at a time, so that all links of a square torus of ranks (TASUKI_SHAPE) "
     "have as much to carry."},
    {"TASUKI_SHAPE", SettingKind::text, "auto", nullptr,
     "Extents of the torus of hosts, or of ranks, for trinaryx3 and a2at: 4x4, 2x3x4; auto: as near to a "
     "square, or else a cube, as their number allows."},
    {"TASUKI_SEGMENT", SettingKind::bytes, "0", nullptr,
     "Bytes of the segments of a broadcast between hosts, and of the messages of an exchange; 0: Tasuki "
     "chooses those, and pieces travel whole."},
    {"TASUKI_PACE", SettingKind::bytes, "0", nullptr,
     "Bytes a second that a rank sends to other hosts in an exchange, message by message, so that they do "
     "not wait for each other in the network; 0: as fast as they go."},
    {"TASUKI_JOIN_TIMEOUT", SettingKind::count, "5", nullptr,
     "How many seconds the ranks of a node wait for each other at the start."},
    {"TASUKI_MAPPINGS", SettingKind::count_or_auto, "auto", nullptr,
     "Number of memory mappings that a rank is expected to need; it decides how many ranks share an address "
     "space; auto: 400, and 2 for each rank of the node."},
    {"TASUKI_LAYOUT_SEED", SettingKind::count, "0", nullptr,
     "If not 0, tasks are loaded at random addresses derived from this number."},
    {"TASUKI_FAULTS", SettingKind::flag, "off", nullptr,
     "on: before a task dies of a fault (SIGSEGV, SIGBUS, SIGILL, SIGFPE), it prints the address, the "
     "instruction, and what is mapped there."},
    {"TASUKI_GUARD", SettingKind::flag, "off", nullptr,
     "on: a task that writes to memory of another task ends with SIGSEGV, and a message says who wrote "
     "where; as `tasuki run --guard`. Needs a processor with memory protection keys."},
    {"TASUKI_MPI_LIBRARY", SettingKind::text, "auto", nullptr,
     "The MPI library (path or name) of memory servers and of programs that load none themselves; auto: that "
     "of the launcher, or where none is seen that of the mpirun in PATH, else what the dynamic linker "
     "finds."},
    {"TASUKI_DLM_CONFIG", SettingKind::text, "", nullptr,
     "Cluster memory: a TOML file with these settings (page-size = \"64KiB\"). The command line and the "
     "environment override it."},
    {"TASUKI_DLM_MEMFILE", SettingKind::text, "", nullptr,
     "Cluster memory: a file with one line for each rank, which says how many MiB the rank gives; the first "
     "line is for the pages that stay on rank 0."},
    {"TASUKI_DLM_LOCAL", SettingKind::text, "auto", nullptr,
     "Cluster memory: how many bytes of pages stay on rank 0; auto: half of the free memory of its host, "
     "divided by the number of ranks there."},
    {"TASUKI_DLM_MEMORY", SettingKind::text, "auto", nullptr,
     "Cluster memory: how many bytes each server lends; auto: half of the free memory of its host, divided "
     "by the number of ranks there."},
    {"TASUKI_DLM_LENDERS", SettingKind::text, "", nullptr,
     "Cluster memory of programs under tasuki mem: HOST or HOST:PORT of each `tasuki lend` whose memory this "
     "process borrows, with commas between them. They know nothing of MPI, and outlive it."},
    {"TASUKI_DLM_STORE", SettingKind::text, "", nullptr,
     "Cluster memory: a directory on a disk of rank 0's host. Pages for which the servers have no room go "
     "there, into a file without a name; without servers all pages do."},
    {"TASUKI_DLM_STORE_SIZE", SettingKind::text, "auto", nullptr,
     "Cluster memory: how many bytes of that disk pages may take; auto: what is free there, less a "
     "twentieth."},
    {"TASUKI_DLM_COMPRESSED_CACHE", SettingKind::text, "none", nullptr,
     "Cluster memory: so many bytes of rank 0's memory, beside TASUKI_DLM_LOCAL, keep pages that leave, "
     "compressed by LZ4, before they go on to servers or to a disk."},
    {"TASUKI_DLM_PAGE_SIZE", SettingKind::text, "auto", nullptr,
     "Cluster memory: page size, a multiple of 4KiB up to 2MiB; auto: Tasuki chooses it while the program "
     "runs."},
    {"TASUKI_DLM_PROTOCOL", SettingKind::choice, "ahead", "ahead|cs|cross|as1|as2",
     "Cluster memory: in which order rank 0 requests a page, receives it, and sends another page away; "
     "ahead: several transfers at once, before they are needed; the others are those of the DLM-MPI paper, "
     "threaded as there with TASUKI_DLM_FAULTS=userfault-sigbus."},
    {"TASUKI_DLM_REPLACEMENT", SettingKind::choice, "clock", "clock|fifo|address",
     "Cluster memory: which page leaves rank 0 next."},
    {"TASUKI_DLM_PREFETCH", SettingKind::choice, "auto", "auto|off|sequential|strided|majority",
     "Cluster memory: which pages rank 0 fetches before the program touches them."},
    {"TASUKI_DLM_COPIES", SettingKind::choice, "auto", "auto|cache|exclusive",
     "Cluster memory: do servers keep a page that was fetched? cache: yes; exclusive: no, so that more data "
     "fits; auto: as long as there is room."},
    {"TASUKI_DLM_FAULTS", SettingKind::choice, "auto",
     "auto|userfault|userfault-user|signal|userfault-copy|userfault-sigbus",
     "Cluster memory: how the pager catches accesses to absent pages; auto: the best way that the kernel "
     "permits."},
    {"TASUKI_DLM_REPLICAS", SettingKind::count, "1", nullptr,
     "Cluster memory: how many servers keep each page, 1 or 2; with 2, half as much memory is available."},
    {"TASUKI_DLM_ERASURE_CODE", SettingKind::text, "none", nullptr,
     "Cluster memory: K+M (K: 2, 4 or 8; M: 1 to 4) or none. Each page is cut in K parts, to which M more "
     "are "
     "computed (Reed-Solomon), one at each of K + M servers. Any K give the page, so that M servers can be "
     "lost; K of K + M bytes are available. Needs ISA-L (libisal2) at run time."},
    {"TASUKI_DLM_THREADS", SettingKind::count, "1", nullptr,
     "Cluster memory: number of threads that copy pages of servers on rank 0's host. Use more than one if "
     "one core does not fill the memory's bandwidth and other cores are idle."},
    {"TASUKI_DLM_FILL", SettingKind::choice, "rank", "rank|interleave",
     "Cluster memory: in which order servers get pages; rank: one server is filled after the other; "
     "interleave: all servers are filled evenly."},
    {"TASUKI_DLM_COMPRESS", SettingKind::choice, "none", "none|lz4",
     "Cluster memory: lz4: pages travel compressed, and servers keep them compressed. This does not apply to "
     "servers whose memory rank 0 uses directly (TASUKI_DLM_WINDOW)."},
    {"TASUKI_DLM_CHECKSUM", SettingKind::flag, "off", nullptr,
     "Cluster memory: on: when a page comes back, its checksum is compared with the one that it had when it "
     "left."},
    {"TASUKI_DLM_WINDOW", SettingKind::choice, "auto", "auto|on|off",
     "Cluster memory: does rank 0 copy to and from the memory of servers on its own host without messages? "
     "auto: if that is possible; on: yes, anything else is an error; off: no."},
    {"TASUKI_DLM_TIMEOUT", SettingKind::count, "60", nullptr,
     "Cluster memory: rank 0 gives up a server from which it has heard nothing for this many seconds, and a "
     "server on another host gives up rank 0 likewise; 0: never."},
    {"TASUKI_DLM_STATS", SettingKind::text, "off", nullptr,
     "Cluster memory: on: print counters and times at the end; a file name that ends in .json or .html: "
     "write them there."},
    {"TASUKI_LEND_KEY", SettingKind::text, "", nullptr,
     "tasuki lend, and who borrows: the file with the key of lenders; empty: .config/tasuki/lend.key in the "
     "user's home."},
    {"TASUKI_MEM_THRESHOLD", SettingKind::bytes, "1MiB", nullptr,
     "tasuki mem: allocations of at least this size go to cluster memory."},
    {"TASUKI_MEM_MMAP", SettingKind::choice, "auto", "auto|on|off",
     "tasuki mem: do private anonymous mappings that the program itself makes (mmap) go to cluster memory, "
     "too? auto: yes, if the pager can serve page faults inside the kernel."},
    {"TASUKI_MEM_SMALL", SettingKind::choice, "auto", "auto|on|off",
     "tasuki mem: do small allocations go to cluster memory, too? auto: yes, once what the program has in "
     "local memory beside it has grown by an eighth of --local, if the pager can serve page faults inside "
     "the kernel and forked children can read cluster memory; on: from the beginning."},
};

const Setting* find(std::string_view name) {
  for (const Setting& s : kSettings)
    if (name == s.name) return &s;
  log(LogLevel::error, "internal: setting %.*s is not in the table", static_cast<int>(name.size()),
      name.data());
  abort();
}

// The environment's value if it parses, else the default's; the table's defaults always parse (unit-tested).
template <typename T, typename Parse>
T read(const Setting& s, const char* accepted, Parse parse) {
  T value{};
  const char* text = getenv(s.name);
  if (text != nullptr && *text != '\0') {
    if (parse(std::string_view(text), &value)) return value;
    log(LogLevel::warning, "%s=%s is not understood (accepted: %s); using %s", s.name, text, accepted,
        s.default_value);
  }
  parse(std::string_view(s.default_value), &value);
  return value;
}

}  // namespace

std::span<const Setting> settings() {
  return kSettings;
}

const Setting& setting(std::string_view name) {
  return *find(name);
}

bool parse_flag(std::string_view text, bool* value) {
  for (std::string_view yes : {"on", "1", "yes", "true"})
    if (text == yes) return *value = true, true;
  for (std::string_view no : {"off", "0", "no", "false"})
    if (text == no) return *value = false, true;
  return false;
}

bool parse_count(std::string_view text, uint64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool parse_choice(std::string_view text, std::string_view choices, int* index) {
  for (int i = 0; !choices.empty(); i++) {
    const size_t bar = choices.find('|');
    if (text == choices.substr(0, bar)) return *index = i, true;
    choices = bar == std::string_view::npos ? std::string_view() : choices.substr(bar + 1);
  }
  return false;
}

bool setting_flag(std::string_view name) {
  return read<bool>(*find(name), "on, off", parse_flag);
}
uint64_t setting_bytes(std::string_view name) {
  return read<uint64_t>(
      *find(name), "a size such as 4096 or 64KiB",
      [](std::string_view text, uint64_t* value) { return parse_bytes(text, ByteUnits::binary, value); });
}
uint64_t setting_count(std::string_view name) {
  return read<uint64_t>(*find(name), "a non-negative integer", parse_count);
}
int64_t setting_count_or_auto(std::string_view name) {
  return read<int64_t>(*find(name), "auto or a non-negative integer",
                       [](std::string_view text, int64_t* value) {
                         if (text == "auto") return *value = -1, true;
                         uint64_t count = 0;
                         if (!parse_count(text, &count) || count > INT32_MAX) return false;
                         *value = static_cast<int64_t>(count);
                         return true;
                       });
}
const char* setting_text(std::string_view name) {
  const Setting* s = find(name);
  const char* text = getenv(s->name);
  return text != nullptr ? text : s->default_value;
}
int setting_choice(std::string_view name) {
  const Setting* s = find(name);
  return read<int>(*s, s->choices,
                   [s](std::string_view text, int* value) { return parse_choice(text, s->choices, value); });
}

bool sharing_required() {
  constexpr int kOn = 1;  // auto|on|off
  return setting_flag("TASUKI_REQUIRE") || setting_choice("TASUKI_EVERYWHERE") == kOn;
}

}  // namespace tasuki
