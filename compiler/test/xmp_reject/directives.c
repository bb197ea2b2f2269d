#include <xmp.h>
xmp_lock_t l:[*];
int main(void) {
  int ok;
// error at 13: '#pragma xmp tasklet' is not supported
#pragma xmp tasklet
// error at 13: 'nonsense' is not a directive of XcalableMP
#pragma xmp nonsense
// error: '#pragma xmp' without a directive
#pragma xmp
  return ok;
}
