#include "realise.h"

namespace types {

// In the order of basics() and pairs().
MPI_Datatype basic_type(size_t index) {
  static const MPI_Datatype list[] = {
      MPI_CHAR,
      MPI_SIGNED_CHAR,
      MPI_UNSIGNED_CHAR,
      MPI_BYTE,
      MPI_SHORT,
      MPI_UNSIGNED_SHORT,
      MPI_INT,
      MPI_UNSIGNED,
      MPI_LONG,
      MPI_UNSIGNED_LONG,
      MPI_LONG_LONG,
      MPI_UNSIGNED_LONG_LONG,
      MPI_FLOAT,
      MPI_DOUBLE,
      MPI_LONG_DOUBLE,
      MPI_WCHAR,
      MPI_C_BOOL,
      MPI_INT8_T,
      MPI_INT16_T,
      MPI_INT32_T,
      MPI_INT64_T,
      MPI_UINT8_T,
      MPI_UINT16_T,
      MPI_UINT32_T,
      MPI_UINT64_T,
      MPI_AINT,
      MPI_OFFSET,
      MPI_COUNT,
      MPI_C_FLOAT_COMPLEX,
      MPI_C_DOUBLE_COMPLEX,
      MPI_C_LONG_DOUBLE_COMPLEX,
      MPI_CXX_BOOL,
      MPI_CXX_DOUBLE_COMPLEX,
      MPI_INTEGER,
      MPI_REAL,
      MPI_DOUBLE_PRECISION,
      MPI_COMPLEX,
      MPI_DOUBLE_COMPLEX,
      MPI_LOGICAL,
      MPI_CHARACTER,
      MPI_INTEGER2,
      MPI_INTEGER8,
      MPI_REAL8,
  };
  return list[index];
}

MPI_Datatype pair_type(size_t index) {
  static const MPI_Datatype list[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT,
                                      MPI_2INT,      MPI_SHORT_INT,  MPI_LONG_DOUBLE_INT};
  return list[index];
}

namespace {

std::vector<int> ints(const std::vector<int64_t>& list) {
  return {list.begin(), list.end()};
}
std::vector<MPI_Aint> aints(const std::vector<int64_t>& list) {
  return {list.begin(), list.end()};
}

}  // namespace

MPI_Datatype realise(const Tree& tree) {
  if (tree.kind == Kind::basic) return basic_type(static_cast<size_t>(tree.count));
  if (tree.kind == Kind::pair) return pair_type(static_cast<size_t>(tree.count));

  std::vector<MPI_Datatype> children;
  for (const TreePtr& child : tree.children) children.push_back(realise(*child));
  MPI_Datatype old = children.empty() ? MPI_BYTE : children[0], type = MPI_DATATYPE_NULL;
  int count = static_cast<int>(tree.count), block = static_cast<int>(tree.block);
  int listed = static_cast<int>(tree.displacements.size());
  int order = tree.fortran_order ? MPI_ORDER_FORTRAN : MPI_ORDER_C;
  int dimensions = static_cast<int>(tree.sizes.size());
  switch (tree.kind) {
    case Kind::basic:
    case Kind::pair:
      break;
    case Kind::contiguous:
      MPI_Type_contiguous(count, old, &type);
      break;
    case Kind::vector:
      MPI_Type_vector(count, block, static_cast<int>(tree.stride), old, &type);
      break;
    case Kind::hvector:
      MPI_Type_create_hvector(count, block, tree.stride, old, &type);
      break;
    case Kind::indexed:
      MPI_Type_indexed(listed, ints(tree.blocks).data(), ints(tree.displacements).data(), old, &type);
      break;
    case Kind::hindexed:
      MPI_Type_create_hindexed(listed, ints(tree.blocks).data(), aints(tree.displacements).data(), old,
                               &type);
      break;
    case Kind::indexed_block:
      MPI_Type_create_indexed_block(listed, block, ints(tree.displacements).data(), old, &type);
      break;
    case Kind::hindexed_block:
      MPI_Type_create_hindexed_block(listed, block, aints(tree.displacements).data(), old, &type);
      break;
    case Kind::structure:
      MPI_Type_create_struct(listed, ints(tree.blocks).data(), aints(tree.displacements).data(),
                             children.data(), &type);
      break;
    case Kind::subarray:
      MPI_Type_create_subarray(dimensions, ints(tree.sizes).data(), ints(tree.subsizes).data(),
                               ints(tree.starts).data(), order, old, &type);
      break;
    case Kind::darray: {
      std::vector<int> distributions, arguments = ints(tree.arguments);
      for (int64_t d : tree.distributions)
        distributions.push_back(d == kDistributeNone    ? MPI_DISTRIBUTE_NONE
                                : d == kDistributeBlock ? MPI_DISTRIBUTE_BLOCK
                                                        : MPI_DISTRIBUTE_CYCLIC);
      for (int& argument : arguments)
        if (argument == kDefaultArgument) argument = MPI_DISTRIBUTE_DFLT_DARG;
      MPI_Type_create_darray(static_cast<int>(tree.grid_size), static_cast<int>(tree.grid_rank), dimensions,
                             ints(tree.sizes).data(), distributions.data(), arguments.data(),
                             ints(tree.grid).data(), order, old, &type);
      break;
    }
    case Kind::resized:
      MPI_Type_create_resized(old, tree.lower, tree.extent(), &type);
      break;
    case Kind::dup:
      MPI_Type_dup(old, &type);
      break;
  }
  for (size_t i = 0; i < children.size(); i++) free_type(children[i], *tree.children[i]);
  return type;
}

void free_type(MPI_Datatype& type, const Tree& tree) {
  if (tree.kind != Kind::basic && tree.kind != Kind::pair) MPI_Type_free(&type);
}

}  // namespace types
