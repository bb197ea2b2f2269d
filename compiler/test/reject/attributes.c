// error at 32: the attribute 'section' applies to memory of the executable
dlm double a[3] __attribute__((section("data")));
// error at 16: the attribute 'section' applies
__attribute__((__section__("data"))) dlm double b[3];
int real[3];
// error at 36: the attribute 'alias' applies to memory
extern dlm int c[3] __attribute__((alias("real")));
// error at 17: a dlm array is no symbol of the executable and has no asm name
dlm double d[3] __asm__("other");
int main(void) { return 0; }
