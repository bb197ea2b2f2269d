// options: -O0; -O2; -std=c99
// smaller than: 100000
// arrays: 19
#include <stdio.h>
#include <string.h>

#define N 1000
struct point {
  int x, y;
  const char* name;
};
static int here = 5;
static int twice(int v) { return 2 * v; }

dlm double sparse[N][N] = {{1, 2}, {3}};  // must not put 8 MB into the executable
dlm int tail[N * N] = {4, 5, [7] = 6};
dlm int designated[10] = {[3] = 1, 2, [0] = 9, [8 ... 9] = 4};
dlm struct point points[4] = {{1, 2, "one"}, {.y = 3, .name = "two"}, [3] = {.x = 7}};
dlm int elided[3][2] = {1, 2, 3}, nested[2][2][2] = {{{1}, {2, 3}}, {{4}}};
dlm int unknown[] = {1, 2, 3, 4, 5}, unknown2[][3] = {{1}, {2, 3}, [4] = {6}};
dlm char text[] = "a\tb\"c", longer[20] = "short", braces[] = {"in braces"}, none[3] = "xyz", concatenated[] = "one "
                                                                                                             "two";
dlm const char* strings[] = {"alpha", "beta", [4] = "gamma"};
dlm int (*functions[2])(int) = {twice};
dlm int* addresses[3] = {&here, [2] = &here};
static dlm float empty[4] = {0};
dlm unsigned char bytes[4096 * 3] = {[4095] = 1, [8192] = 2};
const dlm long constants[] = {sizeof sparse, sizeof tail / sizeof tail[0], -1};

int main(void) {
  double s = 0;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) s += sparse[i][j] * (i + 1);
  printf("%g %zu\n", s, sizeof sparse);
  long t = 0;
  for (int i = 0; i < N * N; i++) t += tail[i] * (i + 1L);
  printf("%ld %d\n", t, tail[7]);
  for (int i = 0; i < 10; i++) printf("%d ", designated[i]);
  for (int i = 0; i < 4; i++) printf("(%d %d %s) ", points[i].x, points[i].y, points[i].name != NULL ? points[i].name : "-");
  for (int i = 0; i < 6; i++) printf("%d ", elided[i / 2][i % 2]);
  for (int i = 0; i < 8; i++) printf("%d ", nested[i / 4][i / 2 % 2][i % 2]);
  printf("\n%zu %zu %d %d\n", sizeof unknown, sizeof unknown2, unknown[4], unknown2[4][0]);
  printf("%s %zu %s %zu %s %zu %.3s %s\n", text, sizeof text, longer, sizeof longer, braces, sizeof braces, none, concatenated);
  printf("%s %s %s %d %zu\n", strings[0], strings[1], strings[4], strings[3] == NULL, sizeof strings / sizeof *strings);
  printf("%d %d %d %d %d\n", functions[0](4), functions[1] == NULL, *addresses[0], addresses[1] == NULL, *addresses[2]);
  printf("%g %d %d %ld %ld %ld\n", empty[3], bytes[4095], bytes[8192], constants[0], constants[1], constants[2]);
  for (int i = 10; i < 20; i++)
    if (longer[i] != 0) return 1;
  return memcmp(none, "xyz", 3);
}
