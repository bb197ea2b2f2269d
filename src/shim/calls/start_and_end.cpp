// The life of the layer in one process: registration before MPI_Init, agreement on who takes part after it,
// and the end.
//
// Agreement without messages: every task that runs this shim registers its endpoint before it enters
// MPI_Init. The first one that comes out freezes the set of members; all others read that set. Each member
// then publishes its rank, and the first one that has seen all ranks decides whether they belong to one
// MPI_COMM_WORLD. So all members share every premise from which they later conclude whether a communicator is
// handled here.
#include "shim/calls/task_state.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/log.h"
#include "base/settings.h"
#include "generated/pmpi.h"
#include "message/shared/memory.h"
#include "message/transfers/spare.h"
#include "os/clock.h"
#include "os/memory/keys.h"
#include "os/memory/mapping.h"
#include "os/process/cpu.h"
#include "os/process/membarrier.h"
#include "shim/calls/outside.h"
#include "shim/entry/library.h"
#include "shim/habits.h"
#include "shim/hosts/presence.h"
#include "shim/objects/requests.h"
#include "shim/objects/status.h"
#include "task/segment.h"
#include "task/space.h"

namespace tasuki::shim {

bool g_on = false;
Process g_process;

namespace {

// What plain ranks of a host send without their receive (measured: message/engine.h), rounded up.
#if defined(OPEN_MPI)
constexpr uint64_t kLibraryEager = 4 << 10;
#else
constexpr uint64_t kLibraryEager = 9 << 10;
#endif

// Waits for something that other tasks do soon; false after the time limit.
template <typename Done>
bool wait_at_most(int64_t milliseconds, Done done) {
  const int64_t end = os::monotonic_ms() + milliseconds;
  while (!done()) {
    if (os::monotonic_ms() > end) return false;
    os::cpu_yield();
  }
  return true;
}

void choose_costs(message::CostTable* costs) {
  for (Costs& c : costs->at) c = kBuiltInCosts;
  const char* text = setting_text("TASUKI_COSTS");
  if (*text != 0 && !parse_table(text, costs))
    log(LogLevel::warning,
        "TASUKI_COSTS=%s is not understood (see `tasuki tune`); using the built-in constants", text);
}

message::LeftCollectives chosen_left() {
  message::LeftCollectives left{};
  const std::string_view text = setting_text("TASUKI_LEFT");
  if (text == "auto" || text == "off") return left;
  if (const Status s = message::parse_left(text, names_of(detail::kFamily)->name, &left); !s.ok())
    log(LogLevel::warning, "TASUKI_LEFT: %s; no operation is left to the MPI library by it",
        s.message().c_str());
  return left;
}

Board* shared_board(task::Space* space) {
  std::atomic<void*>& root = space->roots[task::kRootMpi];
  void* existing = root.load(std::memory_order_acquire);
  if (existing != nullptr) return static_cast<Board*>(existing);
  const size_t size = sizeof(Board) + space->task_count * sizeof(Board::Member);
  void* memory = message::map_shared(size);
  if (memory == nullptr) return nullptr;
  Board* board = static_cast<Board*>(memory);
  board->magic = kBoardMagic;
  board->family = static_cast<uint32_t>(detail::kFamily);
  board->task_count = space->task_count;
  choose_costs(&board->costs);
  board->left = chosen_left();
  board->next_context.store(kFirstContext, std::memory_order_relaxed);
  if (root.compare_exchange_strong(existing, board, std::memory_order_acq_rel)) return board;
  message::unmap_shared(memory, size);
  return static_cast<Board*>(existing);
}

// The slot of a process that shares a segment with others of its node; nullptr: it does not.
task::TaskSlot* seat() {
  const task::Seat seat = task::take_seat();
  if (seat.slot == nullptr) return nullptr;
  message::use_slice(seat.slice, seat.slice_bytes);
  os::take_part_in_barriers();
  return seat.slot;
}

// Before MPI_Init. Returns the slot if this process takes part.
task::TaskSlot* enroll() {
  if (!setting_flag("TASUKI")) return nullptr;
  Process& p = g_process;
  task::TaskSlot* slot = task::self();
  bool apart = false;
  if (slot != nullptr) {
    os::g_guarded = slot->key != 0;
  } else {
    slot = seat();
    if (slot == nullptr) return nullptr;
    apart = true;
  }
  Board* board = shared_board(slot->space);
  if (board == nullptr || board->magic != kBoardMagic ||
      board->family != static_cast<uint32_t>(detail::kFamily))
    return nullptr;
  if (board->member(static_cast<int32_t>(slot->index)).endpoint.load() != nullptr)
    return nullptr;  // initialised before
  Endpoint* e = p.engine.make_endpoint(board, static_cast<int32_t>(slot->index));
  if (e == nullptr || (apart && !p.engine.start_thread())) return nullptr;
  p.apart = apart;
  p.board = board;
  board->member(e->slot).endpoint.store(e, std::memory_order_release);
  return slot;
}

template <typename Visit>
void for_each_member(Board* board, Visit visit) {
  for (uint32_t i = 0; i < board->task_count; i++) {
    Board::Member& m = board->member(static_cast<int32_t>(i));
    if (m.member != 0) visit(m.endpoint.load(std::memory_order_acquire));
  }
}

void freeze_members(Board* board) {
  // Tasks that are not MPI programs never register; MPI programs have, before the first one leaves MPI_Init.
  wait_at_most(200, [&] {
    if (board->membership.load(std::memory_order_acquire) != Decision::open) return true;
    for (uint32_t i = 0; i < board->task_count; i++)
      if (board->member(static_cast<int32_t>(i)).endpoint.load(std::memory_order_acquire) == nullptr)
        return false;
    return true;
  });
  Decision open = Decision::open;
  if (board->membership.compare_exchange_strong(open, Decision::deciding)) {
    for (uint32_t i = 0; i < board->task_count; i++) {
      Board::Member& m = board->member(static_cast<int32_t>(i));
      m.member = m.endpoint.load(std::memory_order_acquire) != nullptr ? 1 : 0;
    }
    board->membership.store(Decision::accelerated, std::memory_order_release);
  }
  while (board->membership.load(std::memory_order_acquire) == Decision::deciding) os::cpu_yield();
}

// True if the members are different ranks of one MPI_COMM_WORLD.
bool members_belong_together(Board* board, int world_size) {
  const bool complete = wait_at_most(30'000, [&] {
    bool all = true;
    for_each_member(board, [&](Endpoint* e) { all = all && e->ready.load(std::memory_order_acquire) != 0; });
    return all || board->world.load(std::memory_order_acquire) != Decision::open;
  });
  bool together = complete;
  char* seen = static_cast<char*>(calloc(static_cast<size_t>(world_size), 1));
  for_each_member(board, [&](Endpoint* e) {
    if (seen == nullptr || e->ready.load(std::memory_order_acquire) == 0 || e->world_size != world_size ||
        seen[e->world_rank]++ != 0)
      together = false;
  });
  free(seen);
  Decision open = Decision::open;
  board->world.compare_exchange_strong(open, together ? Decision::accelerated : Decision::off);
  return board->world.load(std::memory_order_acquire) == Decision::accelerated;
}

// The library must not progress in here: see free_complete.
int teardown(MPI_Comm, int, void*, void*) {
  g_on = false;
  Process& p = g_process;
  p.helpers.stop();
  p.requests.close();
  p.messages.close();
  pmpi().Comm_free(&p.quiet_comm);
  pmpi().Grequest_complete(p.never_done);
  free_complete(&p.never_done);
  p.spans.close();
  p.types.close();
  p.comms.close();
  return MPI_SUCCESS;
}

// More ranks than cores? The processes of a segment have all said on which they run, those in a space of the
// same node have not.
bool crowded(const task::TaskSlot* slot) {
  task::Space& space = *slot->space;
  if (!g_process.apart) return space.job_task_count > space.core_count || space.task_count > space.core_count;
  os::CpuSet any{};
  int members = 0;
  for_each_member(g_process.board, [&](Endpoint* e) {
    any.add_all(space.tasks()[static_cast<uint32_t>(e->slot)].cores);
    members++;
  });
  return members > os::count_cores(any) || static_cast<int>(space.job_task_count) > os::online_cores();
}

Engine::Options engine_options(const task::TaskSlot* slot, bool threads) {
  Engine::Options o{};
  o.eager_bytes = setting_bytes("TASUKI_EAGER");
  o.library_eager_bytes = kLibraryEager;
  o.transfer.protocol = static_cast<Protocol>(setting_choice("TASUKI_PROTOCOL"));
  o.transfer.claim_bytes = setting_bytes("TASUKI_CHUNK");
  o.transfer.costs = g_process.board->costs.at[0];
  o.transfer.from = thresholds(o.transfer.costs);
  o.wait.spins = static_cast<uint32_t>(setting_count("TASUKI_SPIN"));
  o.wait.oversubscribed = crowded(slot);
  // Where ranks outnumber cores, the times are the scheduler's.
  o.transfer.ahead = !o.wait.oversubscribed;
  o.transfer.learns = setting_flag("TASUKI_LEARN") && !o.wait.oversubscribed;
  o.wait.idle = &library_progress;
  o.threads = threads;
  o.apart = g_process.apart;
  return o;
}

// That compute at the same time: what the variable of OpenMP says, which other libraries with threads follow,
// too; without it an OpenMP program takes all cores that it may use. The OpenMP library is not asked: LLVM's
// would read its settings and bind the thread now, before the program has said what it wants.
uint32_t threads_of_program(uint32_t cores) {
  const char* text = getenv("OMP_NUM_THREADS");  // a list has the outermost level first
  if (text != nullptr && *text != '\0')
    return static_cast<uint32_t>(std::clamp(strtol(text, nullptr, 10), 1L, 1L << 20));
  return dlsym(RTLD_DEFAULT, "omp_get_max_threads") != nullptr ? cores : 1;
}

void start_helpers(const task::TaskSlot* slot) {
  const int64_t wanted = setting_count_or_auto("TASUKI_THREADS");
  const uint32_t cores = static_cast<uint32_t>(os::count_cores(slot->cores));
  message::CoresOfTasks all;
  all.threads_each = threads_of_program(cores);
  if (wanted == 0 || (wanted < 0 && cores <= all.threads_each)) return;
  task::Space& space = *slot->space;
  // The deal takes time, and many ranks have nothing to deal out.
  if (wanted < 0 && uint64_t{space.job_task_count} * all.threads_each >= space.core_count) return;
  os::CpuSet any{};
  for (uint32_t i = 0; i < space.task_count; i++) {
    all.tasks.push_back(&space.tasks()[i].cores);
    any.add_all(space.tasks()[i].cores);
  }
  all.elsewhere = space.job_task_count - std::min(space.job_task_count, space.task_count);
  const auto silicon = std::make_unique<uint16_t[]>(os::CpuSet::kMaxCores);
  os::hardware_threads(any, silicon.get());
  all.silicon = silicon.get();
  const message::SpareCores spare = message::spare_cores(all, slot->index);
  g_process.helpers.start(&g_process.board->jobs, wanted > 0 ? static_cast<uint32_t>(wanted) : spare.threads,
                          spare.avoided);
}

void activate(const task::TaskSlot* slot) {
  Process& p = g_process;
  Endpoint* self = p.engine.self();
  pmpi().Comm_rank(MPI_COMM_WORLD, &p.world_rank);
  pmpi().Comm_size(MPI_COMM_WORLD, &p.world_size);
  self->world_rank = p.world_rank;
  self->world_size = p.world_size;
  int level = MPI_THREAD_SINGLE;
  pmpi().Query_thread(&level);
  p.threads = level == MPI_THREAD_MULTIPLE;
  self->several_threads = p.threads ? 1 : 0;
  self->collectives = setting_flag("TASUKI_COLLECTIVES") ? 1 : 0;
  os::CpuSet cores;
  if (os::current_cpu_set(&cores) != 0) self->place = message::place_of(p.board->costs.map, cores);
  self->ready.store(1, std::memory_order_release);
  freeze_members(p.board);
  if (p.board->member(self->slot).member == 0 || !members_belong_together(p.board, p.world_size)) {
    log(LogLevel::info, "rank %d: no memory shared with the other ranks; messages go through the MPI library",
        p.world_rank);
    return;
  }
  int* slots = static_cast<int*>(malloc(sizeof(int) * static_cast<size_t>(p.world_size)));
  if (slots == nullptr) {
    fprintf(stderr, "tasuki: rank %d: no memory for %d ranks\n", p.world_rank, p.world_size);
    abort();  // the other ranks count on this one
  }
  for (int i = 0; i < p.world_size; i++) slots[i] = -1;
  for_each_member(p.board, [&](Endpoint* e) { slots[e->world_rank] = e->slot; });

  learn_status_layout();
  learn_habits();
  p.statistics = setting_flag("TASUKI_STATS");
  if (formats_agree()) p.remote.open(static_cast<RemotePolicy>(setting_choice("TASUKI_REMOTE")));
  p.requests.open(p.world_rank, p.threads);
  p.attached.set_threads(p.threads);
  p.engine.set_options(engine_options(slot, p.threads));
  if (!p.engine.set_costs(p.board->costs) || !p.requests.open_sent()) {
    fprintf(stderr, "tasuki: rank %d: no memory for its requests\n", p.world_rank);
    abort();  // the other ranks count on this one
  }
  int* upper_bound = nullptr;
  int found = 0;
  pmpi().Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upper_bound, &found);
  p.targets.set_tag_upper_bound(found != 0 ? *upper_bound : 32767);
  pmpi().Comm_dup(MPI_COMM_SELF, &p.quiet_comm);
  pmpi().Comm_set_errhandler(p.quiet_comm, MPI_ERRORS_RETURN);
  p.messages.open(p.quiet_comm, p.threads);
  p.never_done = generalized_request();
  Users::set_threads(p.threads);
  p.types.open(p.threads);
  p.windows.open(p.threads);
  // Receives on mixed communicators depend on MPI_Cancel (twins.h). If several threads call it, plain Open
  // MPI 4.1.4 loses messages, hangs or crashes, once in some 10^5 cancellations; MPICH 4.0.2 not in 3.9
  // million.
  bool mix = true;
#if defined(OPEN_MPI)
  for_each_member(p.board, [&](Endpoint* e) { mix = mix && e->several_threads == 0; });
#endif
  p.own_collectives = !p.apart;
  for_each_member(p.board,
                  [&](Endpoint* e) { p.own_collectives = p.own_collectives && e->collectives != 0; });
  p.comms.open(p.board, slots, p.world_size, p.threads, mix);
  // MPI_Finalize deletes the attributes of MPI_COMM_SELF first, the oldest last (MPI-4.0, 11.2.4): the layer
  // works for the user's own callbacks and ends after them.
  int keyval = MPI_KEYVAL_INVALID;
  pmpi().Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &teardown, &keyval, nullptr);
  pmpi().Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
  pmpi().Comm_free_keyval(&keyval);
  if (!p.apart) start_helpers(slot);
  g_on = true;
}

void print_statistics() {
  const Process& p = g_process;
  Stats s = g_process.engine.stats();
  char line[1024];
  const int n = snprintf(
      line, sizeof line,
      "tasuki: rank %d: sent=%lu sent_bytes=%lu received=%lu received_bytes=%lu inline=%lu "
      "buffered=%lu rendezvous=%lu found_receive=%lu ring_full=%lu without_credit=%lu alone_bytes=%lu "
      "direct_bytes=%lu pipelined_bytes=%lu claims_helped=%lu others_bytes=%lu thread_bytes=%lu "
      "broadcasts=%lu "
      "broadcast_bytes=%lu spanning=%lu remote_bytes=%lu external_bytes=%lu barriers=%lu collectives=%lu "
      "collective_bytes=%lu one_sided=%lu one_sided_bytes=%lu\n",
      p.world_rank, s.sent, s.sent_bytes, s.received, s.received_bytes, s.inlined, s.buffered, s.rendezvous,
      s.found_receive, s.ring_full, s.without_credit, s.transfer.alone_bytes, s.transfer.direct_bytes,
      s.transfer.pipelined_bytes, s.transfer.claims_helped, s.transfer.others_bytes, p.helpers.bytes(),
      s.broadcasts, s.broadcast_bytes, s.spanning, p.remote.bytes(), p.external_bytes, s.barriers,
      s.collectives, s.collective_bytes, s.one_sided, s.one_sided_bytes);
  if (n > 0) fwrite(line, 1, static_cast<size_t>(n), stderr);
}

}  // namespace

void library_progress() {
  // Not a probe: MPICH answers one on a communicator of one rank without any progress.
  int flag = 0;
  pmpi().Request_get_status(g_process.never_done, &flag, MPI_STATUS_IGNORE);
  g_process.requests.serve_twins();
}

void nothing_found() {
  Process& p = g_process;
  const uint32_t n = __atomic_add_fetch(&p.unsuccessful, 1, __ATOMIC_RELAXED);
  if (n % 16 == 0) library_progress();
  if (!p.engine.options().wait.oversubscribed)
    p.engine.help_others();
  else if (n % 64 == 0)
    os::cpu_yield();
}

namespace delegate {

int init(Pass pass) {
  set_log_level(static_cast<LogLevel>(setting_choice("TASUKI_LOG")));
  const task::TaskSlot* slot = enroll();
  Presence presence;
  presence.announce();
  const int rc = pass();
  if (rc != MPI_SUCCESS) return rc;
  if (slot != nullptr) activate(slot);
  Process& p = g_process;
  look_outside(p.apart ? nullptr : slot, p.board);
  Board* board = g_on ? p.board : nullptr;
  const int* slots = g_on ? p.comms.world_slots() : nullptr;
  if (presence.everyone_takes_part(g_on && !p.apart && formats_agree(), board, slots))
    p.spans.open(board, slots, p.threads, p.own_collectives, p.engine.options().wait.oversubscribed);
  return rc;
}

int finalize(Pass pass) {
  if (g_on && g_process.statistics) print_statistics();
  const int rc = pass();
  // Until here it has carried on what others send to receives that were freed.
  g_process.engine.stop_thread();
  return rc;
}

int comm_new(MPI_Comm* newcomm, Pass pass) {
  const int rc = pass();
  if (rc != MPI_SUCCESS || *newcomm == MPI_COMM_NULL) return rc;
  const int agreed = g_process.comms.adopt(*newcomm);
  return agreed == MPI_SUCCESS ? rc : raise(*newcomm, agreed);
}

int comm_idup(MPI_Comm comm, const MPI_Comm* newcomm, Pass pass) {
  const int rc = pass();
  if (rc == MPI_SUCCESS && newcomm != nullptr) g_process.comms.adopt_idup(comm, *newcomm);
  return rc;
}

int comm_free(const MPI_Comm* comm, Pass pass) {
  if (comm != nullptr) g_process.comms.about_to_free(*comm);
  return pass();
}

int type_commit(MPI_Datatype*, Pass pass) {
  return pass();
}

}  // namespace delegate
}  // namespace tasuki::shim
