// error at 25: 'a' is thread-local
static __thread dlm int a[3];
// error at 33: 'b' is thread-local
extern _Thread_local dlm double b[3];
int main(void) {
  // error at 33: 'c' is thread-local
  static dlm _Thread_local char c[2];
  return c[0] + a[0];
}
