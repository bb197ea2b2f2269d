// Coarrays with whatever MPI library the program is linked with: how many images, and that no other library has
// come into the process.
#include <stdio.h>
#include <string.h>
#include <xmp.h>

int a[8] : [*], b[8] : [*];

int main(void) {
  const int me = xmp_this_image(), n = xmp_num_images();
  for (int i = 0; i < 8; i++) a[i] = 100 * me + i;
  xmp_sync_all(0);
  const int other = me % n + 1;
  b [0:8] : [other] = a [0:8];
  xmp_sync_all(0);
  const int from = (me + n - 2) % n + 1;
  for (int i = 0; i < 8; i++)
    if (b[i] != 100 * from + i) return 1;
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[4096];
  while (maps != 0 && fgets(line, sizeof line, maps) != 0)
    if (strstr(line, "/libmpich.so") != 0) return 2;
  if (me == 1) printf("%d images\n", n);
  return 0;
}
