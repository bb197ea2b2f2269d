extern int a[3]:[*];
// error at 5: 'a' is declared without codimensions here, and with codimensions elsewhere
int a[3];
// error at 28: the attribute 'section' applies to memory of the executable, and a coarray is not there
int b:[*] __attribute__((  section("data")));
// error at 11: a coarray is no symbol of the executable and has no asm name
int c:[*] asm("other");
int main(void) { return 0; }
