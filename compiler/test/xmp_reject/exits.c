#include <xmp.h>
#define N 10
#define M 4
#pragma xmp nodes p(*)
#pragma xmp template t(0:N-1)
#pragma xmp distribute t(block) onto p
#pragma xmp template u(0:M-1,0:N-1)
#pragma xmp distribute u(*,block) onto p
double a[N];
#pragma xmp align a[i] with t(i)
int find(double x) {
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) {
// error at 20: 'return' would leave a divided loop on one node, and the other nodes would go on with it
    if (a[i] == x) return i;
  }
  return -1;
}
int main(void) {
  int n = 0;
#pragma xmp loop on t(i)
  for (int i = 0; i < N; i++) {
    if (a[i] > 3) continue;
    for (int j = 0; j < M; j++)
      if (a[i] < j) break;
    switch (n) {
      case 0:
        break;
      default:
        n++;
    }
    do {
      if (n > 1) break;
    } while (n++ < 3);
// error at 19: 'break' would leave a divided loop on one node
    if (a[i] > 2) break;
    else n++;
  }
#pragma xmp loop (i) on t(i)
  for (int j = 0; j < M; j++) {
    for (int i = 0; i < N; i++) {
      if (i == j) goto next;
      a[i] = 0;
    next:
      n++;
// error at 18: 'goto' would leave a divided loop on one node
      if (n > 5) goto out;
    }
    if (n > 3) break;
  }
out:
// error at 14: 'goto' leads into a divided loop
  if (n > 7) goto inside;
#pragma xmp loop (i) on t(2*i)
  for (int i = 0; i < N / 2; i++) {
  inside:
// error at 5: 'break' would leave a divided loop on one node
    break;
  }
#pragma xmp loop (i) on t(i)
  for (int i = 0; i < N; i++) {
    void* where = &&here;
// error at 5: 'goto' would leave a divided loop on one node
    goto *where;
  here:
    n++;
  }
  // All nodes execute all of j.
#pragma xmp loop (j, i) on u(j,i)
  for (int j = 0; j < M; j++) {
    for (int i = 0; i < N; i++) n++;
    if (n > 3) break;
  }
#pragma xmp loop (i) on u(*,i)
  for (int i = 0; i < N; i++) {
#pragma xmp loop (j) on u(j,i)
    for (int j = 0; j < M; j++) {
// error at 18: 'return' would leave a divided loop on one node
      if (n < 3) return 1;
      if (n < 2) break;
    }
  }
  return n;
}
