// ddt-<mpi>: the benchmark's program, two ranks under a launcher. It does what the driver (`tasuki bench
// ddt`) tells it through named pipes, one line a command:
//
//   list                                     the rows
//   open <index>                             make a row ready
//   verify <seed>                            one round trip of fresh data, every byte of the arenas checked
//   time <seed> <touch> <warm> <n> <blocks>  fresh data, `warm` round trips, then `blocks` timed blocks of n
//                                            round trips; what is checked then: all that was received, and
//                                            around it. With <touch> 1 each rank writes what it sends and reads what it
//                                            received; what that takes by itself is not in the times
//   count <event> ...                        from now on `time` answers with these events, too (counters.h)
//   limits <us> <core>                       rank 0 alone: memcpy and the hand-written loops, and what the
//                                            machine takes to bring the message from one core to `core`
//                                            (crossing.h; not if there is no such core), for about that long
//   pack <unpack> <warm> <n> <blocks>        rank 0 alone: MPI_Pack or, if <unpack> is 1, MPI_Unpack; every
//                                            byte of the result checked
//   hand <unpack> <us>                       rank 0 alone: memcpy and packing by hand, for about that long
//   close, quit
//
// One rank is enough for all but `verify` and `time`. Both ranks get each command and answer with one line
// (`list`: several): "ok" with tab-separated key=value pairs, "wrong" with the text of a failed verification,
// or "error" with a text. Between commands both ranks are blocked in read(2): a job that is not measured
// takes no time from the one that is.
//
// Usage: mpirun -n 2 ddt-<mpi> DIR, where DIR holds the pipes command.0, command.1, answer.0 and answer.1.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "crossing.h"
#include "measure/common/rank.h"
#include "packs.h"
#include "verify.h"

enum { kMaxBlocks = 100000 };
// Messages whose buffers are touched, and those whose buffers are not, are those of two parts of a program.
enum { kTag = 7, kTouchedTag = 8 };

static const double kSecondsAlone = 1e-3;
static const double kShortest = 1e-3;  // us, where noise leaves less than nothing of a message

static struct instance g_row;
static int g_tag = kTag;
static char* g_other_arena;  // rank 0: the destination of the hand-written loops, made when first needed
static struct fill g_fill;

static void send_message(void) {
  MPI_Send(g_row.send.buffer, g_row.send.count, g_row.send.type, 1 - g_rank, g_tag, MPI_COMM_WORLD);
}
static void receive_message(void) {
  MPI_Recv(g_row.receive.buffer, g_row.receive.count, g_row.receive.type, 1 - g_rank, g_tag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
}

static void write_sent(void) {
  write_sent_lines(&g_row, g_row.arena);
}
static void read_received(void) {
  read_received_lines(&g_row, g_row.arena);
}

static void round_trips(long n, int touch) {
  for (long i = 0; i < n; i++) {
    if (g_rank == 0) {
      if (touch) write_sent();
      send_message();
      receive_message();
      if (touch) read_received();
    } else {
      receive_message();
      if (touch) read_received();
      if (touch) write_sent();
      send_message();
    }
    repeated(i);
  }
}

// For time_copy(): touching by one rank, where the lines are at home.
static void touch_alone(char* to, const char* from) {
  (void)to, (void)from;
  write_sent();
  read_received();
}
static void touch_in_place(char* to, const char* from) {
  write_sent_lines(&g_row, to);
  read_sent_lines(&g_row, from);
}

// ---- commands

static void list_rows(void) {
  for (int i = 0; i < kRowCount + kContiguousRowCount; i++) {
    const struct row* r = i < kRowCount ? &kRows[i] : &kContiguousRows[i - kRowCount];
    size_t message = 0, arena = 0;
    row_size(r, &message, &arena);
    fprintf(g_answer, "row\tindex=%d\tpattern=%s\tbytes=%zu\tarena=%zu\tcontiguous=%d\tdescription=%s\n", i,
            r->pattern->name, message, arena, i >= kRowCount, r->pattern->description);
  }
  answer("ok");
}

// Packing, made when first needed: the packed message, and buffer and type of either direction.
static char* g_dense;
static struct message_end g_typed[2];

static void close_row(void) {
  for (int unpack = 0; g_dense != NULL && unpack < 2; unpack++) MPI_Type_free(&g_typed[unpack].type);
  free(g_dense);
  g_dense = NULL;
  free(g_other_arena);
  g_other_arena = NULL;
  if (g_row.pattern != NULL) instance_close(&g_row);
}

static void open_row(int index) {
  close_row();
  if (index < 0 || index >= kRowCount + kContiguousRowCount) {
    answer("error\tno row %d", index);
    return;
  }
  const struct row* r = index < kRowCount ? &kRows[index] : &kContiguousRows[index - kRowCount];
  size_t message = 0, arena = 0;
  row_size(r, &message, &arena);
  const size_t available = available_memory();
  // Two ranks, and rank 0's second arena for the hand-written loops.
  if (available / 3 < arena || instance_open(&g_row, r) != 0) {
    answer(
        "error\tnot enough memory for %s with %zu bytes: 3 times %zu MiB are needed, %zu MiB are available; "
        "leave the row out with --pattern",
        r->pattern->name, message, arena >> 20, available >> 20);
    return;
  }
  g_fill = (struct fill){0xb45e0000u + (uint32_t)index, 1};
  fill_arena(&g_row, g_row.arena, g_rank, g_fill, 1);
  answer("ok");
}

static void answer_check(int whole, const char* results) {
  char text[300];
  if (check_arena(&g_row, g_row.arena, g_rank, g_fill, whole, text, sizeof text))
    answer("ok%s", results);
  else
    answer("wrong\t%s", text);
}

static void verify_row(uint32_t seed) {
  g_fill.seed = seed;
  fill_arena(&g_row, g_row.arena, g_rank, g_fill, 0);
  MPI_Barrier(MPI_COMM_WORLD);  // no message before both arenas are fresh
  if (g_rank == 0) {
    send_message();
    poison_receive(&g_row, g_row.arena);
    receive_message();
  } else {
    receive_message();
    send_message();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  answer_check(1, "");
}

static void time_row(uint32_t seed, int touch, long warm, long n, int blocks) {
  double* samples = checked_malloc((size_t)blocks * sizeof *samples);
  g_fill.seed = seed;
  fill_arena(&g_row, g_row.arena, g_rank, g_fill, 0);
  g_tag = touch ? kTouchedTag : kTag;
  MPI_Barrier(MPI_COMM_WORLD);
  round_trips(warm, touch);
  counters_begin();
  for (int b = 0; b < blocks; b++) {
    report_progress();
    const double start = now();
    round_trips(n, touch);
    samples[b] = (now() - start) / (2.0 * (double)n) * 1e6;
  }
  counters_end();
  MPI_Barrier(MPI_COMM_WORLD);
  const double alone = touch ? time_copy(touch_alone, NULL, NULL, kSecondsAlone) : 0;
  if (touch)
    for (int b = 0; b < blocks; b++)
      samples[b] = samples[b] > alone + kShortest ? samples[b] - alone : kShortest;
  char results[400];
  time_fields(samples, blocks, results, 200);
  if (touch) snprintf(results + strlen(results), 40, "\ttouching=%.9g", alone);
  const size_t used = strlen(results);
  counter_fields(2.0 * (double)n * blocks, results + used, sizeof results - used);
  free(samples);
  answer_check(0, results);
}

static void count_events(const char* names) {
  const char* why = counters_open(names);
  if (why == NULL)
    answer("ok");
  else
    answer("error\t%s", why);
}

static void copy_direct(char* to, const char* from) {
  g_row.pattern->direct(&g_row, to, from);
}
static void copy_dense(char* to, const char* from) {
  memcpy(to, from, g_row.elements * g_row.pattern->element);
  __asm__ volatile("" : : "r"(to) : "memory");  // the copy is wanted though nobody reads it
}

static void measure_limits(double seconds, int core) {
  if (g_rank != 0) {
    answer("ok");
    return;
  }
  if (g_other_arena == NULL) g_other_arena = new_arena(&g_row);
  const size_t bytes = g_row.elements * g_row.pattern->element;
  char* from = aligned_alloc(64, (bytes + 63) / 64 * 64);
  char* to = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (g_other_arena == NULL || from == NULL || to == NULL) {
    answer("error\tnot enough memory to measure the limits of %s", g_row.pattern->name);
  } else {
    memset(from, 1, bytes);
    memset(to, 2, bytes);
    const double memcpy_us = time_copy(copy_dense, to, from, seconds / 3);
    fill_arena(&g_row, g_row.arena, 0, g_fill, 0);
    fill_arena(&g_row, g_other_arena, 1, g_fill, 0);
    const double direct_us = time_copy(copy_direct, g_other_arena, g_row.arena, seconds / 3);
    char text[300], limit[100] = "";
    const int right = check_arena(&g_row, g_other_arena, 1, g_fill, 0, text, sizeof text);
    struct crossing c;
    if (measure_crossing(&g_row, (char* [2]){g_row.arena, g_other_arena}, core, seconds / 3, &c) == 0)
      snprintf(limit, sizeof limit, "\tcrossing=%.9g\ttouching=%.9g",
               c.in_place < c.packed ? c.in_place : c.packed,
               time_copy(touch_in_place, g_row.arena, g_row.arena, kSecondsAlone));
    if (right)
      answer("ok\tmemcpy=%.9g\tdirect=%.9g%s", memcpy_us, direct_us, limit);
    else
      answer("wrong\thand-written loops: %s", text);
  }
  free(from);
  free(to);
}

// ---- packing

static size_t dense_bytes(void) {
  return g_row.elements * g_row.pattern->element;
}

// Element k of the packed message lies at element k of this list in the arena.
static const uint32_t* places(int unpack) {
  return unpack ? g_row.to : g_row.from;
}
static int same_elements(int unpack) {
  const size_t element = g_row.pattern->element;
  for (size_t k = 0; k < g_row.elements; k++)
    if (memcmp(g_dense + k * element, g_row.arena + places(unpack)[k] * element, element) != 0) return 0;
  return 1;
}
// Makes the destination differ from the source in every byte.
static void spoil(int unpack) {
  const size_t element = g_row.pattern->element;
  for (size_t k = 0; k < g_row.elements; k++) {
    char *a = g_dense + k * element, *b = g_row.arena + places(unpack)[k] * element;
    for (size_t i = 0; i < element; i++) {
      if (unpack)
        a[i] = (char)(k * 31 + i * 7 + 1), b[i] = (char)~a[i];
      else
        a[i] = (char)~b[i];
    }
  }
}

static int pack_once(int unpack) {
  int position = 0;
  const int bytes = (int)dense_bytes();
  const struct message_end* t = &g_typed[unpack];
  if (unpack)
    MPI_Unpack(g_dense, bytes, &position, t->buffer, t->count, t->type, MPI_COMM_WORLD);
  else
    MPI_Pack(t->buffer, t->count, t->type, g_dense, bytes, &position, MPI_COMM_WORLD);
  return position;
}

// MPICH's MPI_Pack refuses MPI_BOTTOM (a null pointer): addresses become displacements in the arena.
static struct message_end typed_end(struct message_end end) {
  MPI_Aint arena = 0;
  const int one = 1;
  MPI_Datatype type;
  if (end.buffer != MPI_BOTTOM) {
    MPI_Type_dup(end.type, &end.type);
    return end;
  }
  MPI_Get_address(g_row.arena, &arena);
  arena = -arena;
  MPI_Type_create_hindexed(1, &one, &arena, end.type, &type);
  MPI_Type_commit(&type);
  return (struct message_end){g_row.arena, end.count, type};
}

// Memory for the packed message, the size that the MPI library asks for.
static int make_dense(void) {
  if (g_dense != NULL) return 1;
  int packed = 0;
  MPI_Pack_size(g_row.send.count, g_row.send.type, MPI_COMM_WORLD, &packed);
  const size_t bytes = (size_t)packed > dense_bytes() ? (size_t)packed : dense_bytes();
  g_dense = aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (g_dense == NULL) return 0;
  g_typed[0] = typed_end(g_row.send);
  g_typed[1] = typed_end(g_row.receive);
  return 1;
}

static void time_pack(int unpack, long warm, long n, int blocks) {
  if (g_rank != 0) {
    answer("ok");
    return;
  }
  if (!make_dense()) {
    answer("error\tnot enough memory to pack %s", g_row.pattern->name);
    return;
  }
  double* samples = checked_malloc((size_t)blocks * sizeof *samples);
  spoil(unpack);
  const int position = pack_once(unpack);
  const int right = position == (int)dense_bytes() && same_elements(unpack);
  for (long i = 0; i < warm; i++) pack_once(unpack);
  for (int b = 0; b < blocks; b++) {
    report_progress();
    const double start = now();
    for (long i = 0; i < n; i++) pack_once(unpack);
    samples[b] = (now() - start) / (double)n * 1e6;
  }
  if (right && same_elements(unpack))
    answer_times(samples, blocks);
  else
    answer("wrong\t%s: %s left other bytes than the type map says (position %d of %zu)", g_row.pattern->name,
           unpack ? "MPI_Unpack" : "MPI_Pack", position, dense_bytes());
  free(samples);
}

static void hand_pack(char* to, const char* from) {
  pack_by_hand(&g_row, to, from);
}
static void hand_unpack(char* to, const char* from) {
  unpack_by_hand(&g_row, to, from);
}
static void measure_hand(int unpack, double seconds) {
  if (g_rank != 0) {
    answer("ok");
    return;
  }
  char* other = aligned_alloc(64, (dense_bytes() + 127) / 64 * 64);
  if (other == NULL || !make_dense()) {
    answer("error\tnot enough memory to measure the limits of %s", g_row.pattern->name);
  } else {
    memset(other, 1, dense_bytes());
    spoil(unpack);
    double direct_us;
    if (unpack)
      direct_us = time_copy(hand_unpack, g_row.arena, g_dense, seconds / 2);
    else
      direct_us = time_copy(hand_pack, g_dense, g_row.arena, seconds / 2);
    const int right = same_elements(unpack);
    const double memcpy_us = time_copy(copy_dense, other, g_dense, seconds / 2);
    if (right)
      answer("ok\tmemcpy=%.9g\tdirect=%.9g", memcpy_us, direct_us);
    else
      answer("wrong\thand-written loops of %s and the type map disagree", g_row.pattern->name);
  }
  free(other);
}

// Carries out one command; returns 0 after "quit".
static int obey(char* line) {
  unsigned seed;
  int touch, blocks, index, unpack, core;
  long warm, n;
  double us;
  const int is_open = g_row.pattern != NULL, two = is_open && g_ranks == 2;
  if (strcmp(line, "list") == 0) {
    list_rows();
  } else if (sscanf(line, "open %d", &index) == 1) {
    open_row(index);
  } else if (is_open && sscanf(line, "pack %d %ld %ld %d", &unpack, &warm, &n, &blocks) == 4 && n > 0 &&
             blocks > 0 && blocks <= kMaxBlocks) {
    time_pack(unpack, warm, n, blocks);
  } else if (is_open && sscanf(line, "hand %d %lf", &unpack, &us) == 2) {
    measure_hand(unpack, us * 1e-6);
  } else if (two && sscanf(line, "verify %u", &seed) == 1) {
    verify_row(seed);
  } else if (two && sscanf(line, "time %u %d %ld %ld %d", &seed, &touch, &warm, &n, &blocks) == 5 && n > 0 &&
             blocks > 0 && blocks <= kMaxBlocks) {
    time_row(seed, touch, warm, n, blocks);
  } else if (strncmp(line, "count ", 6) == 0) {
    count_events(line + 6);
  } else if (is_open && sscanf(line, "limits %lf %d", &us, &core) == 2) {
    measure_limits(us * 1e-6, core);
  } else if (strcmp(line, "close") == 0) {
    close_row();
    answer("ok");
  } else if (strcmp(line, "quit") == 0) {
    return 0;
  } else {
    answer("error\tcommand not understood: %s", line);
  }
  return 1;
}

int main(int argc, char** argv) {
  return serve(argc, argv, 2, obey, close_row);
}
