// The transformational procedures of section 7.9 on arrays of all distributions, against loops over whole arrays that every node has.
// double: no
#include "check.h"
#include <math.h>
#define N 37
#define M 11
#define K 23
#pragma xmp nodes p(*)
#pragma xmp nodes q[*][1]
#pragma xmp template b(0:N-1)
#pragma xmp distribute b(block) onto p
#pragma xmp template c(0:N-1)
#pragma xmp distribute c(cyclic) onto p
#pragma xmp template w(-3:N+3)
#pragma xmp distribute w(cyclic(4)) onto p
#pragma xmp template nm[N][M]
#pragma xmp distribute nm[block][cyclic] onto q
#pragma xmp template mn[M][N]
#pragma xmp distribute mn[cyclic(2)][*] onto p
#pragma xmp template nk[N][K]
#pragma xmp distribute nk[*][cyclic(3)] onto p
#pragma xmp template km[K][M]
#pragma xmp distribute km[block][block] onto q
#pragma xmp template nn[N][N]
#pragma xmp distribute nn[cyclic][block] onto q

typedef struct { double x; char tag; } pair;
static double vb[N], vc[N], vw[N], copies[N], one[N];
#pragma xmp align vb[i] with b(i)
#pragma xmp shadow vb[1]
#pragma xmp align vc[i] with c(i)
#pragma xmp align vw[i] with w(i+1)
#pragma xmp align copies[i] with nm[i][*]
#pragma xmp align one[*] with b(N-1)
static long ib[N], jb[N], ic[N];
static unsigned short iw[N];
#pragma xmp align ib[i] with b(i)
#pragma xmp align jb[i] with b(i)
#pragma xmp align ic[i] with c(i)
#pragma xmp align iw[i] with w(i+1)
static int icopies[N];
#pragma xmp align icopies[i] with nm[i][*]
static pair pb[N], pc[N];
#pragma xmp align pb[i] with b(i)
#pragma xmp align pc[i] with c(i)
static double anm[N][M], amn[M][N], ann[N][N];
#pragma xmp align anm[i][j] with nm[i][j]
#pragma xmp shadow anm[1][0]
#pragma xmp align amn[i][j] with mn[i][j]
#pragma xmp align ann[i][j] with nn[i][j]
static int i1[N][M], i2[N][M];
#pragma xmp align i1[i][j] with nm[i][j]
#pragma xmp align i2[i][j] with nm[i][j]
static _Bool mask[N][M];
#pragma xmp align mask[i][j] with nm[i][j]
static double long_b[N * M], long_c[N * M];
#pragma xmp template lb(0:N*M-1)
#pragma xmp distribute lb(block) onto p
#pragma xmp template lc(1:N*M)
#pragma xmp distribute lc(cyclic(5)) onto p
#pragma xmp align long_b[i] with lb(i)
#pragma xmp align long_c[i] with lc(i+1)

// All of a distributed array, on every node.
static double all[N], table[N][M], tall[M][N], square[N][N], line[N * M];

static int scrambled(int i) { return i * 17 % N; }
static double value_at(int i, int j) { return i * 100 + j + .25; }

static void scatter_and_gather(void) {
#pragma xmp loop on b(i)
  for (int i = 0; i < N; i++) vb[i] = value_at(i, 0), ib[i] = scrambled(i);
#pragma xmp loop on c(i)
  for (int i = 0; i < N; i++) vc[i] = -1, ic[i] = scrambled(i);
#pragma xmp loop on w(i+1)
  for (int i = 0; i < N; i++) vw[i] = -1, iw[i] = N - 1 - i;
  xmp_scatter(vc[:], vb[:], ib[:]);
#pragma xmp gmove
  all[:] = vc[:];
  for (int i = 0; i < N; i++) CHECK(all[scrambled(i)] == value_at(i, 0));
  xmp_gather(vw[:], vc[:], iw[:]);
#pragma xmp gmove
  all[:] = vw[:];
  for (int i = 0; i < N; i++) CHECK(all[N - 1 - scrambled(i)] == value_at(i, 0));
  // Many take the same element.
#pragma xmp loop on c(i)
  for (int i = 0; i < N; i++) ic[i] = i % 3;
  xmp_gather(vc[:], vb[:], ic[:]);
#pragma xmp gmove
  all[:] = vc[:];
  for (int i = 0; i < N; i++) CHECK(all[i] == value_at(i % 3, 0));
  // Copies: each of them gets everything, and one of them gives it.
#pragma xmp loop on nm[i][*]
  for (int i = 0; i < N; i++) icopies[i] = N - 1 - i, copies[i] = -5;
  xmp_scatter(copies[:], vb[:], ib[:]);
#pragma xmp loop on nm[i][*]
  for (int i = 0; i < N; i++) all[i] = copies[i];
#pragma xmp loop on nm[i][*]
  for (int i = 0; i < N; i++) CHECK(fmod(all[i], 100) == .25 && scrambled((int)(all[i] / 100)) == i);
  xmp_gather(copies[:], copies[:], icopies[:]);
#pragma xmp loop on nm[i][*]
  for (int i = 0; i < N; i++) CHECK(scrambled((int)(copies[i] / 100)) == N - 1 - i);
  xmp_scatter(one[:], copies[:], icopies[:]);
#pragma xmp task on b(N-1)
  for (int i = 0; i < N; i++) CHECK(scrambled((int)(one[i] / 100)) == i);
  // Structures, in place.
#pragma xmp loop on b(i)
  for (int i = 0; i < N; i++) pb[i].x = i, pb[i].tag = (char)i;
  xmp_gather(pb[:], pb[:], ib[:]);
#pragma xmp loop on b(i)
  for (int i = 0; i < N; i++) CHECK(pb[i].x == scrambled(i) && pb[i].tag == (char)scrambled(i));
  xmp_scatter(xmp_desc_of(pc), xmp_desc_of(pb), xmp_desc_of(ib));
#pragma xmp loop on c(i)
  for (int i = 0; i < N; i++) CHECK(pc[i].x == i && pc[i].tag == (char)i);
  // Two dimensions to one and back.
#pragma xmp loop (i, j) on nm[i][j]
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) anm[i][j] = value_at(i, j), i1[i][j] = (j + 2) % M, i2[i][j] = scrambled(i);
  xmp_scatter(amn[:][:], anm[:][:], i1[:][:], i2[:][:]);
#pragma xmp gmove
  tall[:][:] = amn[:][:];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) CHECK(tall[(j + 2) % M][scrambled(i)] == value_at(i, j));
  xmp_gather(anm[:][:], amn[:][:], i1[:][:], i2[:][:]);
#pragma xmp gmove
  table[:][:] = anm[:][:];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) CHECK(table[i][j] == value_at(i, j));
#pragma xmp loop on b(i)
  for (int i = 0; i < N; i++) jb[i] = i % M;
  xmp_gather(vb[:], anm[:][:], ib[:], jb[:]);
#pragma xmp loop on b(i)
  for (int i = 0; i < N; i++) CHECK(vb[i] == value_at(scrambled(i), i % M));
}

static void pack_and_unpack(void) {
#pragma xmp loop (i, j) on nm[i][j]
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) anm[i][j] = value_at(i, j);
  xmp_pack(long_c[:], anm[:][:]);
#pragma xmp gmove
  line[:] = long_c[:];
  for (int k = 0; k < N * M; k++) CHECK(line[k] == value_at(k / M, k % M));
  xmp_unpack(amn[:][:], long_c[:]);
#pragma xmp gmove
  tall[:][:] = amn[:][:];
  for (int k = 0; k < N * M; k++) CHECK(tall[k / N][k % N] == line[k]);
  for (int kind = 0; kind < 3; kind++) {
#define CHOSEN(i, j) (kind == 0 ? (i + 2 * j) % 3 == 0 : kind == 1 ? i > 5 && j == 4 : i < 0)
#pragma xmp loop (i, j) on nm[i][j]
    for (int i = 0; i < N; i++)
      for (int j = 0; j < M; j++) mask[i][j] = CHOSEN(i, j), anm[i][j] = value_at(i, j);
#pragma xmp loop on lb(k)
    for (int k = 0; k < N * M; k++) long_b[k] = -k;
    xmp_pack(long_b[:], anm[:][:], mask[:][:]);
#pragma xmp gmove
    line[:] = long_b[:];
    int k = 0;
    for (int i = 0; i < N; i++)
      for (int j = 0; j < M; j++)
        if (CHOSEN(i, j)) CHECK(line[k++] == value_at(i, j));
    for (; k < N * M; k++) CHECK(line[k] == -k);
#pragma xmp loop on lc(k+1)
    for (int k = 0; k < N * M; k++) long_c[k] = k + .5;
    xmp_unpack(anm[:][:], long_c[:], mask[:][:]);
#pragma xmp gmove
    table[:][:] = anm[:][:];
    k = 0;
    for (int i = 0; i < N; i++)
      for (int j = 0; j < M; j++) CHECK(table[i][j] == (CHOSEN(i, j) ? k++ + .5 : value_at(i, j)));
  }
}

static void transpose(void) {
#pragma xmp loop (i, j) on nm[i][j]
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) anm[i][j] = value_at(i, j);
  xmp_transpose(amn[:][:], anm[:][:], 0);
#pragma xmp gmove
  tall[:][:] = amn[:][:];
#pragma xmp gmove
  table[:][:] = anm[:][:];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) CHECK(tall[j][i] == value_at(i, j) && table[i][j] == value_at(i, j));
#pragma xmp loop (i, j) on nm[i][j]
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) anm[i][j] = 0;
  xmp_transpose(anm[:][:], amn[:][:], 1);
#pragma xmp gmove
  table[:][:] = anm[:][:];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) CHECK(table[i][j] == value_at(i, j));
  // In place.
#pragma xmp loop (i, j) on nn[i][j]
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) ann[i][j] = value_at(i, j);
  for (int twice = 0; twice < 2; twice++) {
    xmp_transpose(ann[:][:], ann[:][:], twice);
#pragma xmp gmove
    square[:][:] = ann[:][:];
    for (int i = 0; i < N; i++)
      for (int j = 0; j < N; j++) CHECK(square[i][j] == (twice ? value_at(i, j) : value_at(j, i)));
  }
  // One row.
  int row[1][N], column[N][1];
#pragma xmp template rows[1][N]
#pragma xmp distribute rows[*][cyclic] onto p
#pragma xmp align row[i][j] with rows[i][j]
#pragma xmp align column[i][*] with b(i)
#pragma xmp loop (j) on rows[*][j]
  for (int j = 0; j < N; j++) row[0][j] = 3 * j;
  xmp_transpose(column[:][:], row[:][:], 0);
#pragma xmp loop on b(i)
  for (int i = 0; i < N; i++) CHECK(column[i][0] == 3 * i);
}

#define MATRICES(name, type) \
  static void multiply_##name(void) { \
    type x[N][M], left[N][K], right[K][M], whole[N][M], again[K][K]; \
    _Pragma("xmp align x[i][j] with nm[i][j]") \
    _Pragma("xmp align left[i][j] with nk[i][j]") \
    _Pragma("xmp align right[i][j] with km[i][j]") \
    _Pragma("xmp align again[i][*] with b(i)") \
    _Pragma("xmp loop (i, j) on nk[i][j]") \
    for (int i = 0; i < N; i++) \
      for (int j = 0; j < K; j++) left[i][j] = (type)(i - 2 * j); \
    _Pragma("xmp loop (i, j) on km[i][j]") \
    for (int i = 0; i < K; i++) \
      for (int j = 0; j < M; j++) right[i][j] = (type)(i * j % 5 - 1); \
    xmp_matmul(x[:][:], left[:][:], right[:][:]); \
    _Pragma("xmp gmove") \
    whole[:][:] = x[:][:]; \
    for (int i = 0; i < N; i++) \
      for (int j = 0; j < M; j++) { \
        type sum = 0; \
        for (int k = 0; k < K; k++) sum = (type)(sum + (type)(i - 2 * k) * (type)(k * j % 5 - 1)); \
        CHECK(whole[i][j] == sum); \
      } \
    /* The square of a matrix, into itself. */ \
    _Pragma("xmp loop on b(i)") \
    for (int i = 0; i < K; i++) \
      for (int j = 0; j < K; j++) again[i][j] = (type)(i == j ? 2 : i == j + 1 ? 1 : 0); \
    xmp_matmul(xmp_desc_of(again), xmp_desc_of(again), xmp_desc_of(again)); \
    _Pragma("xmp loop on b(i)") \
    for (int i = 0; i < K; i++) \
      for (int j = 0; j < K; j++) CHECK(again[i][j] == (type)(i == j ? 4 : i == j + 1 ? 4 : i == j + 2 ? 1 : 0)); \
  }
MATRICES(doubles, double)
MATRICES(ints, int)
MATRICES(chars, unsigned char)
MATRICES(complexes, float _Complex)

#define SORT(name, type, expression) \
  static void sort_##name(void) { \
    type v[N], u[N], sorted[N], whole[N]; \
    _Pragma("xmp align v[i] with b(i)") \
    _Pragma("xmp align u[i] with w(i+1)") \
    _Pragma("xmp loop on w(i+1)") \
    for (int i = 0; i < N; i++) u[i] = (type)(expression); \
    for (int i = 0; i < N; i++) { \
      const type value = (type)(expression); \
      int at = i; \
      for (; at > 0 && sorted[at - 1] > value; at--) sorted[at] = sorted[at - 1]; \
      sorted[at] = value; \
    } \
    xmp_sort_up(v[:], u[:]); \
    _Pragma("xmp gmove") \
    whole[:] = v[:]; \
    for (int i = 0; i < N; i++) CHECK(whole[i] == sorted[i]); \
    xmp_sort_down(u[:], v[:]); \
    _Pragma("xmp gmove") \
    whole[:] = u[:]; \
    for (int i = 0; i < N; i++) CHECK(whole[i] == sorted[N - 1 - i]); \
    xmp_sort_up(u[:], u[:]); \
    _Pragma("xmp gmove") \
    whole[:] = u[:]; \
    for (int i = 0; i < N; i++) CHECK(whole[i] == sorted[i]); \
  }
SORT(doubles, double, sin(i * 7.0))
SORT(shorts, short, i * 40 % 23 - 11)
SORT(equal, unsigned long long, 7)
SORT(few, float, i % 2)
SORT(bools, _Bool, i % 3 == 0)

static void sort_copies_and_nans(void) {
#pragma xmp loop on nm[i][*]
  for (int i = 0; i < N; i++) copies[i] = i % 5 == 0 ? NAN : -i;
  xmp_sort_up(vc[:], copies[:]);
#pragma xmp gmove
  all[:] = vc[:];
  int k = 0;
  for (int i = N - 1; i >= 0; i--)
    if (i % 5 != 0) CHECK(all[k++] == -i);
  for (; k < N; k++) CHECK(isnan(all[k]));
  xmp_sort_down(copies[:], vc[:]);
  k = 0;
  for (int i = 0; i < N; i++)
    if (i % 5 != 0) all[k++] = -i;
#pragma xmp loop on nm[i][*]
  for (int i = 0; i < N; i++) CHECK(i < k ? copies[i] == all[i] : isnan(copies[i]));
}

// Blocks of different sizes, some of them empty, full shadow, and arrays that every node has.
static void other_distributions(int nodes) {
  int sizes[nodes];
  for (int i = 0; i < nodes; i++) sizes[i] = i == 0 ? N - nodes / 2 * 3 : i % 2 * 3;
#pragma xmp template uneven(0:N-1)
#pragma xmp distribute uneven(gblock(sizes)) onto p
#pragma xmp template rest[M][N]
#pragma xmp distribute rest[*][gblock(sizes)] onto p
#pragma xmp template whole(0:N-1), wholes[N][N]
  double u[N], same[N], f[N], um[M][N], here[N][M], x[N][N];
  int index[N], positions[N];
#pragma xmp align u[i] with uneven(i)
#pragma xmp align index[i] with uneven(i)
#pragma xmp align same[i] with whole(i)
#pragma xmp align positions[i] with whole(i)
#pragma xmp align f[i] with c(i)
#pragma xmp shadow f[*]
#pragma xmp align um[i][j] with rest[i][j]
#pragma xmp align here[i][j] with wholes[i][j]
#pragma xmp align x[i][*] with c(i)
#pragma xmp loop on uneven(i)
  for (int i = 0; i < N; i++) u[i] = value_at(i, 1), index[i] = scrambled(i);
  for (int i = 0; i < N; i++) same[i] = -1, positions[i] = N - 1 - i;
  xmp_scatter(same[:], u[:], index[:]);
  for (int i = 0; i < N; i++) CHECK(same[scrambled(i)] == value_at(i, 1));
  xmp_gather(u[:], same[:], index[:]);
#pragma xmp loop on uneven(i)
  for (int i = 0; i < N; i++) CHECK(u[i] == value_at(i, 1));
  xmp_scatter(u[:], same[:], positions[:]);
  xmp_sort_down(f[:], u[:]);
#pragma xmp loop on c(i)
  for (int i = 0; i < N; i++) CHECK(f[i] == value_at(N - 1 - i, 1));
  xmp_sort_up(same[:], f[:]);
  for (int i = 0; i < N; i++) CHECK(same[i] == value_at(i, 1));
  xmp_gather(same[:], f[:], positions[:]);
  for (int i = 0; i < N; i++) CHECK(same[i] == value_at(i, 1));
#pragma xmp loop (j) on rest[*][j]
  for (int j = 0; j < N; j++)
    for (int i = 0; i < M; i++) um[i][j] = i + j;
  xmp_transpose(here[:][:], um[:][:], 0);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) CHECK(here[i][j] == i + j);
  xmp_matmul(x[:][:], here[:][:], um[:][:]);
#pragma xmp loop on c(i)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      double sum = 0;
      for (int k = 0; k < M; k++) sum += (i + k) * (k + j);
      CHECK(x[i][j] == sum);
    }
  xmp_pack(same[:], u[:]);
#pragma xmp loop on uneven(i)
  for (int i = 0; i < N; i++) CHECK(same[i] == u[i]);
}

int main(void) {
  other_distributions(xmp_num_nodes());
  scatter_and_gather();
  pack_and_unpack();
  transpose();
  multiply_doubles(), multiply_ints(), multiply_chars(), multiply_complexes();
  sort_doubles(), sort_shorts(), sort_equal(), sort_few(), sort_bools();
  sort_copies_and_nans();
  return 0;
}
