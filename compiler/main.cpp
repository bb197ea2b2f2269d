#include "compiler/command/driver.h"

int main(int argc, char** argv) {
  return tasuki::cc::run_driver({argv + 1, argv + argc});
}
