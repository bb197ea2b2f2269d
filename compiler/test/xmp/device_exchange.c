// Exchanges as the paper on XcalableACC's local view writes them: margins of a field on a grid of images (figure 12), and a sum over
// images by recursive doubling, with compute regions inside of the host_data region (figure 16).
// needs: -acc
// double: no
#include "check.h"
#define IMAX 5
#define JMAX 6
#define KMAX 7
#define ROW 2
float p[IMAX][JMAX][KMAX]:[ROW][*];
float low_send[IMAX * KMAX]:[ROW][*], low_recv[IMAX * KMAX]:[ROW][*], high_send[IMAX * KMAX]:[ROW][*],
    high_recv[IMAX * KMAX]:[ROW][*];
#pragma acc declare create(p, low_send, low_recv, \
                           high_send, high_recv)
double w[40]:[*], q[40]:[*];
#pragma acc declare create(w, q)

static void exchange(int mex, int mey) {
  const int len = IMAX * KMAX;
  const int not_last = ME + ROW <= xmp_num_images(); /* a device calls no function of the host */
#pragma acc parallel loop collapse(2)
  for (int i = 0; i < IMAX; i++)
    for (int k = 0; k < KMAX; k++) {
      low_send[i * KMAX + k] = p[i][1][k];
      high_send[i * KMAX + k] = p[i][JMAX - 2][k];
    }
  xmp_sync_all(NULL);
#pragma acc host_data use_device(low_send, low_recv, \
                                 high_send, high_recv)
  {
    if (mey > 1) low_recv[0:len] = high_send[0:len]:[mex][mey - 1];
    if (not_last) high_recv[0:len] = low_send[0:len]:[mex][mey + 1];
    xmp_sync_all(NULL);
  }
#pragma acc parallel loop collapse(2)
  for (int i = 0; i < IMAX; i++)
    for (int k = 0; k < KMAX; k++) {
      if (mey > 1) p[i][0][k] = low_recv[i * KMAX + k];
      if (not_last) p[i][JMAX - 1][k] = high_recv[i * KMAX + k];
    }
}

static void sum_over_images(int start, int length) {
  const int n = xmp_num_images();
  xmp_sync_all(NULL);
#pragma acc host_data use_device(w, q)
  {
    for (int distance = 1; distance < n; distance *= 2) {
      const int image = ((ME - 1) ^ distance) + 1;
      xmp_sync_image(image, NULL);
      q[start:length] = w[start:length]:[image];
      xmp_sync_image(image, NULL);
#pragma acc parallel loop
      for (int j = start; j < start + length; j++) {
        w[j] = w[j] + q[j];
      }
    }
  }
}

int main(void) {
  const int n = xmp_num_images(), me = ME;
  const int mex = (ME - 1) % ROW + 1, mey = (ME - 1) / ROW + 1;
#pragma acc parallel loop collapse(3)
  for (int i = 0; i < IMAX; i++)
    for (int j = 0; j < JMAX; j++)
      for (int k = 0; k < KMAX; k++) p[i][j][k] = 1000 * me + 100 * i + 10 * j + k;
  exchange(mex, mey);
#pragma acc update self(p)
  for (int i = 0; i < IMAX; i++)
    for (int k = 0; k < KMAX; k++) {
      CHECK(mey == 1 || p[i][0][k] == 1000 * (ME - ROW) + 100 * i + 10 * (JMAX - 2) + k);
      CHECK(ME + ROW > n || p[i][JMAX - 1][k] == 1000 * (ME + ROW) + 100 * i + 10 + k);
    }
  if ((n & (n - 1)) == 0) {
    for (int i = 0; i < 40; i++) w[i] = ME * (i + 1), q[i] = -1;
#pragma acc update device(w, q)
    sum_over_images(4, 30);
#pragma acc update self(w)
    for (int i = 0; i < 40; i++) CHECK(w[i] == (i >= 4 && i < 34 ? n * (n + 1) / 2 : ME) * (i + 1));
  }
  xmp_sync_all(NULL);
  return 0;
}
