// options: -O0; -O2; -Wall -Wextra
// arrays: 6
// Initialisers of other objects that need the addresses of dlm arrays.
#include <stdio.h>

dlm double a[10] = {1, 2, 3}, m[3][4];
double *p = a, *q = &a[2], *untouched, (*whole)[10] = &a, (*row)[4] = m + 1;
static double* rows[] = {m[0], m[1],
                         m[2]};
static double* const fixed[2] = {a, a + 1};
static double *const single = &a[1], *const another = m[1];
struct view {
  const char* name;
  double* data;
  unsigned long bytes;
  struct {
    double* first;
  } inner[2];
};
struct view view = {"a", a, sizeof a, {{m[0]}, {&m[2][3]}}}, plain = {"plain", 0, 3, {{0}}};
static const struct view constant = {.data = a + 2, .inner[1].first = a}, *views[] = {&view, &plain};
dlm double* own[4] = {a, [2] = &m[1][1]};
dlm int chain[3];
dlm struct node {
  struct node* next;
  int value;
} nodes[3] = {{&nodes[1], 1}, {&nodes[2], 2}, {0, 3}};
static long difference = sizeof a + sizeof m;
int* head = chain;
dlm int* const sealed[] = {chain, chain + 2};
void* volatile moving = chain;

int main(void) {
  m[1][1] = 5;
  m[2][3] = 6;
  p[4] = 9;
  printf("%g %g %g %d %g %zu\n", *q, (*whole)[2], a[4], untouched == 0, row[0][1], sizeof rows);
  printf("%g %g %g %g\n", rows[1][1], fixed[1][1], *single, another[1]);
  printf("%s %g %lu %g %g %s\n", view.name, view.data[1], view.bytes, view.inner[0].first[0], *view.inner[1].first, plain.name);
  printf("%g %g %s\n", *constant.data, constant.inner[1].first[0], views[1]->name);
  printf("%g %d %g %d\n", own[0][2], own[1] == 0, *own[2], own[3] == 0);
  int sum = 0;
  for (struct node* n = nodes; n; n = n->next) sum += n->value;
  head[2] = 4;
  printf("%d %ld %d %zu %d\n", sum, difference, *sealed[1], sizeof sealed, moving == chain);
  return 0;
}
