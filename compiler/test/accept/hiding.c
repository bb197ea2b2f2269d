// options: -O0; -O2
// arrays: 9
// Arrays that hide others of their name, and speak of them in their own declarations; in functions with jumps, where no local copies of
// the pointers are.
#include <stdio.h>
dlm int g[3] = {1, 2, 3};

static int jumps(int n) {
  static dlm int a[2] = {1, 2};
  if (n < 0) goto end;
  {
    static dlm int a[2][4][sizeof a / sizeof a[0]] = {{[2] = {5, 6}}, {{7}, [3] = {8, 9}}}, b[sizeof a / sizeof a[0][0]] = {3, [7] = 4};
    n += a[0][2][1] * 10 + a[1][0][0] + a[1][3][1] + (int)sizeof a + b[7] + (int)sizeof b;
    {
      static dlm short a[2][sizeof a / sizeof a[0]][sizeof a / sizeof **a] = {{{1, 2}, {3, 4}}, {{5, 6, 7}, {8}}};
      printf("%d %d %d %zu\n", a[0][1][0], a[1][0][2], a[1][1][0], sizeof a);
    }
  }
end:
  return n + a[1];
}

static int block_label(int n) {
  __label__ out;
  if (n > 5) goto out;
  {
    static dlm int g[2][2][sizeof g / sizeof *g] = {{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, 11, 12}}};
    n += g[1][0][2] * 100 + g[1][1][1];
  }
out:
  return n + g[2];
}

// Larger inside than outside.
static int cases(int n) {
  switch (n) {
    default: {
      static dlm char g[2][sizeof g] = {"abc", "defghijkl"};
      {
        extern dlm int g[3];
        n += g[0];
      }
      return n + g[0][0] + g[1][0] + g[1][8] + (int)sizeof g;
    }
  }
}

static int straight(void) {
  static dlm char a[3] = "ab";
  {
    static dlm char a[2][sizeof a + 4] = {"cdefg", "hi"};
    return a[1][0] * 1000 + a[0][4] + (int)sizeof a;
  }
}

int main(void) {
  printf("%d %d %d %d\n", jumps(0), block_label(1), cases(2), straight());
  return 0;
}
