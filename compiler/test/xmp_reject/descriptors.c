#include <xmp.h>
int a:[*], plain[3];
int main(void) {
  // error at 31: 'plain' is no node array, template, distributed array or coarray
  const void *d = xmp_desc_of(plain);
  return d == 0;
}
