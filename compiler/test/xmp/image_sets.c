// Coarrays whose images are counted in a node array, and sync functions of its nodes, in tasks and between them.
// double: no
#include "check.h"
#pragma xmp nodes all[*] = **
#pragma xmp nodes plane[*][1]
int s:[*], grid[4]:[*], here:[*];
double pair_of:[2][*];
xmp_lock_t l:[*];
#pragma xmp coarray on all :: s, grid
#pragma xmp coarray on all : l
int *allocated:[*];
#pragma xmp coarray on all :: allocated

// What the caller counts in its task is counted in all nodes here.
static void exchange(int mine, int *yours:[*], int image) {
#pragma xmp coarray on all :: yours
  yours[0]:[image] = mine;
  yours[0]:[image] += 1;
  yours[0]:[image]++;
}

static int of_function(int image) {
  static int kept:[*];
#pragma xmp coarray on all :: kept
  kept = 10 * xmp_all_node_num();
#pragma xmp image(all)
  xmp_sync_all(NULL);
  const int there = kept:[image];
#pragma xmp image(all)
  xmp_sync_all(NULL);
  return there;
}

// Two tasks: the first node of each meets the other.
static void between_tasks(int n, int half) {
  const int me = xmp_all_node_num(), other = me == 1 ? half + 1 : 1;
  int status = -1, numbers[1] = {other};
  if (xmp_this_image() == 1) {
    exchange(me, &s, other);
#pragma xmp image(all)
    xmp_sync_image(other, &status);
    CHECK(status == XMP_STAT_SUCCESS && s == other + 2);
#pragma xmp image(all)
    xmp_sync_image(other, NULL);
    s:[other] = 100;
    grid[1:2]:[other] = me;
#pragma xmp image(all)
    xmp_sync_images(1, numbers, NULL);
    CHECK(s:[me] == 100 && grid[1] == other && grid[2]:[me] == other && grid[3] == 0 && s:[other] == 100);
  } else {
    CHECK(s == 0);
  }
  // Others keep the numbers of their task.
  here = me;
  xmp_sync_all(NULL);
  CHECK(here:[1] == (me <= half ? 1 : half + 1) && xmp_num_images() == (me <= half ? half : n - half));
  if (xmp_this_image() == 1) allocated[0]:[other] = 7 * me;
#pragma xmp image(all)
  xmp_sync_images_all(NULL);
  CHECK(allocated[0] == (xmp_this_image() == 1 ? 7 * other : 0));
#pragma xmp lock(l:[n])
  s:[n] += 1000;
#pragma xmp unlock(l:[n])
#pragma xmp image(all)
  xmp_sync_all(NULL);
  CHECK(s:[n] / 1000 == n);
  CHECK(of_function(n) == 10 * n);
}

static void by_name(int n) {
  // Another node array of the same name, and a coarray whose images are not counted in it.
#pragma xmp nodes all(*) = **
  CHECK(s:[n] / 1000 == n);
  {
    int *s:[*] = &here;
    CHECK(s[0]:[RIGHT] == RIGHT);
  }
#pragma xmp image(all)
  xmp_sync_all(NULL);
}

int main(void) {
  const int n = xmp_num_images(), half = n / 2, me = xmp_all_node_num();
  allocated = xmp_comalloc(sizeof(int));
  CHECK(s:[n] == 0 && xmp_num_images() == n);
  xmp_sync_all(NULL);
  if (half > 0) {
#pragma xmp tasks
    {
#pragma xmp task on all[0:half]
      between_tasks(n, half);
#pragma xmp task on all[half:n - half]
      between_tasks(n, half);
    }
    xmp_sync_all(NULL);
    by_name(n);
  }
  if (n % 2 == 0) {
    // Codimensions, and an image number that is computed once.
    double *turn:[n / 2][*] = &pair_of;
#pragma xmp coarray on plane :: turn
    int calls = 0;
    if (me == 1)
      for (int i = 1; i <= 2; i++) turn[0]:[n / 2][(calls++, i)] = i;
    xmp_sync_all(NULL);
    CHECK(calls == (me == 1 ? 2 : 0) && pair_of == (me == n / 2 ? 1 : me == n ? 2 : 0));
  }
  xmp_sync_all(NULL);
  xmp_cofree(allocated);
  return 0;
}
