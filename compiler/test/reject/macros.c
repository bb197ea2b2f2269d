#define ARRAY(name, size) dlm double name[size]
#define SCALAR(name) dlm double name
ARRAY(fine, 3);
// error: 'x' is not an array
SCALAR(x);
// error at 15: 'y' is not an array
SCALAR(z[1]), y;
int main(void) {
  // error: 'w' is an automatic variable
  ARRAY(w, 3);
  return w[0] > fine[0];
}
