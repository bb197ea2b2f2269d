// options: -O0; -O2
// arrays: 4
// The names of dlm arrays for everything else that can have a name.
#include <stdio.h>
#include <stdlib.h>

dlm int a[4] = {1, 2, 3, 4};
dlm double x[3], y[3];
dlm int noreturn[2] = {5, 6};

struct a {
  int a;
  struct {
    int x;
  } y;
};
union x {
  int x;
};
enum y { first_y = 7 };
typedef struct a other;

static int old(a, x) int a[];
int x;
{ return a[x]; }

static int takes(int a, const int* x) { return a + x[0]; }
static int prototype(int a[], int n, int x[static 1]);
static int prototype(int y[], int n, int x[static 1]) { return y[n] + x[0]; }
static int array_parameter(int n, int a[n]) { return a[n - 1]; }
__attribute__((noreturn)) static void leave(int code);

static int shadow(void) {
  int sum = a[0];
  {
    int a = 10;
    sum += a;
    {
      (void)sizeof(int[3]);
    }
  }
  for (int x = 0; x < 3; x++) sum += x;
  for (int i = 0, a = 5; i < a; i++) sum += a;
  if (sum > 0) {
    enum { x = 100 };
    sum += x;
  }
  sum += a[1];
  int a = 1000;
  sum += a;
  return sum;
}

static int labels(void) {
  int n = 0;
a:
  n += a[n];
  if (n < 3) goto a;
  void* where = &&x;
  goto* where;
  n = 100;
x:
  a[3]++;
  switch (n) {
    case 1:
    y:
      return n;
    default:
      n = 1;
      goto y;
  }
}

static int members(void) {
  struct a s = {.a = 3, .y = {.x = 4}}, *p = &s;
  other o = {.a = a[0], .y.x = a[1]};
  union x u;
  u.x = p->a + p->y.x;
  enum y e = first_y;
  return u.x + o.a * 10 + o.y.x * 100 + (int)e * 1000 + (int)sizeof(struct a);
}

static int operands(void) {
  int result = 0;
  __asm__("" : [a] "=r"(result) : [x] "0"(a[2]));
  return result;
}

static int types(void) {
  typedef int a;
  a n = 5;
  return n + (int)sizeof(a);
}

static int statement_expression(void) { return ({ int a = x[0] == 0 ? 5 : 6; a + (int)y[1]; }) + a[0]; }
static int functions(int (*a)(int), int n) { return a(n); }
static int negate(int n) { return -n; }
static void leave(int code) {
  printf("leaving %d\n", noreturn[1]);
  fflush(stdout);
  exit(code);
}

int main(void) {
  int numbers[] = {4, 5, 6};
  printf("%d %d %d %d\n", old(numbers, 1), takes(a[1], numbers), prototype(numbers, 2, a), array_parameter(2, a));
  printf("%d %d %d %d %d\n", shadow(), labels(), members(), operands(), types());
  printf("%d %d\n", statement_expression(), functions(negate, a[0]));
#define a_of(i) a[i]
#define a_whole a
#define paste(p, q) p##q
#define name_of(v) #v
  printf("%d %zu %d %s\n", a_of(2), sizeof a_whole, paste(noret, urn)[0], name_of(a));
#define a (a + 1)
  printf("%d\n", *a);
#undef a
  leave(4);
}
