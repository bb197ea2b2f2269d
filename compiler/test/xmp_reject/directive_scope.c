// error at 13: '#pragma xmp barrier' stands in a function
#pragma xmp barrier
int main(void) { return 0; }
