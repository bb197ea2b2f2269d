// error at 13: '#pragma xmp barrier' must stand in a function
#pragma xmp barrier
int main(void) { return 0; }
