// Allocated coarrays in device memory: pointers of the file in declare create get it from xmp_malloc.
// double: no
// needs: -acc
#include "check.h"
#define N 30
int *p:[*], (*rows)[4]:[*];
#pragma acc declare create(p, rows)
int b[N];
int main(void) {
  const int me = ME; /* a device calls no function of the host */
  for (int round = 0; round < 2; round++) {
    p = xmp_malloc(xmp_desc_of(p), (size_t)N);
    rows = xmp_malloc(xmp_desc_of(rows), (size_t)3, (size_t)4);
#pragma acc parallel loop present(p[0:N])
    for (int i = 0; i < N; i++) p[i] = 1000 * me + i + round;
    xmp_sync_all(NULL);
#pragma acc host_data use_device(p)
    b[:] = p[0:N]:[RIGHT];
    for (int i = 0; i < N; i++) CHECK(b[i] == 1000 * RIGHT + i + round);
    xmp_sync_all(NULL);
#pragma acc host_data use_device(p, rows)
    {
      p[0:5]:[LEFT] = b[5:5];
      rows[1:2][0:4]:[RIGHT] = b[0:8];
    }
    xmp_sync_all(NULL);
#pragma acc update self(p[0:N])
    for (int i = 0; i < N; i++) CHECK(p[i] == (i < 5 ? 1000 * (RIGHT % xmp_num_images() + 1) + i + 5 : 1000 * ME + i) + round);
    int first = 0;
#pragma acc host_data use_device(rows)
    first = rows[1][0]:[ME];
    CHECK(first == 1000 * ME + round);
    xmp_sync_all(NULL);
    xmp_free(rows);
    xmp_free(p);
  }
  return 0;
}
