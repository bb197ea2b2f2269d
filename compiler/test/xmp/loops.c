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

int main(void) {
  directions();
  nests();
  widths();
  jumps();
  reductions();
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
