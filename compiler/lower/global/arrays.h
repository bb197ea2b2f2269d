// Distributed arrays: their records, and every place that uses one.
//
//     double a[N][M], x;                         double (*__xmp_a)[N][M], x;
//     #pragma xmp align a[i][*] with t(i)        struct __tasuki_xmp_array __xmp_record_a = {..};
//     void f(void) {                             void f(void) { double* const __tasuki_p0 = __xmp_record_a.origin; ..
//       a[i][j] = 1;                               (__tasuki_p0[(long long)(i) * __tasuki_s0_0 + (j)]) = 1;
//       g(a, a[i], sizeof a);                      g(.. __xmp_record_a.memory, .. tasuki_xmp_row(..), sizeof (*__xmp_a));
//
// The pointer __xmp_a is never used: it holds the type. Origin and strides are copied into locals, so that
// the user's compiler knows that no store changes them: for arrays of the file where a function begins, for
// automatic ones and parameters behind their align directive. A pointer gets its memory while the program
// runs; it is read where a loop directive stands, and by each reference elsewhere. Arrays that are laid out
// alike share strides: then the compiler computes one index for all of them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/meaning/unit.h"

namespace tasuki::cc {

struct ArrayUse {
  size_t token;
  size_t array;  // index into GlobalNames::arrays
  size_t function;
  std::vector<size_t> opens = {};  // its subscripts' "[", at most as many as it has dimensions
  size_t end = kNone;              // behind the last of them
  bool unevaluated = false;        // only its type counts
};

class GlobalArrays {
 public:
  explicit GlobalArrays(const Unit& in);

  // Outermost loop directives, [word, behind the loop).
  void set_loops(const std::vector<TokenRange>& loops) { loops_ = loops; }

  const std::vector<ArrayUse>& uses() const { return uses_; }
  // Another place, in a pragma, that needs what references use.
  void note_use(size_t array, size_t token) {
    others_.push_back({token, array, in_.analysis.function_at(text_.begin_of(token))});
  }
  // Does a reference there use copies of the record's members?
  bool has_locals(size_t array, size_t token) const;
  // This node's memory of it, from what references use; the number of elements there.
  std::string section(size_t array) const;
  std::string allocated(size_t array) const;

  std::string use(const ArrayUse& use) const;
  // An element, by its subscripts' text; `token` is where the array's name stands.
  std::string element(size_t array, const std::vector<std::string>& subscripts, size_t token) const;

  // What the align directive of an array becomes.
  std::string define(size_t array) const;
  // What stands behind the "{" of functions that use arrays of the file.
  std::map<size_t, std::string> function_locals() const;
  // Of pointers that are used in an outermost loop.
  std::string loop_locals(const TokenRange& loop) const;
  // The names of the declared arrays: token -> what stands there.
  std::map<size_t, std::string> declared_names() const;
  bool any_of_file() const;

 private:
  void find_uses();
  std::string use_here(const ArrayUse& use) const;
  std::string locals(size_t array, std::set<std::string>* known) const;
  std::string field(size_t array, const char* field, int dimension, bool local) const;
  std::string stride(size_t array, int dimension, bool local) const;
  std::string index(size_t array, int dimension, const std::string& subscript, bool local,
                    size_t token) const;
  std::string initialiser(size_t array) const;
  std::string layout_text(const DistributedArray& a, int dimension) const;
  std::string first_extent(const DistributedArray& a) const;

  const Unit& in_;
  const Text& text_;
  const GlobalNames& names_;
  std::vector<ArrayUse> uses_, others_;
  // By array and dimension, the first array and its dimension with the same stride.
  std::vector<std::vector<std::pair<size_t, int>>> strides_;
  std::vector<TokenRange> loops_;
};

}  // namespace tasuki::cc
