/* comments of old
// options: -ansi -pedantic-errors; -std=c90 -O2
// arrays: 4
*/
#include <stdio.h>
dlm double a[3], b[2] = {1, 2};
static dlm char text[] = "old";

int sum(n, v)
int n;
int *v;
{
  int i, s = 0;
  static dlm int counts[2];
  for (i = 0; i < n; i++) s += v[i];
  counts[0]++;
  counts[1] += s;
  return counts[1] * 10 + counts[0];
}

int main(void) {
  int i;
  int v[3];
  for (i = 0; i < 3; i++) {
    int twice = 2 * i;
    a[i] = twice;
    v[i] = i;
  }
  printf("%g %g %s %d ", a[2], b[1], text, sum(3, v));
  printf("%d\n", sum(2, v));
  return 0;
}
