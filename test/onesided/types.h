/* Random numbers, history, predefined types, and random derived layouts that carry their own type
 * map, so that the model never asks the MPI library under test where an element lies. */
#ifndef RMA_TYPES_H
#define RMA_TYPES_H
#include <complex.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAXR = 8, CANARY = 0xA5, NOTES = 48, NOTELEN = 150, MAXSIG = 5 };
typedef unsigned char u8;

/* Whose defects to avoid; the comments at the uses say what was seen. This is decided when running, so that
 * a library that merely has Open MPI's or MPICH's ABI is spared nothing; RMA_QUIRKS=none|openmpi|mpich overrides. */
static bool q_ompi, q_mpich;
static void find_quirks(void) {
  char v[MPI_MAX_LIBRARY_VERSION_STRING];
  const char* env = getenv("RMA_QUIRKS");
  int len;
  MPI_Get_library_version(v, &len);
  q_ompi = env ? !strcmp(env, "openmpi") : !strncmp(v, "Open MPI v4", 11);
  q_mpich = env ? !strcmp(env, "mpich") : strstr(v, "MPICH Version:") != NULL;
}

/* ---- random numbers (splitmix64) ---- */
typedef struct {
  uint64_t s;
} Rng;
static uint64_t rnd(Rng* r) {
  uint64_t z = (r->s += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
static long below(Rng* r, long n) {
  return n > 0 ? (long)(rnd(r) % (uint64_t)n) : 0;
}
static long between(Rng* r, long lo, long hi) {
  return lo + below(r, hi - lo + 1);
}
static bool chance(Rng* r, int percent) {
  return below(r, 100) < percent;
}
static void fill(Rng* r, u8* p, long n) {
  for (long i = 0; i < n; i += 8) {
    uint64_t v = rnd(r);
    memcpy(p + i, &v, (size_t)(n - i < 8 ? n - i : 8));
  }
}

/* ---- history and failure ---- */
static unsigned long g_seed;
static int g_round, g_rank;
static char g_note[NOTES][NOTELEN];
static int g_notes;

__attribute__((format(printf, 1, 2))) static void note(const char* fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(g_note[g_notes++ % NOTES], NOTELEN, fmt, ap);
  va_end(ap);
}
static void show_history(const char* why) {
  dprintf(2, "FAIL seed %lu round %d rank %d: %s\n", g_seed, g_round, g_rank, why);
  for (int i = g_notes > NOTES ? g_notes - NOTES : 0; i < g_notes; i++)
    dprintf(2, "  [%d] %s\n", g_rank, g_note[i % NOTES]);
}
__attribute__((format(printf, 1, 2), noreturn)) static void die(const char* fmt, ...) {
  char msg[400];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(msg, sizeof msg, fmt, ap);
  va_end(ap);
  show_history(msg);
  MPI_Abort(MPI_COMM_WORLD, 1);
  _exit(1);
}
static void on_signal(int sig) {
  show_history(sig == SIGALRM ? "no progress: watchdog expired (the history ends where it hangs)"
                              : "crash (the history ends there)");
  _exit(3);
}
static void* grab(long n) {
  void* p = malloc((size_t)(n > 0 ? n : 1));
  if (!p) die("out of memory (%ld bytes)", n);
  return p;
}
/* The first difference that matters, or -1. */
static long differs(const u8* found, const u8* want, const u8* care, long n) {
  if (n == 0 || !memcmp(found, want, (size_t)n)) return -1;
  for (long i = 0; i < n; i++)
    if (care[i] && found[i] != want[i]) return i;
  return -1;
}
static const char* hex(const u8* p, long n) {
  static char out[4][3 * 16 + 1];
  static int k;
  char* o = out[k++ & 3];
  o[0] = 0;
  for (long i = 0; i < n && i < 16; i++) sprintf(o + 3 * i, "%02x ", p[i]);
  return o;
}

/* ---- predefined types ----
 * copy: the bytes that the type consists of (pair types have holes).
 * arith: the bytes that have a meaning (x87 long double: 10 of 16).
 * cls: I signed, U unsigned, A signed but without logical operations, B byte, X bytes for copying only, F/D/L floating, c/C complex, P pair. */
typedef struct {
  const char* name;
  MPI_Datatype t;
  int size;
  uint32_t copy, arith;
  char cls, val;
  int ioff;
} Basic;
static Basic B[40];
static int NB;
static uint32_t bytes(int lo, int n) {
  return (n >= 32 ? ~0u : (1u << n) - 1) << lo;
}
static void basic(const char* name, MPI_Datatype t, size_t size, char cls) {
  uint32_t m = bytes(0, (int)size);
  B[NB++] = (Basic){name, t, (int)size, m, cls == 'L' ? bytes(0, 10) : m, cls, 0, 0};
}
static void pair(const char* name, MPI_Datatype t, size_t size, char val, int vsize, size_t ioff) {
  uint32_t i = bytes((int)ioff, 4);
  B[NB++] = (Basic){name, t,   (int)size, bytes(0, vsize) | i, bytes(0, val == 'L' ? 10 : vsize) | i,
                    'P',  val, (int)ioff};
}
#define PAIR(T, V, val)                                                   \
  do {                                                                    \
    struct s {                                                            \
      V v;                                                                \
      int i;                                                              \
    };                                                                    \
    pair(#T, T, sizeof(struct s), val, sizeof(V), offsetof(struct s, i)); \
  } while (0)
static void init_basics(void) {
#define X(T, C, cls) basic(#T, T, sizeof(C), cls)
  X(MPI_CHAR, char, 'X');
  X(MPI_BYTE, char, 'B');
  X(MPI_SIGNED_CHAR, char, 'I');
  X(MPI_UNSIGNED_CHAR, char, 'U');
  X(MPI_C_BOOL, _Bool, 'X');
  X(MPI_WCHAR, wchar_t, 'X');
  X(MPI_SHORT, short, 'I');
  X(MPI_UNSIGNED_SHORT, short, 'U');
  X(MPI_INT, int, 'I');
  X(MPI_UNSIGNED, int, 'U');
  X(MPI_LONG, long, 'I');
  X(MPI_UNSIGNED_LONG, long, 'U');
  X(MPI_LONG_LONG, long long, 'I');
  X(MPI_INT8_T, int8_t, 'I');
  X(MPI_UINT16_T, uint16_t, 'U');
  X(MPI_INT32_T, int32_t, 'I');
  X(MPI_INT64_T, int64_t, 'I');
  X(MPI_UINT64_T, uint64_t, 'U');
  X(MPI_FLOAT, float, 'F');
  X(MPI_DOUBLE, double, 'D');
  X(MPI_LONG_DOUBLE, long double, 'L');
  X(MPI_C_FLOAT_COMPLEX, float complex, 'c');
  X(MPI_C_DOUBLE_COMPLEX, double complex, 'C');
  X(MPI_AINT, MPI_Aint, 'A');
  X(MPI_OFFSET, MPI_Offset, 'A');
#undef X
  PAIR(MPI_2INT, int, 'I');
  PAIR(MPI_DOUBLE_INT, double, 'D');
  PAIR(MPI_FLOAT_INT, float, 'F');
  PAIR(MPI_LONG_INT, long, 'J');
  PAIR(MPI_SHORT_INT, short, 'S');
  PAIR(MPI_LONG_DOUBLE_INT, long double, 'L');
}
static int align_of(int b) {
  return B[b].cls == 'P' ? (B[b].val == 'L' ? 16 : 8) : B[b].size > 16 ? 16 : B[b].size;
}
static bool is_int(int b) {
  return B[b].cls == 'I' || B[b].cls == 'U' || B[b].cls == 'A';
}

/* ---- reduction operations and their model ---- */
enum { SUM, PROD, MAX, MIN, LAND, LOR, LXOR, BAND, BOR, BXOR, MAXLOC, MINLOC, REPLACE, NO_OP, NOPS };
static const char* const OPNAME[NOPS] = {"SUM",  "PROD", "MAX",  "MIN",    "LAND",   "LOR",     "LXOR",
                                         "BAND", "BOR",  "BXOR", "MAXLOC", "MINLOC", "REPLACE", "NO_OP"};
static MPI_Op mpi_op(int op) {
  MPI_Op o[NOPS] = {MPI_SUM,  MPI_PROD, MPI_MAX,  MPI_MIN,    MPI_LAND,   MPI_LOR,     MPI_LXOR,
                    MPI_BAND, MPI_BOR,  MPI_BXOR, MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
  return o[op];
}
static bool gappy(int b) {
  return __builtin_popcount(B[b].copy) != B[b].size;
}
/* What the plain libraries compute wrongly. Open MPI's are in osc/rdma, where not marked otherwise. */
static bool op_broken(const Basic* b, int op) {
  bool minmax = op == MAX || op == MIN, wide = b->size >= 4;
  if (q_mpich) return b->cls == 'U' && minmax; /* MPICH 4.0.2: compares unsigned types as signed ones */
  if (!q_ompi) return false;
  return (b->cls == 'U' && minmax && wide) /* compares them as signed ones (8 bytes: op/avx does) */
         || (b->t == MPI_OFFSET && minmax) /* compares it as an unsigned one */
         || (is_int((int)(b - B)) && op == SUM && !wide) /* op/avx: saturates instead of wrapping round */
         || (wide && op >= LAND && op <= LXOR)           /* acts as another operation, or not at all */
         || (b->cls == 'c' && op == SUM)                 /* adds 8 byte integers */
         || gappy((int)(b - B));                         /* pairs with holes: results and tails are wrong */
}
static bool op_fits(int b, int op) {
  if (op_broken(&B[b], op)) return false;
  switch (B[b].cls) {
    case 'I':
    case 'U':
      return op <= BXOR || op == REPLACE;
    case 'A':
      return op <= MIN || (op >= BAND && op <= BXOR) || op == REPLACE;
    case 'F':
    case 'D':
    case 'L':
      return op <= MIN || op == REPLACE;
    case 'c':
    case 'C':
      return op <= PROD || op == REPLACE;
    case 'B':
      return (op >= BAND && op <= BXOR) || op == REPLACE;
    case 'P':
      return op == MAXLOC || op == MINLOC || op == REPLACE;
    default:
      return op == REPLACE;
  }
}
static uint64_t get_int(int size, bool sgn, const u8* p) {
  uint64_t v = 0;
  memcpy(&v, p, (size_t)size); /* little endian, as is every machine that this is run on */
  if (sgn && size < 8 && (v >> (8 * size - 1))) v |= ~0ull << (8 * size);
  return v;
}
static long double get_real(char cls, const u8* p) {
  float f;
  double d;
  long double l;
  long j;
  int i;
  short s;
  switch (cls) {
    case 'F':
      memcpy(&f, p, sizeof f);
      return f;
    case 'D':
      memcpy(&d, p, sizeof d);
      return d;
    case 'J':
      memcpy(&j, p, sizeof j);
      return j;
    case 'I':
      memcpy(&i, p, sizeof i);
      return i;
    case 'S':
      memcpy(&s, p, sizeof s);
      return s;
    default:
      memcpy(&l, p, sizeof l);
      return l;
  }
}
static void set_real(char cls, u8* p, long double v) {
  float f = (float)v;
  double d = (double)v;
  long j = (long)v;
  int i = (int)v;
  short s = (short)v;
  switch (cls) {
    case 'F':
      memcpy(p, &f, sizeof f);
      break;
    case 'D':
      memcpy(p, &d, sizeof d);
      break;
    case 'J':
      memcpy(p, &j, sizeof j);
      break;
    case 'I':
      memcpy(p, &i, sizeof i);
      break;
    case 'S':
      memcpy(p, &s, sizeof s);
      break;
    default:
      memcpy(p, &v, 10);
      break;
  }
}
static uint64_t int_op(int op, bool sgn, uint64_t a, uint64_t b) {
  bool less = sgn ? (int64_t)a < (int64_t)b : a < b;
  switch (op) {
    case SUM:
      return a + b;
    case PROD:
      return a * b;
    case MAX:
      return less ? b : a;
    case MIN:
      return less ? a : b;
    case LAND:
      return a && b;
    case LOR:
      return a || b;
    case LXOR:
      return !a != !b;
    case BAND:
      return a & b;
    case BOR:
      return a | b;
    default:
      return a ^ b;
  }
}
static long double real_op(int op, long double a, long double b) {
  return op == SUM ? a + b : op == PROD ? a * b : op == MAX ? (a < b ? b : a) : (a < b ? a : b);
}
static void complex_op(int op, char cls, u8* t, const u8* s) {
  char part = cls == 'c' ? 'F' : 'D';
  int h = cls == 'c' ? 4 : 8;
  long double a = get_real(part, t), b = get_real(part, t + h), c = get_real(part, s),
              d = get_real(part, s + h);
  set_real(part, t, op == SUM ? a + c : a * c - b * d);
  set_real(part, t + h, op == SUM ? b + d : a * d + b * c);
}
static void pair_op(int op, const Basic* b, u8* t, const u8* s) {
  long double tv = get_real(b->val, t), sv = get_real(b->val, s);
  int ti = (int)get_int(4, true, t + b->ioff), si = (int)get_int(4, true, s + b->ioff);
  bool take = sv == tv ? si < ti : (op == MAXLOC) == (sv > tv);
  if (take) {
    set_real(b->val, t, sv);
    memcpy(t + b->ioff, &si, 4);
  }
}
static void combine(int bi, int op, u8* t, const u8* s) {
  const Basic* b = &B[bi];
  uint64_t v;
  if (op == NO_OP) return;
  if (op == REPLACE) {
    memcpy(t, s, (size_t)b->size);
    return;
  }
  switch (b->cls) {
    case 'P':
      pair_op(op, b, t, s);
      break;
    case 'c':
    case 'C':
      complex_op(op, b->cls, t, s);
      break;
    case 'F':
    case 'D':
    case 'L':
      set_real(b->cls, t, real_op(op, get_real(b->cls, t), get_real(b->cls, s)));
      break;
    default:
      v = int_op(op, b->cls != 'U', get_int(b->size, b->cls != 'U', t), get_int(b->size, b->cls != 'U', s));
      memcpy(t, &v, (size_t)b->size);
  }
}
static long double small_nonzero(Rng* r) {
  return (long double)(between(r, 1, 3) * (chance(r, 50) ? 1 : -1));
}
/* A value for accumulates: floating results stay exact, and there are no NaNs or signed zeros to argue about. */
static void sane(int bi, Rng* r, u8* p) {
  const Basic* b = &B[bi];
  int index = (int)below(r, 6);
  memset(p, 0, (size_t)b->size);
  switch (b->cls) {
    case 'P':
      set_real(b->val, p, small_nonzero(r));
      memcpy(p + b->ioff, &index, 4);
      break;
    case 'c':
      set_real('F', p, small_nonzero(r));
      set_real('F', p + 4, small_nonzero(r));
      break;
    case 'C':
      set_real('D', p, small_nonzero(r));
      set_real('D', p + 8, small_nonzero(r));
      break;
    case 'F':
    case 'D':
    case 'L':
      set_real(b->cls, p, small_nonzero(r));
      break;
    default:
      if (chance(r, 60))
        fill(r, p, b->size);
      else
        p[0] = (u8)below(r, 3);
  }
}

/* ---- layouts: a derived type with its type map; copies of a signature in some arrangement ---- */
typedef struct {
  long off;
  int b;
} Elem;
typedef struct {
  MPI_Datatype t;
  bool own;
  int n;
  Elem* e;
  long lb, ext;
  char how[40];
} Layout;
typedef struct {
  int m, b[MAXSIG];
} Sig;

static long round_up(long x, long a) {
  return x + (a - x % a) % a;
}
static long sig_size(const Sig* s) {
  long n = 0;
  for (int i = 0; i < s->m; i++) n += B[s->b[i]].size;
  return n;
}
static long elem_off(const Layout* l, long i) {
  return i / l->n * l->ext + l->e[i % l->n].off;
}
static void set_type(Layout* l, MPI_Datatype t) {
  if (l->own) MPI_Type_free(&l->t);
  l->t = t;
  l->own = true;
}
static void free_layout(Layout* l) {
  if (l->own) MPI_Type_free(&l->t);
  free(l->e);
  free(l);
}
static void resize(Layout* l, long lb, long ext) {
  MPI_Datatype t;
  MPI_Type_create_resized(l->t, lb, ext, &t);
  set_type(l, t);
  l->lb = lb;
  l->ext = ext;
}
/* The signature once: the predefined type itself, or a struct with its members in any order and with gaps. */
static Layout* unit_layout(const Sig* s, Rng* r) {
  Layout* l = grab(sizeof *l);
  *l = (Layout){B[s->b[0]].t, false, s->m, grab(s->m * (long)sizeof(Elem)), 0, B[s->b[0]].size, "1"};
  l->e[0] = (Elem){0, s->b[0]};
  if (s->m == 1) return l;
  MPI_Datatype t, ts[MAXSIG];
  MPI_Aint d[MAXSIG];
  int one[MAXSIG] = {1, 1, 1, 1, 1}, first = (int)below(r, s->m);
  long start = 16 * between(r, -3, 2), at = start;
  for (int k = 0; k < s->m; k++) {
    int i = (first + k) % s->m, b = s->b[i];
    at = round_up(at, align_of(b));
    l->e[i] = (Elem){at, b};
    d[i] = at;
    ts[i] = B[b].t;
    at += B[b].size + (chance(r, 40) ? below(r, 20) : 0);
  }
  MPI_Type_create_struct(s->m, one, d, ts, &t);
  set_type(l, t);
  resize(l, start, round_up(at - start, 16) + 16 * below(r, 3));
  strcpy(l->how, "S");
  return l;
}
static long divisor(long n, long limit, Rng* r) {
  static const int prime[] = {2, 3, 5, 7};
  long d = 1;
  for (int tries = (int)below(r, 8); tries-- > 0;) {
    int p = prime[below(r, 4)];
    if (n / d % p == 0 && d * p <= limit) d *= p;
  }
  return d;
}
/* The constructors below make k copies of l: they set *t, and at[i] to the byte offset of copy i. */
static void copies_vector(const Layout* l, int k, Rng* r, bool h, MPI_Datatype* t, long* at) {
  int bl = (int)divisor(k, k, r), cnt = k / bl, sign = chance(r, 25) ? -1 : 1;
  long gap = below(r, 4), stride;
  if (q_ompi && bl * l->ext == 1 && gap == 0)
    sign = 1; /* Open MPI 4.1.4: wrong lower bound for a stride of -1 byte */
  stride = sign * (h ? bl * l->ext + 16 * gap : (bl + gap) * l->ext);
  for (int i = 0; i < k; i++) at[i] = i / bl * stride + i % bl * l->ext;
  if (h)
    MPI_Type_create_hvector(cnt, bl, stride, l->t, t);
  else
    MPI_Type_vector(cnt, bl, (int)(stride / l->ext), l->t, t);
}
static void copies_blocks(const Layout* l, int k, Rng* r, int how, MPI_Datatype* t, long* at) {
  bool same = how == 1 || how == 3, inext = how < 2; /* equal blocks; displacements in extents */
  int bl = (int)divisor(k, k, r), nb = same ? k / bl : (int)between(r, 1, k < 6 ? k : 6), len[2048], di[2048],
      left = k;
  MPI_Aint d[2048];
  MPI_Datatype ts[2048];
  long step = inext ? l->ext : 16, pos = step * between(r, -2, 3);
  for (int i = 0; i < nb; i++) {
    len[i] = same ? bl : i == nb - 1 ? left : (int)below(r, left + 1);
    left -= len[i];
    pos += step * below(r, 3);
    d[i] = pos;
    pos += len[i] * l->ext;
    ts[i] = l->t;
  }
  if (chance(r, 30)) { /* blocks in descending order */
    for (int i = 0; i < nb / 2; i++) {
      int n = len[i];
      MPI_Aint x = d[i];
      len[i] = len[nb - 1 - i];
      d[i] = d[nb - 1 - i];
      len[nb - 1 - i] = n;
      d[nb - 1 - i] = x;
    }
  }
  for (int i = 0, c = 0; i < nb; i++) {
    di[i] = (int)(d[i] / l->ext);
    for (int j = 0; j < len[i]; j++) at[c++] = d[i] + j * l->ext;
  }
  switch (how) {
    case 0:
      MPI_Type_indexed(nb, len, di, l->t, t);
      break;
    case 1:
      MPI_Type_create_indexed_block(nb, bl, di, l->t, t);
      break;
    case 2:
      MPI_Type_create_hindexed(nb, len, d, l->t, t);
      break;
    case 3:
      MPI_Type_create_hindexed_block(nb, bl, d, l->t, t);
      break;
    default:
      MPI_Type_create_struct(nb, len, d, ts, t);
  }
}
/* Returns the number of elements in the whole array, which is the extent. */
static long copies_subarray(const Layout* l, int k, Rng* r, MPI_Datatype* t, long* at) {
  int fast = (int)divisor(k, k, r), slow = k / fast, sf = (int)below(r, 3), ss = (int)below(r, 3);
  int wide = fast + sf + (int)below(r, 3), high = slow + ss + (int)below(r, 3);
  bool c = chance(r, 60);
  int size[2] = {c ? high : wide, c ? wide : high}, sub[2] = {c ? slow : fast, c ? fast : slow};
  int start[2] = {c ? ss : sf, c ? sf : ss};
  for (int i = 0; i < k; i++) at[i] = ((ss + i / fast) * (long)wide + sf + i % fast) * l->ext;
  MPI_Type_create_subarray(2, size, sub, start, c ? MPI_ORDER_C : MPI_ORDER_FORTRAN, l->t, t);
  return (long)wide * high;
}
static void spread(Layout* l, int k, const long* at) {
  Elem* e = grab((long)k * l->n * (long)sizeof *e);
  long lo = at[0], hi = at[0];
  for (int i = 0; i < k; i++) {
    for (int j = 0; j < l->n; j++) e[i * l->n + j] = (Elem){at[i] + l->e[j].off, l->e[j].b};
    if (at[i] < lo) lo = at[i];
    if (at[i] > hi) hi = at[i];
  }
  free(l->e);
  l->e = e;
  l->n *= k;
  l->ext += hi - lo;
  l->lb += lo;
}
static void replicate(Layout* l, int k, Rng* r) {
  static const char* const name[] = {"c", "v", "hv", "i", "ib", "hi", "hib", "st", "sub", "rs"};
  MPI_Datatype t;
  int how = (int)below(r, 10);
  long *at = grab(k * (long)sizeof *at), whole = 0, ext = l->ext;
  if (how == 8 && l->lb != 0) how = 0; /* a subarray's bounds are plain only for lower bound 0 */
  if (how == 1 || how == 2)
    copies_vector(l, k, r, how == 2, &t, at);
  else if (how >= 3 && how <= 7)
    copies_blocks(l, k, r, how - 3, &t, at);
  else if (how == 8)
    whole = copies_subarray(l, k, r, &t, at);
  else {
    for (int i = 0; i < k; i++) at[i] = i * l->ext;
    MPI_Type_contiguous(k, l->t, &t);
  }
  set_type(l, t);
  spread(l, k, at);
  free(at);
  if (how == 8) {
    l->lb = 0;
    l->ext = whole * ext;
  }
  if (how == 9) {
    long b = 16 * below(r, 3);
    resize(l, l->lb - b, l->ext + b + 16 * below(r, 3));
  }
  snprintf(l->how + strlen(l->how), sizeof l->how - strlen(l->how), ".%s%d", name[how], k);
}
/* The signature n times, arranged at random; *count is what the type must be repeated to make n. */
static Layout* make_layout(const Sig* s, long n, int levels, Rng* r, int* count) {
  Layout* l = unit_layout(s, r);
  MPI_Aint lb, ext;
  long left = n ? n : 12;
  int size, want = 0;
  while (levels-- > 0) {
    long d = divisor(left, 2000 / l->n, r);
    if (d == 1 && chance(r, 60)) continue;
    replicate(l, (int)d, r);
    left /= d;
  }
  if (l->own) MPI_Type_commit(&l->t);
  MPI_Type_get_extent(l->t, &lb, &ext);
  MPI_Type_size(l->t, &size);
  for (int i = 0; i < l->n; i++) want += __builtin_popcount(B[l->e[i].b].copy);
  if (lb != l->lb || ext != l->ext || size != want)
    die("type %s of %s: lb %ld extent %ld size %d, should be %ld %ld %d", l->how, B[s->b[0]].name, (long)lb,
        (long)ext, size, l->lb, l->ext, want);
  *count = n ? (int)left : 0;
  return l;
}
/* Bytes [*lo, *hi) that count copies touch, relative to the buffer address. */
static void span(const Layout* l, int count, long* lo, long* hi) {
  *lo = *hi = 0;
  if (count == 0) return;
  *lo = *hi = l->e[0].off;
  for (int i = 0; i < l->n; i++) {
    long a = l->e[i].off, z = a + B[l->e[i].b].size;
    if (a < *lo) *lo = a;
    if (z > *hi) *hi = z;
  }
  *hi += (count - 1) * l->ext;
}
#endif
