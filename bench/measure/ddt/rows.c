// The table of rows. A pattern's sizes rise; each pattern has the sizes that its application sends in
// DDTBench's test cases, and where those lie close together a smaller or larger one of the same shape.
#include "row.h"

// WRF: {i, k, j extents of the patch with its halo; first i, number of i; first j, number of j} to send.
#define WRF_X(P, MI, MJ, I0, J0, NJ) \
  {                                  \
    &P, {                            \
      MI, 65, MJ, I0, 3, J0, NJ      \
    }                                \
  }
#define WRF_Y(P, MI, MJ, I0, NI, J0) \
  {                                  \
    &P, {                            \
      MI, 65, MJ, I0, NI, J0, 3      \
    }                                \
  }

const struct row kRows[] = {
    WRF_X(kWrfXVec, 19, 24, 9, 4, 16),
    WRF_X(kWrfXVec, 24, 34, 14, 4, 26),
    WRF_X(kWrfXVec, 32, 52, 22, 4, 44),
    WRF_X(kWrfXSa, 19, 24, 9, 4, 16),
    WRF_X(kWrfXSa, 24, 34, 14, 4, 26),
    WRF_X(kWrfXSa, 32, 52, 22, 4, 44),
    WRF_Y(kWrfYVec, 19, 24, 4, 11, 7),
    WRF_Y(kWrfYVec, 32, 52, 5, 23, 7),
    WRF_Y(kWrfYVec, 54, 52, 4, 46, 7),
    WRF_Y(kWrfYSa, 19, 24, 4, 11, 7),
    WRF_Y(kWrfYSa, 32, 52, 5, 23, 7),
    WRF_Y(kWrfYSa, 54, 52, 4, 46, 7),
    // MILC: lattice x, y, z, t.
    {&kMilc, {8, 8, 8, 8}},
    {&kMilc, {8, 16, 16, 16}},
    {&kMilc, {16, 16, 16, 16}},
    {&kMilc, {16, 32, 16, 32}},
    // NAS LU: points in x and y of the slab, without halo.
    {&kLuX, {12, 12}},
    {&kLuX, {102, 102}},
    {&kLuX, {408, 408}},
    {&kLuX, {1020, 1020}},
    {&kLuY, {12, 12}},
    {&kLuY, {102, 102}},
    {&kLuY, {408, 408}},
    {&kLuY, {1020, 1020}},
    // NAS MG: extents in x, y, z with halo.
    {&kMgX, {34, 18, 18}},
    {&kMgX, {130, 66, 66}},
    {&kMgX, {258, 130, 130}},
    {&kMgY, {34, 18, 18}},
    {&kMgY, {258, 130, 130}},
    {&kMgY, {514, 258, 258}},
    {&kMgZ, {34, 18, 18}},
    {&kMgZ, {258, 130, 130}},
    {&kMgZ, {514, 258, 258}},
    // FFT2: order of the square matrix that two ranks share.
    {&kFft2, {128}},
    {&kFft2, {512}},
    {&kFft2, {768}},
    // SPECFEM3D: mt {points}; oc {points of the slice, of its boundary}; cm {both for crust and mantle, then
    // core}.
    {&kSpecfemMt, {1900}},
    {&kSpecfemMt, {7600}},
    {&kSpecfemOc, {3697, 493}},
    {&kSpecfemOc, {88881, 3225}},
    {&kSpecfemCm, {39929, 1957, 1225, 245}},
    {&kSpecfemCm, {834917, 11797, 51153, 3009}},
    // LAMMPS: {own atoms, atoms to send}.
    {&kLammpsFull, {600, 512}},
    {&kLammpsFull, {1907, 1662}},
    {&kLammpsFull, {3534, 3062}},
    {&kLammpsAtomic, {1217, 114}},
    {&kLammpsAtomic, {4084, 243}},
    {&kLammpsAtomic, {16336, 972}},
};
const int kRowCount = sizeof kRows / sizeof kRows[0];

const struct row kContiguousRows[] = {
    {&kContiguous, {8}},
    {&kContiguous, {64 << 10}},
    {&kContiguous, {1 << 20}},
    {&kContiguous, {4 << 20}},
};
const int kContiguousRowCount = sizeof kContiguousRows / sizeof kContiguousRows[0];
