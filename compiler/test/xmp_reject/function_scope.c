int main(void) {
  static int kept[3]:[*];
  // error at 21: the address of 'kept' is known only when the program has started
  static int *at = &kept[1];
  return *at;
}
