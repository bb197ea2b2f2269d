dlm double a[3];
int main(void) {
  int inner(int i) {
    // error at 12: cannot tell what 'a' means here
    double a[2] = {1, 2};
    // error at 17: cannot tell what 'a' means here
    return (int)a[i];
  }
  return inner(1);
}
