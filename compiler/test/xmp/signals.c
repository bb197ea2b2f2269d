// post and wait, with and without tags; locks; the images that execute a task.
// double: no
#include "check.h"
#define TAG 7
#pragma xmp nodes all(*)
xmp_lock_t l:[*], many[2]:[*];
int counter:[*], order[8]:[*];
int main(void) {
  const int n = xmp_num_images(), r = RIGHT, from = LEFT, me = ME;
  int status, got;
  order[0]:[r] = me;
#pragma xmp post(all(r), 3)
#pragma xmp wait(all(from), 3)
  CHECK(order[0] == from);
#pragma xmp post(all(from), TAG)
#pragma xmp post(all[from - 1], TAG + 1)
#pragma xmp wait(all[r - 1], TAG + 1)
#pragma xmp wait(all(r))
#pragma xmp barrier
  if (me == n) {
#pragma xmp post(all(1), 1)
  }
  if (me == 1)
#pragma xmp wait
  else
    got = 0;
  xmp_sync_all(NULL);
  for (int i = 0; i < 20; i++) {
#pragma xmp lock(l:[1])
    counter:[1] = counter:[1] + 1;
#pragma xmp unlock(l:[1])
  }
  xmp_sync_all(NULL);
  CHECK(counter:[1] == 20 * n);
#pragma xmp lock(many[1]:[me]) acquired_lock(got) stat(status)
  CHECK(got && status == XMP_STAT_SUCCESS);
#pragma xmp lock(many[1]:[me]) stat(status)
  CHECK(status == XMP_STAT_LOCKED);
#pragma xmp unlock(many[1]:[me]) stat(status)
  CHECK(status == XMP_STAT_SUCCESS);
#pragma xmp unlock(many[1]:[me]) stat(status)
  CHECK(status == XMP_STAT_UNLOCKED);
  got = 0;
#pragma xmp task on all(1)
  {
    CHECK(xmp_num_nodes() == 1);
    got = 1;
  }
  CHECK(got == (me == 1) && xmp_num_nodes() == n);
  xmp_sync_all(NULL);
  return 0;
}
