// Coarrays in device memory, after figure 5 of the paper on XcalableACC's local view and section 2.6 of its specification.
// double: no
// needs: -acc
#include "check.h"
#define N 40
int a[N]:[*]; /* coarray */
int b[N];     /* array */
#pragma acc declare create(a, b)
double first[3]:[*] = {1, 2, 3}, s:[*] = 7;
#pragma acc declare create(first)
#pragma acc declare create(s)
#define host_only(x) (x)
int main(void) {
  int status = -1;
  const int me = ME; /* a device calls no function of the host */
  if (xmp_node_num() == 1) {
#pragma acc parallel loop
    for (int i = 0; i < N; i++) {
      b[i] = i;
    }
#pragma acc host_data use_device(a, b)
    a[:]:[RIGHT] = b[:];
  }
  xmp_sync_all(&status);
  CHECK(status == XMP_STAT_SUCCESS);
  if (ME == (xmp_num_images() > 1 ? 2 : 1)) {
#pragma acc parallel loop
    for (int i = 0; i < N; i++) {
      b[i] = a[i] * 2;
    }
#pragma acc update self(b)
    for (int i = 0; i < N; i++) CHECK(b[i] == 2 * i);
  }
  xmp_sync_all(NULL);

  /* Initial values are those of the host. */
  double sum = 0;
#pragma acc parallel loop reduction(+:sum) present(first)
  for (int i = 0; i < 3; i++) sum += first[i];
#pragma acc serial copy(sum)
  sum += s;
  CHECK(sum == 13);

  /* Device to host, host to device; each operand has its own memory. */
  int host[N];
#pragma acc parallel loop present(a)
  for (int i = 0; i < N; i++) a[i] = 1000 * me + i;
  xmp_sync_all(NULL);
#pragma acc host_data use_device(a)
  host[:] = a[:]:[RIGHT];
  for (int i = 0; i < N; i++) CHECK(host[i] == 1000 * RIGHT + i);
  xmp_sync_all(NULL);
  for (int i = 0; i < N; i++) host[i] = -i - ME;
#pragma acc host_data use_device(a)
  {
    a[0:10]:[RIGHT] = host[10:10];
    a[N-1:10:-1]:[RIGHT] = host[0:10];
    a[20]:[RIGHT] = 5;
    a[21]:[RIGHT] = a[20]:[RIGHT] + 1;
    a[21]:[RIGHT] += 10;
    a[22:3]:[RIGHT] = 8;
  }
  xmp_sync_all(NULL);
#pragma acc update self(a[0:30])
#pragma acc update self(a[30:10])
  for (int i = 0; i < 10; i++) CHECK(a[i] == -(i + 10) - LEFT && a[N - 1 - i] == -i - LEFT);
  for (int i = 10; i < 20; i++) CHECK(a[i] == 1000 * ME + i);
  CHECK(a[20] == 5 && a[21] == 16 && a[22] == 8 && a[24] == 8 && a[25] == 1000 * ME + 25);
  xmp_sync_all(NULL);

  /* One object: from device memory, and into it. */
#pragma acc serial present(s)
  s = 100 + me;
  xmp_sync_all(NULL);
  double got = 0;
#pragma acc host_data use_device(s, first)
  {
    got = s:[RIGHT];
    first[2]:[RIGHT] = first[0];
    first[1] = s:[LEFT];
    s:[RIGHT]++;
  }
  CHECK(got == 100 + RIGHT);
  xmp_sync_all(NULL);
#pragma acc update host(first, s)
  CHECK(first[0] == 1 && first[1] >= 100 + LEFT && first[2] == 1 && s == 101 + ME);
  xmp_sync_all(NULL);
  return 0;
}
