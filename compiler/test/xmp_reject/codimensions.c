// error at 13: the last codimension of a coarray must be [*]
int first[3]:[4];
// error at 14: the last codimension must be [*]: it is as large as there are images
int second[3]:[*][4];
int main(void) { return 0; }
