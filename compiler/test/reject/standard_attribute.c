// options: -std=c2x
// error at 1: [[...]] cannot stand before a dlm array
[[gnu::aligned(64)]] dlm double a[3];
int main(void) { return 0; }
