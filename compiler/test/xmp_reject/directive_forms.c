#include <xmp.h>
xmp_lock_t l:[*];
#pragma xmp nodes p(4)
int main(void) {
  int ok;
// error at 13: '#pragma xmp post': ', tag' is expected before ')'
#pragma xmp post(p(1))
// error at 13: '#pragma xmp post': the number of one node is expected
#pragma xmp post(p(1:2), 3)
// error at 13: '#pragma xmp post': '(' is expected at its end
#pragma xmp post
// error at 13: '#pragma xmp wait': ')' is expected
#pragma xmp wait(p(1), 2, 3)
// error at 13: '#pragma xmp lock': 'acquired_lock', 'stat' or the end is expected
#pragma xmp lock(l:[1]) status(ok)
// error at 13: '#pragma xmp unlock': 'stat' or the end is expected before 'acquired_lock'
#pragma xmp unlock(l:[1]) acquired_lock(ok)
// error at 13: '#pragma xmp nonblock': 'remote' is expected before 'local'
#pragma xmp nonblock(local)
  {
  }
// error at 13: '#pragma xmp wait_nonblock': '(local)' or nothing is expected
#pragma xmp wait_nonblock remote
// error at 13: '#pragma xmp task': 'on' is expected
#pragma xmp task p(1)
  {
  }
// error at 13: '#pragma xmp nodes': the name of a node array is expected before '4'
#pragma xmp nodes 4
  return ok;
}
