/* Coarrays of XcalableMP C: a ring of images that average with their neighbours, halos fetched by assignment.
 *
 *     tasukicc -O2 halo.c -o halo
 *     mpirun -n 4 ./halo                # on any MPI
 *     mpirun -n 4 tasuki run ./halo     # inside a node by loads and stores
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <xmp.h>

#define N 1000

static double u[N + 2] : [*]; /* u[0] and u[N + 1] are the neighbours' */

int main(void) {
  const int me = xmp_this_image(), all = xmp_num_images();
  const int left = (me + all - 2) % all + 1, right = me % all + 1;
  double sum = 0;
  for (int i = 1; i <= N; i++) u[i] = i == 1 && me == 1 ? 1000 : 0;
  for (int step = 0; step < 100; step++) {
    xmp_sync_all(NULL);
    u[0] = u[N] : [left];
    u[N + 1] = u[1] : [right];
    xmp_sync_all(NULL);
    double last = u[0];
    for (int i = 1; i <= N; i++) {
      const double mean = 0.25 * last + 0.5 * u[i] + 0.25 * u[i + 1];
      last = u[i];
      u[i] = mean;
    }
  }
  /* Nothing is lost on a ring: image 1 adds up what everybody has. */
  xmp_sync_all(NULL);
  if (me == 1) {
    double there[N];
    for (int image = 1; image <= all; image++) {
      there [0:N] = u [1:N] : [image];
      for (int i = 0; i < N; i++) sum += there[i];
    }
    printf("%d images, sum %.9f\n", all, sum);
    if (fabs(sum - 1000) > 1e-9) exit(1);
  }
  return 0;
}
