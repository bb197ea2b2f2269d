/* Random tests of MPI one-sided communication against a sequential model.
 *
 *   random SEED ROUNDS [fence|pscw|lock|atomics|types|dynamic|errors|all]
 *
 * All ranks draw all decisions from the same generator, so each knows the contents that every rank's
 * window must have. A round opens a few windows, runs a few epochs on them and closes them again.
 * An epoch is planned as tasks: each owns a range of one target's window, so that tasks never
 * conflict, and what happens within a task is ordered by MPI's rules or commutes. The plan is
 * applied to the model in one order, executed by everybody, and compared. */
#include "windows.h"

static Plan g_plan[2];
static Rng g_rng;

/* ================= epochs ================= */
static void allow_all(Plan* p, int n) {
  for (int o = 0; o < n; o++)
    for (int t = 0; t < n; t++) p->allow[o][t] = true;
}
static void add_tasks(Plan* p, Win* w, int slot) {
  for (int k = (int)between(&w->rng, 1, 3 + 3 * w->n); k-- > 0;) add_task(p, w, slot);
}
/* One or two phases: fence, operations, fence[, operations, fence]. */
static void fence_epoch(Win* w) {
  Rng* r = &w->rng;
  int phases = chance(r, 40) ? 2 : 1, a;
  w->stored = false;
  bool noprecede = chance(r, 50), nosucceed = chance(r, 50);
  note("fence epoch, %d phases%s%s on %s", phases, noprecede ? " NOPRECEDE" : "",
       nosucceed ? " NOSUCCEED" : "", WNAME[w->kind]);
  for (int i = 0; i < phases; i++) {
    plan_begin(&g_plan[i], false, i > 0);
    allow_all(&g_plan[i], w->n);
    add_tasks(&g_plan[i], w, 0);
    plan_finish(&g_plan[i]);
  }
  Rng own = my_rng(w);
  dawdle(w);
  a = noprecede ? MPI_MODE_NOPRECEDE : 0;
  if (!w->stored && chance(&own, 60)) a |= MPI_MODE_NOSTORE;
  for (int i = 0; i < phases; i++) {
    if (!g_plan[i].updated[w->me] && chance(&own, 50)) a |= MPI_MODE_NOPUT;
    MPI_Win_fence(a, w->win);
    run_ops(&g_plan[i], w);
    a = chance(&own, 50) ? MPI_MODE_NOSTORE : 0;
  }
  dawdle(w);
  if (nosucceed) a |= MPI_MODE_NOSUCCEED | (chance(&own, 50) ? MPI_MODE_NOPUT : 0);
  MPI_Win_fence(a, w->win);
  for (int i = 0; i < phases; i++) finish_ops(&g_plan[i], w);
  check_memory(w, w->mem, w->me, "after fence");
  for (int i = 0; i < phases; i++) plan_free(&g_plan[i]);
}
static MPI_Group group_of(Win* w, const bool* member, int* n) {
  int ranks[MAXR];
  MPI_Group g;
  *n = 0;
  for (int i = w->n; i-- > 0;)
    if (member[i]) ranks[(*n)++] = i; /* not in rank order, which must not matter */
  MPI_Group_incl(w->group, *n, ranks, &g);
  return g;
}
static void pscw_epoch(Win* w) {
  Rng* r = &w->rng;
  Plan* p = &g_plan[0];
  int density = (int)between(r, 20, 100), na, ne, flag = 0;
  bool nocheck = chance(r, 30), test = chance(r, 40), expose[MAXR], empty = chance(r, 30);
  w->stored = false;
  plan_begin(p, false, false);
  for (int o = 0; o < w->n; o++)
    for (int t = 0; t < w->n; t++) p->allow[o][t] = chance(r, density);
  for (int o = 0; o < w->n; o++) expose[o] = p->allow[o][w->me];
  add_tasks(p, w, 0);
  plan_finish(p);
  MPI_Group access = group_of(w, p->allow[w->me], &na), exposure = group_of(w, expose, &ne);
  /* Open MPI 4.1.4 (osc/sm): post and start with MPI_MODE_NOCHECK hang, on shared windows and on one process */
  if (q_ompi && (w->kind == W_SHARED || w->n == 1)) nocheck = false;
  note("pscw epoch%s: access to %d, exposed to %d on %s", nocheck ? " NOCHECK" : "", na, ne, WNAME[w->kind]);
  Rng own = my_rng(w);
  int a = (nocheck ? MPI_MODE_NOCHECK : 0) | (!p->updated[w->me] && chance(&own, 60) ? MPI_MODE_NOPUT : 0);
  if (!w->stored && chance(&own, 50)) a |= MPI_MODE_NOSTORE;
  dawdle(w);
  /* MPICH 4.0.2 counts posts without regard to who posted: one for the next epoch that comes before a slower
     * rank's start makes that hang */
  if (q_mpich) MPI_Barrier(w->comm);
  if (ne || empty) MPI_Win_post(exposure, a, w->win);
  if (nocheck) MPI_Barrier(w->comm);
  if (na || empty) {
    MPI_Win_start(access, nocheck ? MPI_MODE_NOCHECK : 0, w->win);
    run_ops(p, w);
    MPI_Win_complete(w->win);
    finish_ops(p, w);
  } else
    run_ops(p, w);
  if ((ne || empty) && test)
    while (!flag) MPI_Win_test(w->win, &flag);
  else if (ne || empty)
    MPI_Win_wait(w->win);
  check_memory(w, w->mem, w->me, "after pscw epoch");
  MPI_Group_free(&access);
  MPI_Group_free(&exposure);
  plan_free(p);
}
enum { L_NONE, L_SHARED, L_EXCLUSIVE };
typedef struct {
  char one[MAXR][MAXR];
  bool all[MAXR], exclusive, nocheck, up;
  int away, wait;
} Locks;
/* Who locks what: lock_all, or single targets; one rank may stay away from the epoch altogether. */
static Locks pick_locks(Plan* p, Win* w) {
  Rng* r = &w->rng;
  Locks l = {.away = w->n > 1 && chance(r, 35) ? (int)below(r, w->n) : -1,
             .wait = (int)below(r, 3),
             .up = chance(r, 50)};
  int excl = chance(r, 50) ? 0 : (int)between(r, 10, 100), density = (int)between(r, 30, 100);
  /* lock_all may take the locks in any order: nobody may then hold an exclusive one and wait for another */
  bool may_all = chance(r, 50), single = excl && may_all;
  for (int o = 0; o < w->n; o++) {
    int only = (int)below(r, w->n);
    l.all[o] = may_all && o != l.away && chance(r, 60);
    for (int t = 0; t < w->n && o != l.away; t++) {
      if (!l.all[o] && (single ? t == only : chance(r, density)))
        l.one[o][t] = chance(r, excl) ? L_EXCLUSIVE : L_SHARED;
      if (l.one[o][t] == L_EXCLUSIVE) l.exclusive = true;
      p->allow[o][t] = l.all[o] || l.one[o][t];
    }
  }
  /* MPICH 4.0.2 (ch4:ucx): after lock(NOCHECK) and unlock, the next lock of that window hangs */
  l.nocheck = !l.exclusive && !q_mpich && chance(r, 30);
  return l;
}
static void lock_targets(Win* w, const Locks* l) {
  int a = l->nocheck ? MPI_MODE_NOCHECK : 0;
  if (l->all[w->me]) MPI_Win_lock_all(a, w->win);
  for (int t = 0; t < w->n; t++) /* all in rank order, so that nobody waits in a circle */
    if (l->one[w->me][t])
      MPI_Win_lock(l->one[w->me][t] == L_SHARED ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, t, a, w->win);
}
static void unlock_targets(Win* w, const Locks* l) {
  if (l->all[w->me]) MPI_Win_unlock_all(w->win);
  for (int i = 0; i < w->n; i++) {
    int t = l->up ? i : w->n - 1 - i;
    if (l->one[w->me][t]) MPI_Win_unlock(t, w->win);
  }
}
/* The rank that is away sits in a receive, in a barrier, or computes, while the others work on its window. */
static void be_away(Win* w, int how) {
  Rng own = my_rng(w);
  if (how == 1) usleep((unsigned)between(&own, 500, 4000));
  for (int i = 0; how == 0 && i < w->n - 1; i++)
    MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 8, w->comm, MPI_STATUS_IGNORE);
}
static void passive_epoch(Win* w, Win* w2) {
  Plan* p = &g_plan[0];
  bool two = w2 && w2->win != w->win;
  plan_begin(p, true, false);
  Locks l = pick_locks(p, w);
  note("passive epoch on %s%s%s: %s%s%s, rank %d away (%d)", WNAME[w->kind], w2 ? " and " : "",
       w2 ? WNAME[w2->kind] : "", l.all[w->me] ? "lock_all" : "lock", l.exclusive ? " (some exclusive)" : "",
       l.nocheck ? " NOCHECK" : "", l.away, l.wait);
  lock_self(w, MPI_LOCK_EXCLUSIVE);
  if (two) lock_self(w2, MPI_LOCK_EXCLUSIVE);
  add_tasks(p, w, 0);
  if (w2) add_tasks(p, w2, 1);
  if (two) MPI_Win_unlock(w2->me, w2->win);
  MPI_Win_unlock(w->me, w->win);
  plan_finish(p);
  MPI_Barrier(w->comm);
  dawdle(w);
  if (w->me == l.away) {
    run_ops(p, w);
    be_away(w, l.wait);
  } else {
    lock_targets(w, &l);
    if (two) lock_targets(w2, &l);
    run_ops(p, w);
    wait_requests(p, w, !l.exclusive && l.away < 0);
    dawdle(w);
    if (two) unlock_targets(w2, &l);
    unlock_targets(w, &l);
    finish_ops(p, w);
    if (l.away >= 0 && l.wait == 0) MPI_Send(NULL, 0, MPI_INT, l.away, 8, w->comm);
  }
  MPI_Barrier(w->comm);
  check_locked(w);
  if (w2) check_locked(w2);
  plan_free(p);
}

/* ================= atomicity ================= */
/* A cell at byte off of target's window, set to value by the target itself; false if there is no room. */
typedef struct {
  int target, times, style;
  long off;
  MPI_Aint disp;
} Cell;
static bool pick_cell(Win* w, long need, Cell* c) {
  Rng* r = &w->rng;
  *c = (Cell){.target = (int)below(r, w->n), .times = (int)between(r, 1, 12), .style = (int)below(r, 4)};
  long al = w->unit[c->target];
  while (al % 16) al *= 2;
  long slots = (w->size[c->target] - need) / al;
  if (w->size[c->target] < need) return false;
  c->off = al * below(r, slots + 1);
  c->disp = w->dyn ? MPI_Aint_add(w->addr[c->target], c->off) : c->off / w->unit[c->target];
  return true;
}
static void set_cell(Win* w, const Cell* c, const void* value, long n) {
  memcpy(w->model[c->target] + c->off, value, (size_t)n);
  memset(w->care[c->target] + c->off, 1, (size_t)n);
}
/* The target stores n bytes of value; the barrier lets nobody work on the cell before that. */
static void start_cell(Win* w, const Cell* c, const void* value, long n) {
  set_cell(w, c, value, n);
  lock_self(w, MPI_LOCK_EXCLUSIVE);
  if (w->me == c->target) memcpy(w->mem + c->off, value, (size_t)n);
  MPI_Win_unlock(w->me, w->win);
  MPI_Barrier(w->comm);
}
static void cell_lock(Win* w, const Cell* c) {
  if (c->style == 0)
    MPI_Win_lock_all(0, w->win);
  else
    MPI_Win_lock(c->style == 1 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, c->target, 0, w->win);
}
static void cell_unlock(Win* w, const Cell* c) {
  if (c->style == 0)
    MPI_Win_unlock_all(w->win);
  else
    MPI_Win_unlock(c->target, w->win);
}
static void end_cells(Win* w) {
  MPI_Barrier(w->comm);
  check_locked(w);
}
static int by_value(const void* a, const void* b) {
  uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
  return x < y ? -1 : x > y;
}
/* Concurrent fetch_and_op(SUM, 1): the tickets are all different, and each rank's own ones ascend. */
static void tickets(Win* w) {
  Cell c;
  int b;
  uint64_t mine[12] = {0}, all[12 * MAXR], first, one = 1, last;
  do b = (int)below(&w->rng, NB);
  while (!is_int(b));
  if (!pick_cell(w, 16, &c)) return;
  first = (uint64_t)below(&w->rng, 20);
  last = first + (uint64_t)(c.times * w->n);
  bool gacc = chance(&w->rng, 30);
  note("tickets: %d per rank from %d with %s on %s, %s, style %d", c.times, c.target, B[b].name,
       WNAME[w->kind], gacc ? "get_accumulate" : "fetch_and_op", c.style);
  start_cell(w, &c, &first, B[b].size);
  cell_lock(w, &c);
  for (int i = 0; i < c.times; i++) {
    if (gacc)
      MPI_Get_accumulate(&one, 1, B[b].t, &mine[i], 1, B[b].t, c.target, c.disp, 1, B[b].t, MPI_SUM, w->win);
    else
      MPI_Fetch_and_op(&one, &mine[i], B[b].t, c.target, c.disp, MPI_SUM, w->win);
    if (i & 1)
      MPI_Win_flush(c.target, w->win);
    else
      MPI_Win_flush_local(c.target, w->win);
    if (i && mine[i] <= mine[i - 1]) die("ticket %d after %d", (int)mine[i], (int)mine[i - 1]);
  }
  cell_unlock(w, &c);
  MPI_Allgather(mine, c.times, MPI_UINT64_T, all, c.times, MPI_UINT64_T, w->comm);
  qsort(all, (size_t)(c.times * w->n), sizeof all[0], by_value);
  for (int i = 0; i < c.times * w->n; i++)
    if (all[i] != first + (uint64_t)i)
      die("ticket %d of %d is %d, should be %d", i, c.times * w->n, (int)all[i], (int)first + i);
  set_cell(w, &c, &last, B[b].size);
  end_cells(w);
}
/* Adds 1 with get, flush, put, flush: not atomic by itself, so it needs the caller's lock. */
static void bump(Win* w, const Cell* c, MPI_Aint disp) {
  long v = -1;
  MPI_Get(&v, 1, MPI_LONG, c->target, disp, 1, MPI_LONG, w->win);
  MPI_Win_flush(c->target, w->win);
  v++;
  MPI_Put(&v, 1, MPI_LONG, c->target, disp, 1, MPI_LONG, w->win);
  MPI_Win_flush(c->target, w->win);
}
/* compare_and_swap as a spin lock that guards a counter next to it. */
static void spin_lock(Win* w) {
  Cell c;
  struct {
    int lock, pad[3];
    long counter;
  } init = {0, {1, 2, 3}, 1000};
  if (!pick_cell(w, sizeof init, &c)) return;
  int me = w->me + 1, none = 0, old, unit = w->dyn ? 1 : w->unit[c.target];
  if (16 % unit) return;         /* no displacement leads to the counter */
  if (c.style == 1) c.style = 0; /* exclusive locks would make it pointless */
  note("spin lock: %d per rank at %d on %s, style %d", c.times, c.target, WNAME[w->kind], c.style);
  start_cell(w, &c, &init, sizeof init);
  cell_lock(w, &c);
  for (int i = 0; i < c.times; i++) {
    for (old = -1; old != 0;) {
      MPI_Compare_and_swap(&me, &none, &old, MPI_INT, c.target, c.disp, w->win);
      MPI_Win_flush(c.target, w->win);
      if (old) usleep(20);
    }
    bump(w, &c, c.disp + 16 / unit);
    MPI_Compare_and_swap(&none, &me, &old, MPI_INT, c.target, c.disp, w->win);
    MPI_Win_flush(c.target, w->win);
    if (old != me) die("spin lock of %d is held by %d", me, old);
  }
  cell_unlock(w, &c);
  init.counter += c.times * w->n;
  set_cell(w, &c, &init, sizeof init);
  end_cells(w);
}
/* Read-modify-write under an exclusive lock; the target itself may be away instead. */
static void mutex(Win* w) {
  Cell c;
  long v = 5;
  if (!pick_cell(w, 16, &c)) return;
  bool away = w->n > 1 && (c.style & 1);
  note("exclusive lock: %d per rank at %d on %s%s", c.times, c.target, WNAME[w->kind],
       away ? ", target away" : "");
  start_cell(w, &c, &v, sizeof v);
  if (away && w->me == c.target)
    be_away(w, 0);
  else {
    for (int i = 0; i < c.times; i++) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, c.target, 0, w->win);
      bump(w, &c, c.disp);
      MPI_Win_unlock(c.target, w->win);
    }
    if (away) MPI_Send(NULL, 0, MPI_INT, c.target, 8, w->comm);
  }
  v += c.times * (w->n - away);
  set_cell(w, &c, &v, sizeof v);
  end_cells(w);
}
/* All ranks add vectors onto the same place without any flush. */
static void hot_spot(Win* w) {
  enum { LEN = 24 };
  Cell c;
  int64_t add[LEN], v[LEN];
  if (!pick_cell(w, sizeof v, &c)) return;
  note("hot spot: %d per rank at %d on %s, style %d", c.times, c.target, WNAME[w->kind], c.style);
  for (int i = 0; i < LEN; i++) add[i] = (int64_t)rnd(&w->rng), v[i] = i;
  start_cell(w, &c, v, sizeof v);
  cell_lock(w, &c);
  for (int i = 0; i < c.times; i++)
    MPI_Accumulate(add, LEN, MPI_INT64_T, c.target, c.disp, LEN, MPI_INT64_T, MPI_SUM, w->win);
  cell_unlock(w, &c);
  for (int i = 0; i < LEN; i++)
    v[i] = (int64_t)((uint64_t)v[i] + (uint64_t)add[i] * (uint64_t)(c.times * w->n));
  set_cell(w, &c, v, sizeof v);
  end_cells(w);
}
static void atomics(Win* w) {
  g_count[C_ATOMIC]++;
  switch (below(&w->rng, 4)) {
    case 0:
      tickets(w);
      break;
    case 1:
      spin_lock(w);
      break;
    case 2:
      mutex(w);
      break;
    default:
      hot_spot(w);
  }
}

/* ================= rounds ================= */
enum { COMMS = 5 };
static MPI_Comm g_comm[COMMS]; /* world, dup, half, reversed, self */
static bool g_small[COMMS];    /* a single process, on some rank at least */
static void init_comms(void) {
  int n;
  MPI_Comm node;
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  g_comm[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &g_comm[1]);
  MPI_Comm_split(MPI_COMM_WORLD, g_rank % 2, 0, &g_comm[2]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -g_rank, &g_comm[3]);
  g_comm[4] = MPI_COMM_SELF;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int size, all;
  MPI_Comm_size(node, &size);
  size = size == n;
  MPI_Allreduce(&size, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  g_one_node = all;
  MPI_Comm_free(&node);
  g_small[2] = n < 4;
  g_small[4] = true;
}
static void traffic(Win* w) {
  int x[2] = {w->me, -1}, root = (int)below(&w->rng, w->n);
  note("messages");
  MPI_Sendrecv(&x[0], 1, MPI_INT, (w->me + 1) % w->n, 3, &x[1], 1, MPI_INT, (w->me + w->n - 1) % w->n, 3,
               w->comm, MPI_STATUS_IGNORE);
  if (x[1] != (w->me + w->n - 1) % w->n) die("ring message %d", x[1]);
  MPI_Bcast(x, 1, MPI_INT, root, w->comm);
  if (x[0] != root) die("bcast from %d gave %d", root, x[0]);
  if (chance(&w->rng, 50)) MPI_Barrier(w->comm);
}
enum { E_FENCE, E_PSCW, E_PASSIVE, E_ATOMICS, E_ERRORS, E_OTHER };
static int pick_action(const char* kind, Rng* r) {
  int p = (int)below(r, 100);
  if (p < 10) return E_OTHER;
  if (!strcmp(kind, "fence")) return E_FENCE;
  if (!strcmp(kind, "pscw")) return E_PSCW;
  if (!strcmp(kind, "lock")) return E_PASSIVE;
  if (!strcmp(kind, "atomics")) return E_ATOMICS;
  if (!strcmp(kind, "errors") && p < 50) return E_ERRORS;
  return p < 30 ? E_FENCE : p < 50 ? E_PSCW : p < 80 ? E_PASSIVE : p < 96 ? E_ATOMICS : E_ERRORS;
}
static void act(int action, Win* w, Win* w2) {
  g_count[C_EPOCH]++;
  switch (action) {
    case E_FENCE:
      fence_epoch(w);
      break;
    case E_PSCW:
      pscw_epoch(w);
      break;
    case E_PASSIVE:
      passive_epoch(w, w2);
      break;
    case E_ATOMICS:
      atomics(w);
      break;
    case E_ERRORS:
      check_errors(w);
      break;
    default:
      if (w->kind == W_DYN && chance(&w->rng, 60))
        dyn_move(w);
      else if (chance(&w->rng, 50))
        check_attributes(w);
      else
        traffic(w);
  }
}
static int colour(int comm) {
  return comm == 2 ? g_rank % 2 : comm == 4 ? g_rank : 0;
}
/* Opens one more window: on any communicator, or over the memory of the first one. */
static void open_one(Win* ws, int* comm, int i, const char* kind) {
  Rng* r = &g_rng;
  int c = (int)below(r, COMMS), k = !strcmp(kind, "dynamic") ? W_DYN : (int)below(r, W_ALIAS);
  bool alias = i > 0 && chance(r, 40) && ws[0].kind != W_SHARED;
  if (k == W_SHARED && !g_one_node) k = W_ALLOC;
  uint64_t seed = rnd(r);
  /* Open MPI 4.1.4 (osc/rdma): windows made at a time on two halves of a communicator share one memory segment,
     * as its name has only the context id, which the halves have in common */
  if (q_ompi && c == 2 && !g_small[c]) c = 1;
  if (alias) {
    k = W_ALIAS;
    c = comm[0];
  }
  /* Open MPI 4.1.4: on one process MPI_Win_create and MPI_Win_create_dynamic return MPI_ERR_WIN */
  if (q_ompi && g_small[c] && k != W_SHARED) {
    k = W_ALLOC;
    alias = false;
  }
  comm[i] = c;
  win_open(&ws[i], k, alias ? &ws[0] : NULL, g_comm[c], (seed & ~254ull) + 2 * (uint64_t)colour(c), i);
  g_count[C_WIN]++;
}
static void play_round(const char* kind) {
  static Win ws[NWIN];
  int comm[NWIN], n = (int)between(&g_rng, 1, NWIN), epochs = (int)between(&g_rng, 3, 8);
  for (int i = 0; i < n; i++) open_one(ws, comm, i, kind);
  while (epochs-- > 0) {
    int i = (int)below(&g_rng, n), j = (int)below(&g_rng, n), action = pick_action(kind, &g_rng);
    bool overlap = (ws[i].base || ws[j].base) && !ws[i].dyn;
    act(action, &ws[i], i != j && comm[i] == comm[j] && !overlap ? &ws[j] : NULL);
  }
  for (int i = n; i-- > 0;) win_close(&ws[i]); /* an alias before what it aliases */
}
static void report(const char* kind, int rounds, int n) {
  long sum[K_KINDS + 4];
  MPI_Reduce(g_count, sum, K_KINDS + 4, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (g_rank) return;
  printf("ok %s seed=%lu rounds=%d ranks=%d windows=%ld epochs=%ld atomics=%ld", kind, g_seed, rounds, n,
         sum[C_WIN] / n, sum[C_EPOCH] / n, sum[C_ATOMIC] / n);
  for (int i = 0; i < K_KINDS; i++) printf(" %s=%ld", KNAME[i], sum[i]);
  printf(" requests=%ld\n", sum[C_REQ]);
}
int main(int argc, char** argv) {
  static const char* const kinds[] = {"fence", "pscw",    "lock",   "atomics",
                                      "types", "dynamic", "errors", "all"};
  int n, rounds = argc > 2 ? atoi(argv[2]) : 0, known = 0;
  const char *kind = argc > 3 ? argv[3] : "all", *limit = getenv("RMA_TIMEOUT");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  for (int i = 0; i < 8; i++) known |= !strcmp(kind, kinds[i]);
  if (argc < 3 || !known || n > MAXR) die("usage: random SEED ROUNDS [KIND], on at most %d ranks", MAXR);
  g_seed = strtoul(argv[1], NULL, 10);
  g_types = !strcmp(kind, "types");
  find_quirks();
  init_basics();
  init_comms();
  signal(SIGALRM, on_signal);
  signal(SIGSEGV, on_signal);
  signal(SIGBUS, on_signal);
  for (g_round = 0; g_round < rounds; g_round++) {
    alarm(limit ? (unsigned)atoi(limit) : 300);
    g_rng.s = g_seed * 1000003 + (uint64_t)g_round * 7919;
    play_round(kind);
  }
  alarm(60);
  report(kind, rounds, n);
  for (int i = 1; i < 4; i++) MPI_Comm_free(&g_comm[i]);
  MPI_Finalize();
  return 0;
}
