/* Windows of every kind, each with a model of every rank's window memory, and the checks on them;
 * and operations on them: planned by all ranks alike, applied to the models, executed, compared. */
#ifndef RMA_WIN_H
#define RMA_WIN_H
#include "types.h"

enum { W_HEAP, W_STATIC, W_SUB, W_ALLOC, W_SHARED, W_DYN, W_ALIAS, W_KINDS };
static const char* const WNAME[W_KINDS] = {
    "create(heap)", "create(static)", "create(sub-range)", "allocate", "allocate_shared", "dynamic", "alias"};
enum { NWIN = 3, STATIC_SIZE = 1 << 14, LARGE = 4 << 20 };

/* ================= windows ================= */
/* An alias is a second window over part of another's memory, or, for a dynamic window, a second
 * attached region of the same MPI window. model/care: contents, and which bytes are defined. */
typedef struct Win {
  MPI_Win win;
  MPI_Comm comm;
  MPI_Group group;
  int n, me, kind;
  struct Win* base;
  bool dyn, large, stored; /* stored: this rank wrote to its window memory in the current epoch's plan */
  Rng rng;                 /* the same on all ranks of comm */
  long size[MAXR];
  int unit[MAXR];
  MPI_Aint addr[MAXR];
  u8 *mem, *heap, *model[MAXR], *care[MAXR];
} Win;

static _Alignas(64) u8 g_static[NWIN][STATIC_SIZE];
static bool g_one_node;

/* Random numbers for decisions that a rank takes alone. */
static Rng my_rng(const Win* w) {
  return (Rng){w->rng.s + 77 * (uint64_t)(w->me + 1)};
}
static void lock_self(Win* w, int type) {
  MPI_Win_lock(type, w->me, 0, w->win);
}
static void check_memory(const Win* w, const u8* mem, int r, const char* when) {
  long i = differs(mem, w->model[r], w->care[r], w->size[r]);
  if (i < 0) return;
  die("%s: %s window of rank %d/%d differs at byte %ld of %ld: expected %s found %s", when, WNAME[w->kind], r,
      w->n, i, w->size[r], hex(w->model[r] + i, w->size[r] - i), hex(mem + i, w->size[r] - i));
}
/* Load/store access to the other ranks' parts of a shared window. */
static void check_shared(Win* w) {
  MPI_Win_lock_all(0, w->win);
  MPI_Win_sync(w->win);
  MPI_Barrier(w->comm);
  MPI_Win_sync(w->win);
  for (int r = 0; r < w->n; r++) {
    MPI_Aint size;
    int unit;
    u8* p;
    MPI_Win_shared_query(w->win, r, &size, &unit, &p);
    if (q_ompi && size > w->size[r])
      size = w->size[r]; /* 4.1.4 rounds it up to pages with alloc_shared_noncontig */
    if (size != w->size[r] || (size && unit != w->unit[r]))
      die("shared_query of rank %d: size %ld unit %d, should be %ld %d", r, (long)size, unit, w->size[r],
          w->unit[r]);
    check_memory(w, p, r, "load from a shared window");
  }
  MPI_Barrier(w->comm);
  MPI_Win_unlock_all(w->win);
}
/* After a passive epoch; the caller has made sure by a barrier that all origins are done. */
static void check_locked(Win* w) {
  lock_self(w, chance(&w->rng, 50) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE);
  check_memory(w, w->mem, w->me, "after passive epoch");
  MPI_Win_unlock(w->me, w->win);
  if (w->kind != W_SHARED || chance(&w->rng, 60)) return;
  MPI_Barrier(w->comm); /* lock_all must not come before another rank's exclusive lock */
  check_shared(w);
}

/* ---- creation ---- */
static long pick_size(Win* w, int r) {
  Rng* g = &w->rng;
  int p = (int)below(g, 100);
  long n = p < 10   ? 0
           : p < 20 ? between(g, 1, 64)
           : p < 60 ? between(g, 64, 4096)
                    : between(g, 4096, STATIC_SIZE);
  if (w->large && r == 0) n = LARGE + between(g, 0, 1 << 19);
  if (w->kind >= W_ALLOC) n = round_up(n, 16); /* ranks' parts of a shared window lie next to one another */
  return n;
}
static void dyn_attach(Win* w) {
  MPI_Aint a;
  if (w->size[w->me]) MPI_Win_attach(w->win, w->mem, w->size[w->me]);
  MPI_Get_address(w->mem, &a);
  MPI_Allgather(&a, 1, MPI_AINT, w->addr, 1, MPI_AINT, w->comm);
}
static void dyn_detach(Win* w, u8* mem) {
  if (w->size[w->me]) MPI_Win_detach(w->win, mem);
}
static void get_memory(Win* w, int slot, long shift, MPI_Info info) {
  long size = w->size[w->me];
  int unit = w->unit[w->me];
  if (w->kind == W_ALLOC)
    MPI_Win_allocate(size, unit, info, w->comm, &w->mem, &w->win);
  else if (w->kind == W_SHARED)
    MPI_Win_allocate_shared(size, unit, info, w->comm, &w->mem, &w->win);
  else if (w->kind == W_STATIC)
    w->mem = g_static[slot];
  else if (w->base && !w->dyn)
    w->mem = w->base->mem + shift;
  else
    w->mem = (w->heap = grab(size + shift + 64)) + shift;
  if (w->kind <= W_SUB || (w->kind == W_ALIAS && !w->dyn))
    MPI_Win_create(size || slot & 1 ? w->mem : NULL, size, unit, info, w->comm, &w->win);
  if (w->kind == W_DYN) MPI_Win_create_dynamic(info, w->comm, &w->win);
  if (w->dyn) dyn_attach(w);
}
static MPI_Info pick_info(Rng* r) {
  MPI_Info i = MPI_INFO_NULL;
  if (chance(r, 70)) return i;
  MPI_Info_create(&i);
  MPI_Info_set(i, "accumulate_ops", "same_op_no_op");
  if (chance(r, 50)) MPI_Info_set(i, "accumulate_ordering", "rar,raw,war,waw");
  if (chance(r, 50)) MPI_Info_set(i, "alloc_shared_noncontig", "true");
  return i;
}
/* Writes the model's contents into this rank's memory, as a local store under a lock. */
static void store_all(Win* w) {
  lock_self(w, MPI_LOCK_EXCLUSIVE);
  if (w->size[w->me]) memcpy(w->mem, w->model[w->me], (size_t)w->size[w->me]);
  MPI_Win_unlock(w->me, w->win);
  MPI_Barrier(w->comm);
}
static void make_model(Win* w, const long* shift) {
  for (int r = 0; r < w->n; r++) {
    if (w->base && !w->dyn) { /* overlapping windows share the model as they share the memory */
      w->model[r] = w->base->model[r] + shift[r];
      w->care[r] = w->base->care[r] + shift[r];
      continue;
    }
    w->model[r] = grab(w->size[r]);
    w->care[r] = grab(w->size[r]);
    fill(&w->rng, w->model[r], w->size[r]);
    memset(w->care[r], 1, (size_t)w->size[r]);
  }
}
static void win_open(Win* w, int kind, Win* base, MPI_Comm comm, uint64_t seed, int slot) {
  static const int units[] = {1, 1, 2, 4, 8, 8, 16, 3, 12, 40};
  long shift[MAXR];
  bool same = seed & 1;
  *w = (Win){.comm = comm, .kind = kind, .base = base, .rng = {seed}};
  MPI_Comm_size(comm, &w->n);
  MPI_Comm_rank(comm, &w->me);
  MPI_Comm_group(comm, &w->group);
  w->dyn = kind == W_DYN || (base && base->dyn);
  w->large = kind != W_STATIC && !base && chance(&w->rng, 5);
  for (int r = 0; r < w->n; r++) {
    w->size[r] = pick_size(w, r);
    w->unit[r] = w->dyn ? 1 : same && r ? w->unit[0] : units[below(&w->rng, 10)];
    shift[r] = kind == W_SUB ? 16 * below(&w->rng, 20) : 0;
    if (!base || w->dyn) continue;
    /* MPICH 4.0.2 (ch4:ucx): windows that begin at different addresses of one registered range
         * are all accessed at the address of the first one */
    shift[r] = q_mpich ? 0 : 16 * below(&w->rng, base->size[r] / 16 + 1);
    w->size[r] = below(&w->rng, base->size[r] - shift[r] + 1);
  }
  note("open %s%s on %d ranks, rank %d, own size %ld unit %d", WNAME[kind], w->dyn ? " dyn" : "", w->n, w->me,
       w->size[w->me], w->unit[w->me]);
  MPI_Info info = pick_info(&w->rng);
  if (kind == W_ALIAS && w->dyn) w->win = base->win;
  get_memory(w, slot, shift[w->me], info);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  make_model(w, shift);
  store_all(w);
}
static void win_close(Win* w) {
  note("close %s", WNAME[w->kind]);
  if (w->dyn) dyn_detach(w, w->mem);
  if (!(w->dyn && w->base)) MPI_Win_free(&w->win);
  MPI_Group_free(&w->group);
  for (int r = 0; r < w->n && !(w->base && !w->dyn); r++) {
    free(w->model[r]);
    free(w->care[r]);
  }
  free(w->heap);
}
/* A dynamic window's region moves: attach a copy, detach the original. */
static void dyn_move(Win* w) {
  u8 *fresh = grab(w->size[w->me] + 64), *old = w->mem;
  note("move the attached region");
  lock_self(w, MPI_LOCK_EXCLUSIVE);
  memcpy(fresh, old, (size_t)w->size[w->me]);
  MPI_Win_unlock(w->me, w->win);
  bool attach_first = chance(&w->rng, 50);
  if (!attach_first) dyn_detach(w, old);
  w->mem = fresh;
  dyn_attach(w);
  if (attach_first) dyn_detach(w, old);
  free(w->heap);
  w->heap = fresh;
  store_all(w);
}

/* ---- attributes, group, name ---- */
static void* attr(Win* w, int key, const char* name) {
  void* v = NULL;
  int flag = 0;
  MPI_Win_get_attr(w->win, key, &v, &flag);
  if (!flag) die("window attribute %s is not set", name);
  return v;
}
static void check_attributes(Win* w) {
  int model = *(int*)attr(w, MPI_WIN_MODEL, "MODEL"),
      flavor = *(int*)attr(w, MPI_WIN_CREATE_FLAVOR, "FLAVOR"), cmp, len;
  int want = w->dyn                ? MPI_WIN_FLAVOR_DYNAMIC
             : w->kind == W_ALLOC  ? MPI_WIN_FLAVOR_ALLOCATE
             : w->kind == W_SHARED ? MPI_WIN_FLAVOR_SHARED
                                   : MPI_WIN_FLAVOR_CREATE;
  MPI_Aint size = *(MPI_Aint*)attr(w, MPI_WIN_SIZE, "SIZE");
  char in[MPI_MAX_OBJECT_NAME], out[MPI_MAX_OBJECT_NAME];
  MPI_Group g;
  note("attributes");
  if (flavor != want) die("flavor %d, should be %d", flavor, want);
  if (model != MPI_WIN_UNIFIED && model != MPI_WIN_SEPARATE) die("memory model %d", model);
  if (size != (w->dyn ? 0 : w->size[w->me])) die("MPI_WIN_SIZE %ld", (long)size);
  if (!w->dyn && *(int*)attr(w, MPI_WIN_DISP_UNIT, "DISP_UNIT") != w->unit[w->me]) die("MPI_WIN_DISP_UNIT");
  if (size && attr(w, MPI_WIN_BASE, "BASE") != (void*)w->mem) die("MPI_WIN_BASE");
  MPI_Win_get_group(w->win, &g);
  MPI_Group_compare(g, w->group, &cmp);
  if (cmp != MPI_IDENT) die("MPI_Win_get_group is not the communicator's group");
  MPI_Group_free(&g);
  snprintf(in, sizeof in, "window %ld", below(&w->rng, 1000));
  MPI_Win_set_name(w->win, in);
  MPI_Win_get_name(w->win, out, &len);
  if (strcmp(in, out) || len != (int)strlen(in)) die("window name '%s', should be '%s'", out, in);
}

/* ---- errors ---- */
static void must_fail(int err, const char* what) {
  if (err == MPI_SUCCESS) die("%s was not reported as an error", what);
}
static void check_errors(Win* w) {
  static long buf[2];
  note("errors");
  MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN);
  must_fail(MPI_Win_lock(MPI_LOCK_SHARED, w->n, 0, w->win), "lock of a rank out of range");
  must_fail(MPI_Win_lock(-77, 0, 0, w->win), "bad lock type");
  must_fail(MPI_Win_unlock(w->me, w->win), "unlock without lock");
  must_fail(MPI_Put(buf, 1, MPI_LONG, w->n + 3, 0, 1, MPI_LONG, w->win), "put to a rank out of range");
  must_fail(MPI_Get(buf, 1, MPI_LONG, -55, 0, 1, MPI_LONG, w->win), "get from a negative rank");
  MPI_Win_lock(MPI_LOCK_SHARED, w->me, 0, w->win);
  must_fail(MPI_Put(buf, -1, MPI_LONG, w->me, 0, 1, MPI_LONG, w->win), "put with a negative count");
  must_fail(MPI_Accumulate(buf, 1, MPI_LONG, w->n, 0, 1, MPI_LONG, MPI_SUM, w->win),
            "accumulate out of range");
  MPI_Win_unlock(w->me, w->win);
  must_fail(MPI_Win_unlock(w->me, w->win), "second unlock");
  MPI_Win_set_errhandler(w->win, MPI_ERRORS_ARE_FATAL);
  MPI_Barrier(w->comm);
}

/* ================= operations ================= */
enum { K_PUT, K_GET, K_ACC, K_GACC, K_FOP, K_CAS, K_KINDS, MAXOPS = 400, MAXREQ = MAXOPS + 4 };
enum { A_NONE, A_FLUSH, A_FLUSH_ALL, A_LOCAL, A_LOCAL_ALL, A_SYNC };
enum { R_NONE, R_WAIT, R_TEST, R_DEFER };
static const char* const KNAME[K_KINDS] = {
    "put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap"};
static const char* const ANAME[] = {"",         " flush", " flush_all", " flush_local", " flush_local_all",
                                    " win_sync"};

/* A range of one target's window, described by a target type, and what the task may do there. */
typedef struct {
  Win* w;
  bool plain;
  int target, tcount;
  Sig sig;
  long n, off;
  Layout* tl;
  uint64_t key;
} Task;
typedef struct {
  Task t;
  int kind, op, origin, after, rq, seq, ocount, rcount;
  uint64_t key;
  bool unchecked, hit, done; /* unchecked: the fetched value depends on the order of the origins */
  Layout *ol, *rl;
  u8 *data, *cmp, *want,
      *wcare; /* packed elements: to send, to compare with, expected back and whether defined */
  u8 *obuf, *rbuf;
  MPI_Request req;
} Op;
typedef struct {
  bool passive, keep; /* keep: no local stores, because the epoch is already running */
  bool allow[MAXR][MAXR], updated[MAXR];
  long cursor[2][MAXR];
  Op v[MAXOPS];
  int n, nl;
  Layout* l[5 * MAXOPS];
} Plan;

static bool g_types; /* prefer complicated datatypes */
static long g_count[K_KINDS + 4];
enum { C_REQ = K_KINDS, C_EPOCH, C_WIN, C_ATOMIC };

/* ================= planning ================= */
static Layout* plan_layout(Plan* p, const Sig* s, long n, int levels, Rng* r, int* count) {
  return p->l[p->nl++] = make_layout(s, n, levels, r, count);
}
static int pick_levels(Rng* r) {
  return g_types ? (int)between(r, 1, 3) : chance(r, 40) ? 0 : (int)below(r, 4);
}
static long pick_n(Rng* r, bool large) {
  int p = (int)below(r, 100);
  if (large) return 1L << between(r, 14, 22);
  return p < 5    ? 0
         : p < 30 ? 1
         : p < 55 ? between(r, 2, 12)
         : p < 85 ? 6 * between(r, 2, 40)
                  : 8 * between(r, 20, 200);
}
static Sig pick_sig(Rng* r, bool one, int op) {
  Sig s = {one || chance(r, g_types ? 40 : 70) ? 1 : (int)between(r, 2, MAXSIG), {0}};
  for (int i = 0; i < s.m; i++) do
      s.b[i] = (int)below(r, NB);
    while (one && op >= 0 && op != NO_OP && !op_fits(s.b[i], op));
  return s;
}
/* Puts the task's target type into the free part of the target's window; false if it does not fit. */
static bool place(Plan* p, Task* t, int slot, Rng* r) {
  Win* w = t->w;
  long room = w->size[t->target] - p->cursor[slot][t->target], lo, hi, al = w->unit[t->target];
  while (t->n * sig_size(&t->sig) > room && t->n > 0) t->n /= 2;
  t->tl = plan_layout(p, &t->sig, t->n, t->plain ? 0 : pick_levels(r), r, &t->tcount);
  for (int pass = 0;; pass++) {
    for (int i = 0; i < t->sig.m; i++)
      while (al % align_of(t->sig.b[i])) al *= 2;
    span(t->tl, t->tcount, &lo, &hi);
    long at = p->cursor[slot][t->target] + (chance(r, 30) ? below(r, 40) : 0) - lo;
    t->off = round_up(at > 0 ? at : 0, al);
    if (t->n == 0) t->off = 0;
    if (t->off + hi <= w->size[t->target] || t->n == 0) break;
    if (pass) return false;
    t->tl = plan_layout(p, &t->sig, t->n, 0, r, &t->tcount); /* once more, without gaps */
  }
  if (t->n) p->cursor[slot][t->target] = t->off + hi;
  return true;
}
/* Local stores of defined, sane values into a range that accumulates are going to use. */
static void init_range(Task* t, Rng* r) {
  Win* w = t->w;
  for (long i = 0; i < t->n; i++) {
    long a = t->off + elem_off(t->tl, i);
    sane(t->sig.b[0], r, w->model[t->target] + a);
    memset(w->care[t->target] + a, 1, (size_t)B[t->sig.b[0]].size);
    if (t->target == w->me) memcpy(w->mem + a, w->model[t->target] + a, (size_t)B[t->sig.b[0]].size);
  }
  if (t->target == w->me && t->n) w->stored = true;
}
static Op* add_op(Plan* p, Task* t, int kind, int op, int origin, Rng* r) {
  Op* o = &p->v[p->n];
  if (p->n >= MAXOPS) return NULL;
  *o = (Op){.t = *t, .kind = kind, .op = op, .origin = origin, .seq = p->n++, .req = MPI_REQUEST_NULL};
  o->key = t->key += (uint64_t)below(r, 1 << 20);
  if (p->passive) {
    o->after = chance(r, 40) ? (int)below(r, 6) : A_NONE;
    if (kind <= K_GACC && chance(r, 35)) o->rq = (int)between(r, R_WAIT, R_DEFER);
  }
  long size = t->n * sig_size(&t->sig);
  o->data = grab(size);
  o->want = grab(size);
  o->wcare = grab(size);
  fill(r, o->data, size);
  if (kind >= K_ACC && kind != K_CAS && op != REPLACE)
    for (long i = 0; i < t->n; i++) sane(t->sig.b[0], r, o->data + i * B[t->sig.b[0]].size);
  return o;
}
static void must_flush(const Plan* p, Op* o) {
  if (o && p->passive) o->after = o->key & 1 ? A_FLUSH : A_FLUSH_ALL;
}
/* Puts and gets of one origin in one place: one of them, or several with flushes between. */
static void task_putget(Plan* p, Task* t, int origin, int slot, Rng* r) {
  t->sig = pick_sig(r, false, -1);
  t->n = pick_n(r, t->w->large && chance(r, 25));
  if (!place(p, t, slot, r)) return;
  for (int k = p->passive ? (int)between(r, 1, 3) : 1; k-- > 0;)
    must_flush(p, add_op(p, t, chance(r, 50) ? K_PUT : K_GET, 0, origin, r));
}
/* Many origins read the same place. */
static void task_shared_get(Plan* p, Task* t, int slot, Rng* r) {
  t->sig = pick_sig(r, false, -1);
  t->n = pick_n(r, false);
  if (!place(p, t, slot, r)) return;
  for (int o = 0; o < t->w->n; o++)
    if (p->allow[o][t->target]) add_op(p, t, K_GET, 0, o, r);
}
/* Open MPI 4.1.4 (osc/rdma): get_accumulate on another process returns wrong values if the origin's,
 * the result's or the target's type has gaps, and loses the tail of results of more than 12 KiB. */
static bool gacc_plain(int origin, int target) {
  return q_ompi && origin != target;
}
static int acc_kind(const Task* t, int origin, Rng* r) {
  bool acc =
      chance(r, 50) || (gacc_plain(origin, t->target) && (t->tl->own || t->n * B[t->sig.b[0]].size > 8192));
  return t->n == 1 && t->plain && chance(r, 70) ? K_FOP : acc ? K_ACC : K_GACC;
}
static bool acc_place(Plan* p, Task* t, int op, int slot, Rng* r) {
  t->sig = pick_sig(r, true, op);
  t->n = pick_n(r, t->w->large && chance(r, 15));
  t->plain = chance(r, 40); /* fetch_and_op has no target type */
  if (!place(p, t, slot, r)) return false;
  if (!p->keep) init_range(t, r);
  return true;
}
/* Accumulates of one origin in one place: MPI orders them, so fetched values are known. */
static void task_acc(Plan* p, Task* t, int origin, int slot, Rng* r) {
  int op = p->keep ? REPLACE : (int)below(r, NO_OP);
  if (!acc_place(p, t, op, slot, r)) return;
  for (int k = (int)between(r, 1, 4); k-- > 0;) {
    int kind = acc_kind(t, origin, r);
    Op* o = add_op(p, t, kind, kind != K_ACC && chance(r, 25) ? NO_OP : op, origin, r);
    if (!o || !p->passive || !is_int(t->sig.b[0]) || chance(r, 60)) continue;
    must_flush(p, o); /* after a flush another operation is allowed; integers do not overflow into NaNs */
    do op = (int)below(r, MAXLOC);
    while (!op_fits(t->sig.b[0], op));
  }
}
/* All origins accumulate with the same commutative operation in the same place. */
static void task_shared_acc(Plan* p, Task* t, int slot, Rng* r) {
  int op = (int)below(r, MAXLOC);
  if (p->keep || !acc_place(p, t, op, slot, r)) return;
  for (int o = 0; o < t->w->n; o++)
    for (int k = p->allow[o][t->target] ? (int)between(r, 1, 2) : 0; k-- > 0;) {
      Op* q = add_op(p, t, acc_kind(t, o, r), op, o, r);
      if (q) q->unchecked = true;
    }
}
static void task_cas(Plan* p, Task* t, int origin, int slot, Rng* r) {
  do t->sig = pick_sig(r, true, BXOR);
  while (!is_int(t->sig.b[0]));
  /* Open MPI 4.1.4: compare_and_swap of 8 bytes crashes on the process itself, and on windows that
     * MPI_Win_allocate made (vader_emu_acswap) */
  if (q_ompi && B[t->sig.b[0]].size == 8) return;
  t->n = t->plain = 1;
  if (p->keep || !place(p, t, slot, r) || t->n != 1) return;
  init_range(t, r);
  for (int k = (int)between(r, 1, 3); k-- > 0;) {
    Op* o = add_op(p, t, K_CAS, 0, origin, r);
    if (!o) return;
    o->hit = chance(r, 60);
    o->cmp = grab(16);
    fill(r, o->cmp, 16);
  }
}
/* Every origin updates its own elements of an interleaved range: false sharing down to single bytes. */
static void task_stripes(Plan* p, Task* t, int slot, Rng* r) {
  Win* w = t->w;
  int op = chance(r, 50) && !p->keep ? (int)below(r, MAXLOC) : -1, nmax, size;
  t->sig = pick_sig(r, true, op);
  size = B[t->sig.b[0]].size;
  long al = w->unit[t->target], base;
  while (al % align_of(t->sig.b[0])) al *= 2;
  base = round_up(p->cursor[slot][t->target], al);
  nmax = (int)((w->size[t->target] - base) / (size * w->n));
  if (size % w->unit[t->target] || nmax < 1) return;
  t->n = between(r, 1, nmax < 100 ? nmax : 100);
  p->cursor[slot][t->target] = base + t->n * size * w->n;
  for (int o = 0; o < w->n; o++) {
    int count;
    Task s = *t;
    s.tl = plan_layout(p, &s.sig, s.n, 0, r, &count);
    MPI_Datatype v;
    MPI_Type_vector((int)s.n, 1, w->n, s.tl->t, &v);
    MPI_Type_commit(&v);
    s.tl->e = realloc(s.tl->e, (size_t)s.n * sizeof(Elem));
    for (long i = 0; i < s.n; i++) s.tl->e[i] = (Elem){i * w->n * size, s.sig.b[0]};
    *s.tl = (Layout){v, true, (int)s.n, s.tl->e, 0, ((s.n - 1) * w->n + 1) * size, "stripe"};
    s.tcount = 1;
    s.off = base + o * size;
    if (op >= 0) init_range(&s, r);
    if (p->allow[o][t->target]) add_op(p, &s, op >= 0 ? K_ACC : K_PUT, op, o, r);
  }
}
/* MPI_PROC_NULL: nothing happens, whatever the displacement and count. */
static void task_null(Plan* p, Task* t, int origin, Rng* r) {
  int op = (int)below(r, NO_OP);
  t->sig = pick_sig(r, true, op);
  t->n = 1;
  t->target = MPI_PROC_NULL;
  t->off = below(r, 100);
  t->tl = plan_layout(p, &t->sig, 1, 0, r, &t->tcount);
  Op* o = add_op(p, t, (int)below(r, K_CAS), op, origin, r);
  if (o && (o->after == A_FLUSH || o->after == A_LOCAL)) o->after++;
}
static void add_task(Plan* p, Win* w, int slot) {
  Rng* r = &w->rng;
  Task t = {.w = w, .target = (int)below(r, w->n), .key = rnd(r) >> 30};
  int origin = (int)below(r, w->n), p100 = (int)below(r, 100);
  if (!p->allow[origin][t.target]) return;
  if (p100 < 40)
    task_putget(p, &t, origin, slot, r);
  else if (p100 < 50)
    task_shared_get(p, &t, slot, r);
  else if (p100 < 70)
    task_acc(p, &t, origin, slot, r);
  else if (p100 < 80)
    task_shared_acc(p, &t, slot, r);
  else if (p100 < 86)
    task_cas(p, &t, origin, slot, r);
  else if (p100 < 95)
    task_stripes(p, &t, slot, r);
  else
    task_null(p, &t, origin, r);
}
static int by_key(const void* a, const void* b) {
  const Op *x = a, *y = b;
  return x->key != y->key ? (x->key < y->key ? -1 : 1) : x->seq - y->seq;
}

/* ================= the model ================= */
static bool all_defined(const u8* care, uint32_t mask) {
  for (int i = 0; mask >> i && i < 32; i++)
    if ((mask >> i & 1) && !care[i]) return false;
  return true;
}
/* One element at the target: what is fetched (want, wcare) and what becomes of it (m, care). */
static void apply_elem(Op* o, const Basic* b, int bi, u8* m, u8* care, const u8* src, u8* want, u8* wcare) {
  bool acc = o->kind >= K_ACC, known;
  uint32_t defined = b->arith; /* libraries may or may not copy a long double's padding */
  for (int i = 0; i < b->size; i++) {
    want[i] = m[i];
    wcare[i] = (defined >> i & 1) && care[i] && !o->unchecked;
    if (o->kind == K_PUT && (b->copy >> i & 1)) {
      m[i] = src[i];
      care[i] = defined >> i & 1;
    }
  }
  if (!acc || o->op == NO_OP) return;
  known = o->op == REPLACE || all_defined(care, b->arith);
  if (o->kind == K_CAS) {
    if (o->hit) memcpy(o->cmp, m, (size_t)b->size);
    if (!memcmp(o->cmp, m, (size_t)b->size)) memcpy(m, src, (size_t)b->size);
  } else
    combine(bi, o->op, m, src);
  for (int i = 0; i < b->size; i++) care[i] = known && (b->arith >> i & 1);
}
static void apply_op(Plan* p, Op* o) {
  Win* w = o->t.w;
  if (o->t.target == MPI_PROC_NULL) return;
  if (o->kind != K_GET && o->op != NO_OP && o->t.n) p->updated[o->t.target] = true;
  long pos = 0;
  for (long i = 0; i < o->t.n * o->t.sig.m; i++) {
    long a = o->t.off + elem_off(o->t.tl, i);
    int bi = o->t.tl->e[i % o->t.tl->n].b;
    apply_elem(o, &B[bi], bi, w->model[o->t.target] + a, w->care[o->t.target] + a, o->data + pos,
               o->want + pos, o->wcare + pos);
    pos += B[bi].size;
  }
}
static void plan_finish(Plan* p) {
  qsort(p->v, (size_t)p->n, sizeof p->v[0], by_key);
  for (int i = 0; i < p->n; i++) apply_op(p, &p->v[i]);
}
static void plan_begin(Plan* p, bool passive, bool keep) {
  p->passive = passive;
  p->keep = keep;
  p->n = p->nl = 0;
  memset(p->allow, 0, sizeof p->allow);
  memset(p->updated, 0, sizeof p->updated);
  memset(p->cursor, 0, sizeof p->cursor);
}
static void plan_free(Plan* p) {
  for (int i = 0; i < p->nl; i++) free_layout(p->l[i]);
  for (int i = 0; i < p->n; i++) {
    Op* o = &p->v[i];
    free(o->data);
    free(o->want);
    free(o->wcare);
    free(o->cmp);
    free(o->obuf);
    free(o->rbuf);
  }
}

/* ================= executing ================= */
/* A buffer full of canaries for count copies of l; returns where the type's origin lies in it. */
static u8* buffer(const Layout* l, int count, u8** whole, long* size) {
  long lo, hi;
  span(l, count, &lo, &hi);
  lo = -round_up(-lo, 16) - 32;
  *size = hi - lo + 32;
  *whole = grab(*size);
  memset(*whole, CANARY, (size_t)*size);
  return *whole - lo;
}
static void unpack(const Layout* l, long n, const u8* packed, u8* at) {
  for (long i = 0, pos = 0; i < n; i++) {
    memcpy(at + elem_off(l, i), packed + pos, (size_t)B[l->e[i % l->n].b].size);
    pos += B[l->e[i % l->n].b].size;
  }
}
static bool fetches(const Op* o) {
  return o->kind != K_PUT && o->kind != K_ACC;
}
/* The result buffer must hold what the model fetched, and canaries everywhere else. */
static void check_result(Op* o) {
  u8 *whole, *wcare;
  long size, pos = 0;
  u8 *at = buffer(o->rl, o->rcount, &whole, &size), *c;
  wcare = grab(size);
  memset(wcare, 1, (size_t)size);
  c = wcare + (at - whole);
  for (long i = 0; i < o->t.n * o->t.sig.m && o->t.target != MPI_PROC_NULL; i++) {
    const Basic* b = &B[o->rl->e[i % o->rl->n].b];
    long a = elem_off(o->rl, i);
    for (int k = 0; k < b->size; k++, pos++) {
      bool hole = !(b->copy >> k & 1);
      if (!hole) at[a + k] = o->want[pos];
      c[a + k] = hole ? o->kind == K_GET : o->wcare[pos];
    }
  }
  pos = differs(o->rbuf, whole, wcare, size);
  if (pos >= 0)
    die("result of %s (%s, %s, %ld x %s.. target %d%s) differs at byte %ld of %ld: expected %s found %s",
        KNAME[o->kind], OPNAME[o->op], WNAME[o->t.w->kind], o->t.n, B[o->t.sig.b[0]].name, o->t.target,
        ANAME[o->after], pos, size, hex(whole + pos, size - pos), hex(o->rbuf + pos, size - pos));
  free(whole);
  free(wcare);
}
/* Locally complete: results are there, and the origin buffer may be overwritten. */
static void op_done(Op* o) {
  if (o->done) return;
  o->done = true;
  if (fetches(o)) check_result(o);
  long lo, hi;
  span(o->ol, o->ocount, &lo, &hi);
  if (o->obuf) memset(o->obuf, 0x5A, (size_t)(hi - lo));
}
static void complete_request(Op* o) {
  for (int flag = o->rq == R_WAIT; !flag;) MPI_Test(&o->req, &flag, MPI_STATUS_IGNORE);
  MPI_Wait(&o->req, MPI_STATUS_IGNORE); /* of a null request after the test */
  op_done(o);
}
static void call_put_get(Op* o, u8* ob, u8* rb, MPI_Aint d) {
  MPI_Win win = o->t.w->win;
  MPI_Datatype ot = o->ol->t, rt = o->rl->t, tt = o->t.tl->t;
  int to = o->t.target, tc = o->t.tcount;
  if (o->kind == K_PUT && o->rq)
    MPI_Rput(ob, o->ocount, ot, to, d, tc, tt, win, &o->req);
  else if (o->kind == K_PUT)
    MPI_Put(ob, o->ocount, ot, to, d, tc, tt, win);
  else if (o->rq)
    MPI_Rget(rb, o->rcount, rt, to, d, tc, tt, win, &o->req);
  else
    MPI_Get(rb, o->rcount, rt, to, d, tc, tt, win);
}
static void call_accumulate(Op* o, u8* ob, u8* rb, MPI_Aint d) {
  MPI_Win win = o->t.w->win;
  MPI_Datatype ot = o->ol->t, rt = o->rl->t, tt = o->t.tl->t, one = B[o->t.sig.b[0]].t;
  int to = o->t.target, tc = o->t.tcount, oc = o->ocount, rc = o->rcount;
  MPI_Op op = mpi_op(o->op);
  if (o->op == NO_OP && (o->key & 2)) {
    ob = NULL;
    oc = 0;
    ot = one;
  } /* the origin is not significant */
  if (o->kind == K_FOP)
    MPI_Fetch_and_op(ob, rb, one, to, d, op, win);
  else if (o->kind == K_CAS)
    MPI_Compare_and_swap(ob, o->cmp, rb, one, to, d, win);
  else if (o->kind == K_ACC && o->rq)
    MPI_Raccumulate(ob, oc, ot, to, d, tc, tt, op, win, &o->req);
  else if (o->kind == K_ACC)
    MPI_Accumulate(ob, oc, ot, to, d, tc, tt, op, win);
  else if (o->rq)
    MPI_Rget_accumulate(ob, oc, ot, rb, rc, rt, to, d, tc, tt, op, win, &o->req);
  else
    MPI_Get_accumulate(ob, oc, ot, rb, rc, rt, to, d, tc, tt, op, win);
}
/* The types at the origin, which nobody else needs. The atomic operations take only predefined ones. */
static void origin_layouts(Op* o, Plan* p) {
  Rng r = {o->key};
  bool plain = o->kind >= K_FOP || (o->kind == K_GACC && gacc_plain(o->origin, o->t.target));
  o->ol = plan_layout(p, &o->t.sig, o->t.n, plain ? 0 : pick_levels(&r), &r, &o->ocount);
  o->rl = plan_layout(p, &o->t.sig, o->t.n, plain ? 0 : pick_levels(&r), &r, &o->rcount);
  /* MPICH 4.0.2 (ch4): with a derived type, the request of an rget completes before the data are there */
  if (q_mpich && o->kind == K_GET && (o->rl->own || o->t.tl->own || gappy(o->t.sig.b[0]))) o->rq = R_NONE;
}
static void issue(Op* o) {
  Win* w = o->t.w;
  long size;
  u8 *whole, *ob, *rb;
  ob = buffer(o->ol, o->ocount, &o->obuf, &size);
  unpack(o->ol, o->t.n * o->t.sig.m, o->data, ob);
  rb = buffer(o->rl, o->rcount, &whole, &size);
  o->rbuf = whole;
  MPI_Aint d = o->t.off;
  if (o->t.target != MPI_PROC_NULL)
    d = w->dyn ? MPI_Aint_add(w->addr[o->t.target], d) : d / w->unit[o->t.target];
  if (o->kind <= K_GET)
    call_put_get(o, ob, rb, d);
  else
    call_accumulate(o, ob, rb, d);
  g_count[o->kind]++;
  if (o->rq) g_count[C_REQ]++;
  if (o->rq == R_WAIT || o->rq == R_TEST) complete_request(o);
}
static void note_op(const Op* o) {
  note("%s%s%s %s origin %d target %d+%ld: %ld x %s%s, types o=%s*%d r=%s*%d t=%s*%d%s", o->ol ? "* " : "",
       o->rq ? "r" : "", KNAME[o->kind], o->kind >= K_ACC ? OPNAME[o->op] : "", o->origin, o->t.target,
       o->t.off, o->t.n, B[o->t.sig.b[0]].name, o->t.sig.m > 1 ? "..." : "", o->ol ? o->ol->how : "",
       o->ocount, o->rl ? o->rl->how : "", o->rcount, o->t.tl->how, o->t.tcount, ANAME[o->after]);
}
static void after_op(Plan* p, Op* o, int i) {
  Win* w = o->t.w;
  bool all = o->after == A_FLUSH_ALL || o->after == A_LOCAL_ALL;
  switch (o->after) {
    case A_FLUSH:
      MPI_Win_flush(o->t.target, w->win);
      break;
    case A_FLUSH_ALL:
      MPI_Win_flush_all(w->win);
      break;
    case A_LOCAL:
      MPI_Win_flush_local(o->t.target, w->win);
      break;
    case A_LOCAL_ALL:
      MPI_Win_flush_local_all(w->win);
      break;
    case A_SYNC:
      MPI_Win_sync(w->win);
      return;
    default:
      return;
  }
  for (int k = 0; k <= i; k++) {
    Op* q = &p->v[k];
    if (q->origin == w->me && q->t.w->win == w->win && q->rq != R_DEFER &&
        (all || q->t.target == o->t.target))
      op_done(q);
  }
}
/* Waits for all deferred requests together with those of ordinary messages round a ring (or to self). */
static void wait_requests(Plan* p, Win* w, bool ring) {
  static MPI_Status ignored[MAXREQ]; /* MPICH's MPI_STATUSES_IGNORE alarms gcc at this place */
  MPI_Request q[MAXREQ];
  int n = 2, got = -1, next = ring ? (w->me + 1) % w->n : w->me,
      prev = ring ? (w->me + w->n - 1) % w->n : w->me;
  for (int i = 0; i < p->n; i++)
    if (p->v[i].req != MPI_REQUEST_NULL) q[n++] = p->v[i].req;
  MPI_Irecv(&got, 1, MPI_INT, prev, 7, w->comm, &q[0]);
  MPI_Isend(&w->me, 1, MPI_INT, next, 7, w->comm, &q[1]);
  MPI_Waitall(n, q, ignored);
  if (got != prev) die("message received along with RMA requests: %d, should be %d", got, prev);
  for (int i = 0; i < p->n; i++)
    if (p->v[i].req != MPI_REQUEST_NULL) op_done(&p->v[i]);
}
static void run_ops(Plan* p, Win* w) {
  for (int i = 0; i < p->n; i++) { /* the ops of others are for the history only */
    Op* o = &p->v[i];
    if (o->origin == w->me) origin_layouts(o, p);
    note_op(o);
    if (o->origin != w->me) continue;
    issue(o);
    after_op(p, o, i);
  }
}
static void finish_ops(Plan* p, Win* w) {
  for (int i = 0; i < p->n; i++)
    if (p->v[i].origin == w->me) op_done(&p->v[i]);
}
static void dawdle(Win* w) {
  Rng r = my_rng(w);
  if (chance(&r, 25)) usleep((unsigned)below(&r, 1500));
}
#endif
