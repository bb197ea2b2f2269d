// Divided loops: nests, directions, steps, bounds that change, other subscripts, conditions, expand and margin, on node arrays, reductions.
// double: no
#include "check.h"
#define N 20
#define M 13
#pragma xmp nodes p(*)
#pragma xmp nodes q[*][1]
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
#pragma xmp template c(0:N-1)
#pragma xmp distribute c(cyclic(2)) onto p
#pragma xmp template g[N][M]
#pragma xmp distribute g[block][cyclic] onto q
#pragma xmp template two(0:M-1,0:N-1)
#pragma xmp distribute two(*,block) onto p
static int a[N], b[N], v[N][M], w[N][M];
#pragma xmp align a[i] with t(i)
#pragma xmp align b[i] with c(i)
#pragma xmp align v[i][j] with g[i][j]
#pragma xmp align w[i][j] with two(j,i)
#pragma xmp shadow a[2]
#pragma xmp shadow w[1][0]
static int global_bound = M;
static int bound(void) { return global_bound; }
static int calls;
static int first(void) { return calls++; }

static void directions(void) {
  unsigned u;
  int i;
#pragma xmp loop (u) on t(u)
  for (u = 0; u < N; u++) a[u] = (int)u;
#pragma xmp loop on t(i)
  for (i = N - 1; i >= 0; --i) a[i] += 1;
#pragma xmp loop on t(u)
  for (u = N - 1; u >= 2; u -= 3) a[u] += 100;
#pragma xmp loop on c(i)
  for (i = 0; N > i; i = i + 1) b[i] = i;
#pragma xmp loop on c(i)
  for (int i = N - 2; i >= 0; i -= 2) b[i] = -b[i];
#pragma xmp loop on c(k)
  for (size_t k = 1; k != N; k++) b[k] += 10;
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) CHECK(a[i] == i + 1 + (i >= 2 && (N - 1 - i) % 3 == 0 ? 100 : 0));
#pragma xmp loop on c(i)
  for (int i = 0; i < N; i++) CHECK(b[i] == (i % 2 == 0 ? -i : i) + (i > 0 ? 10 : 0));
}

static void nests(void) {
  int n = 0, high = M;
#pragma xmp loop (i, j) on g[i][j]
  for (int i = 0; i < N; i++) {
    for (int j = 0; j < bound(); j++) {
      v[i][j] = i * M + j;
      n++;
    }
  }
#pragma xmp reduction(+:n)
  CHECK(n == N * M);
  n = 0;
#pragma xmp loop (j, i) on g[i][j] reduction(+:n)
  for (int j = 0; j < M; j++)
    for (int i = j; i < N; i += 2) {
      CHECK(v[i][j] == i * M + j);
      n += 1;
    }
  int expected = 0;
  for (int j = 0; j < M; j++)
    for (int i = j; i < N; i += 2) expected++;
  CHECK(n == expected);
  n = 0;
#pragma xmp loop on t(i) reduction(+:n)
  for (int i = first(); i < N; i++) n++;
  CHECK(n == N && calls == 1);
  n = 0;
#pragma GCC ivdep
#pragma xmp loop on t(i) reduction(+:n)
  for (int i = 0; i < N; i++) n++;
  CHECK(n == N);
  n = 0;
#pragma xmp loop (i) on g[i][*]
  for (int i = 0; i < N; i++)
#pragma xmp loop (j) on g[i][j]
    for (int j = 0; j < high; j++) n += v[i][j] == i * M + j;
#pragma xmp reduction(+:n)
  CHECK(n == N * M);
  n = 0;
  if (n == 0)
#pragma xmp loop (j) on g[3][j]
    for (int j = 0; j < M; j++) n += v[3][j] == 3 * M + j;
  else
    n = -1;
#pragma xmp reduction(+:n)
  CHECK(n == M);
  n = 0;
#pragma xmp loop (i) on t(2*i)
  for (int i = 0; i < N / 2; i++) n += a[2 * i] > 0;
#pragma xmp reduction(+:n)
  CHECK(n == N / 2);
#pragma xmp loop (i, j) on two(j,i)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) w[i][j] = i * j;
  // Several that end with the same statement.
  int own = 0;
#pragma xmp loop (i) on g[i][*]
  for (int i = 0; i < N; i++) own++;
  n = 0;
#pragma xmp loop (i) on g[i][*]
  for (int i = 0; i < N; i++)
#pragma xmp loop (j) on g[i][j] reduction(+:n)
    for (int j = 0; j < M; j++) n++;
  CHECK(n == M * own);
#pragma xmp task on p
#pragma xmp loop on t(i) reduction(+:n)
  for (int i = 0; i < N; i++) n++;
  CHECK(n == M * own + N);
}

static void widths(void) {
  int plain = 0, wide = 0, narrow = 0, edges = 0, unbound = 0, frame = 0;
  int low = N, high = -1;
#pragma xmp loop on t(i)
  for (int i = 1; i < N - 1; i++) {
    if (i < low) low = i;
    if (i > high) high = i;
    plain++;
  }
#pragma xmp loop on t(i) expand(1)
  for (int i = 1; i < N - 1; i++) wide++;
#pragma xmp loop on t(i) expand(-1:0)
  for (int i = 1; i < N - 1; i++) {
    CHECK(i > low && i <= high);
    narrow++;
  }
#pragma xmp loop on t(i) margin(-1:0)
  for (int i = 1; i < N - 1; i++) {
    CHECK(i == low);
    edges++;
  }
#pragma xmp loop on t(i) expand(/unbound/2:1)
  for (int i = 1; i < N - 1; i++) {
    CHECK(i >= low - 2 && i <= high + 1);
    unbound++;
  }
#pragma xmp loop (i, j) on two(j,i) margin(0,-1)
  for (int i = 1; i < N - 1; i++)
    for (int j = 0; j < M; j++) frame++;
  if (plain > 0) {
    CHECK(narrow == plain - 1 && edges == 1 && unbound == plain + 3);
    CHECK(wide == plain + (low > 1) + (high < N - 2));
    CHECK(frame == M * (plain > 1 ? 2 : 1));
  }
}

static void jumps(void) {
  int seen = 0, inner = 0;
#pragma xmp loop on c(i) reduction(+:seen,inner)
  for (int i = 0; i < N; i++) {
    if (i % 3 == 0) continue;
    for (int j = 0; j < M; j++) {
      if (j > i) break;
      switch (j) {
        case 0:
          break;
        default:
          inner++;
      }
    }
    if (i % 3 == 1) goto next;
    seen += 100;
  next:
    seen++;
  }
  int expected = 0, expected_inner = 0;
  for (int i = 0; i < N; i++)
    if (i % 3 != 0) expected += i % 3 == 1 ? 1 : 101, expected_inner += i < M ? i : M - 1;
  CHECK(seen == expected && inner == expected_inner);
}

static int at_nodes = 0;
static void on_node(int i) {
  CHECK(xmp_num_nodes() == 1 && i == at_nodes);
}

static void reductions(void) {
  double sum = 0.5, product = 2, many[3] = {1, 2, 3};
  int difference = 3, bits = 0, odd = 1, all = 1, any = 0, masked = ~0;
  int most = -1, least = 1 << 20, at = -1, last = -1, where = -1;
  float largest = -1;
#pragma xmp loop on c(i) reduction(+:sum,many) reduction(*:product) reduction(-:difference)
  for (int i = 0; i < N; i++) {
    sum += i;
    if (i < 4) product *= 3;
    difference -= i;
    many[i % 3] += 1;
  }
  CHECK(sum == 0.5 + N * (N - 1) / 2 && product == 162 && difference == 3 - N * (N - 1) / 2);
  CHECK(many[0] == 1 + 7 && many[1] == 2 + 7 && many[2] == 3 + 6);
#pragma xmp loop on t(i) reduction(|:bits) reduction(^:odd) reduction(&:masked) reduction(&&:all) reduction(||:any)
  for (int i = 0; i < N; i++) {
    bits |= 1 << i % 7;
    odd ^= i;
    masked &= ~(1 << i);
    all = all && i < N;
    any = any || i == N - 1;
  }
  int expected = 1;
  for (int i = 0; i < N; i++) expected ^= i;
  CHECK(bits == 127 && odd == expected && masked == ~((1 << N) - 1) && all == 1 && any == 1);
#pragma xmp loop on t(i) reduction(max:most) reduction(min:least)
  for (int i = 0; i < N; i++) {
    most = most > i * 7 % N ? most : i * 7 % N;
    least = least < i ? least : i;
  }
  CHECK(most == N - 1 && least == 0);
  most = -1;
#pragma xmp loop on t(i) reduction(firstmax:most/at/) reduction(lastmax:largest/last,where/)
  for (int i = 0; i < N; i++) {
    if (i % 5 > most) most = i % 5, at = i;
    if ((float)(i % 5) >= largest) largest = (float)(i % 5), last = i, where = -i;
  }
  CHECK(most == 4 && at == 4 && largest == 4 && last == N - 1 && where == -last);
  int count = 0;
#pragma xmp loop (i, j) on g[i][j] reduction(+:count)
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) count++;
  CHECK(count == N * M);
  // What is replicated counts once.
  int once = 0;
#pragma xmp loop (j) on two(j,*) reduction(+:once)
  for (int j = 0; j < M; j++) once++;
  CHECK(once == M);
}

// Which of equal values has its place kept: the first or last in the order of the loops, as they would run without directives. Each nest is
// written once, and runs divided and not divided.
#define TAKE(x, at, better, value, place) \
  if ((value) better x) x = (value), at = (place)
static void ties(void) {
  struct {
    int row, column;
  } pair, whole;
  for (int period = 1; period <= 7; period += 2) {
    int x[4] = {-1, 99, -1, 99}, at[4] = {-1, -1, -1, -1}, y[4], to[4];
    for (int plain = 0; plain < 2; plain++) {
      int most = -1, least = 99, last_most = -1, last_least = 99, a_most = -1, a_least = -1, z_most = -1, z_least = -1;
      if (plain) {
        for (int i = N - 1; i >= 1; i -= 2) {
          TAKE(most, a_most, >, i % period, i);
          TAKE(least, a_least, <, i % period, i);
          TAKE(last_most, z_most, >=, i % period, i);
          TAKE(last_least, z_least, <=, i % period, i);
        }
      } else {
#pragma xmp loop on c(i) reduction(firstmax:most/a_most/) reduction(firstmin:least/a_least/) \
    reduction(lastmax:last_most/z_most/) reduction(lastmin:last_least/z_least/)
        for (int i = N - 1; i >= 1; i -= 2) {
          TAKE(most, a_most, >, i % period, i);
          TAKE(least, a_least, <, i % period, i);
          TAKE(last_most, z_most, >=, i % period, i);
          TAKE(last_least, z_least, <=, i % period, i);
        }
      }
      int* const values = plain ? y : x;
      int* const places = plain ? to : at;
      values[0] = most, values[1] = least, values[2] = last_most, values[3] = last_least;
      places[0] = a_most, places[1] = a_least, places[2] = z_most, places[3] = z_least;
    }
    CHECK(memcmp(x, y, sizeof x) == 0 && memcmp(at, to, sizeof at) == 0);
    // A nest, the outer loop downwards, with jumps; a structure as location.
    int best = -1, expected = -1;
    pair.row = pair.column = whole.row = whole.column = -1;
#pragma xmp loop (i, j) on g[i][j] reduction(firstmax:best/pair/)
    for (int i = N - 1; i >= 0; i--)
      for (int j = 0; j < M; j++) {
        if ((i + j) % period <= best) continue;
        best = (i + j) % period, pair.row = i, pair.column = j;
        if (j % 2 == 0) continue;
      }
    for (int i = N - 1; i >= 0; i--)
      for (int j = 0; j < M; j++)
        if ((i + j) % period > expected) expected = (i + j) % period, whole.row = i, whole.column = j;
    CHECK(best == expected && pair.row == whole.row && pair.column == whole.column);
    // The other way round, and the dimension that varies fastest outside.
    float low = 99, lowest = 99;
    int row = -1, column = -1, all_row = -1, all_column = -1;
#pragma xmp loop (j, i) on g[i][j] reduction(lastmin:low/row,column/)
    for (int j = 0; j < M; j++)
      for (int i = j; i < N; i++)
        if ((float)((i + j) % period) <= low) low = (float)((i + j) % period), row = i, column = j;
    for (int j = 0; j < M; j++)
      for (int i = j; i < N; i++)
        if ((float)((i + j) % period) <= lowest) lowest = (float)((i + j) % period), all_row = i, all_column = j;
    CHECK(low == lowest && row == all_row && column == all_column);
    // A loop that is not divided, around one, and between two.
    int found = -1, where = -1, all_found = -1, all_where = -1, found_last = -1, where_last = -1;
#pragma xmp loop (j) on g[*][j] reduction(firstmax:found/where/)
    for (int k = 3; k > 0; k--)
      for (int j = M - 1; j >= 0; j--) TAKE(found, where, >, k * j % period, k * M + j);
    for (int k = 3; k > 0; k--)
      for (int j = M - 1; j >= 0; j--) TAKE(all_found, all_where, >, k * j % period, k * M + j);
    CHECK(found == all_found && where == all_where);
    found = all_found = -1, where = all_where = -1;
#pragma xmp loop (i, j) on g[i][j] reduction(lastmax:found/where/)
    for (int i = 0; i < N; i++) {
      int k = 3;
      while (k-- > 0)
        for (int j = 0; j < M; j++) TAKE(found, where, >=, (k + i + j) % period, (i * 3 + k) * M + j);
    }
    for (int i = 0; i < N; i++)
      for (int k = 2; k >= 0; k--)
        for (int j = 0; j < M; j++) TAKE(all_found, all_where, >=, (k + i + j) % period, (i * 3 + k) * M + j);
    CHECK(found == all_found && where == all_where);
    // A condition in each iteration, downwards.
    int all_last = -1, all_where_last = -1;
    found = all_found = -1;
#pragma xmp loop (i) on c(N - 1 - i) reduction(firstmax:found/where/) reduction(lastmax:found_last/where_last/)
    for (int i = N - 1; i >= 0; i--) {
      TAKE(found, where, >, i % period, i);
      TAKE(found_last, where_last, >=, i % period, i);
    }
    for (int i = N - 1; i >= 0; i--) {
      TAKE(all_found, all_where, >, i % period, i);
      TAKE(all_last, all_where_last, >=, i % period, i);
    }
    CHECK(found == all_found && where == all_where && found_last == all_last && where_last == all_where_last);
    // The loops' own variables, which the reduction keeps; what is larger than all values is taken nowhere.
    int i, j, largest = -1, none = 1000, nowhere = -5;
#pragma xmp loop (i, j) on g[i][j] reduction(firstmax:largest/i,j/) reduction(firstmax:none/nowhere/)
    for (i = 0; i < N; i++)
      for (j = M - 1; j >= 0; j--) {
        if (i * j % period > largest) largest = i * j % period;
        TAKE(none, nowhere, >, i * j, i);
      }
    int a_i = -1, a_j = -1, all = -1;
    for (int k = 0; k < N; k++)
      for (int l = M - 1; l >= 0; l--)
        if (k * l % period > all) all = k * l % period, a_i = k, a_j = l;
    CHECK(largest == all && i == a_i && j == a_j && none == 1000 && nowhere == -5);
  }
}

int main(void) {
  directions();
  nests();
  widths();
  jumps();
  reductions();
  ties();
  const int nodes = xmp_num_nodes();
  at_nodes = xmpc_node_num();
#pragma xmp loop (i) on p[i]
  for (int i = 0; i < nodes; i++) on_node(i);
  int n = 0;
  at_nodes = xmpc_node_num() + 1;
#pragma xmp loop (i) on p(i) reduction(+:n)
  for (int i = 1; i <= nodes; i++) {
    if (i == 1) continue;
    on_node(i);
    n += i;
  }
  CHECK(n == nodes * (nodes + 1) / 2 - 1);
  return 0;
}
