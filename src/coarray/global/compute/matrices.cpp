// xmp_transpose and xmp_matmul (XcalableMP 1.4, section 7.9).
//
// A product is computed where its elements are: each node has its rows of `a` and its columns of `b` brought
// to it, some columns of `a` and as many rows of `b` at a time, which a gmove does with arrays that are
// aligned as the product is.
#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "coarray/global/compute/procedures.h"
#include "coarray/global/records/types.h"

namespace tasuki::coarray {
namespace {

constexpr int64_t kPanels = 32 << 20;  // bytes of both panels together
constexpr int64_t kLeastWidth = 16;

// One dimension of the product is as that of `x`, the other goes over the terms.
class Panel {
 public:
  Panel(const Procedure& call, const tasuki_xmp_array& x, int kept, int64_t terms, const char* name)
      : parts_(call.parts()), where_(call.where()), kept_(kept) {
    const auto k = static_cast<size_t>(kept);
    record_.kind = TASUKI_XMP_KIND_ARRAY;
    record_.struct_size = sizeof record_;
    record_.dimensions = 2;
    record_.element = x.element;
    record_.extent[k] = x.extent[k];
    record_.extent[1 - k] = terms;
    record_.template_ = x.template_;
    record_.with[k] = x.with[k];
    record_.with[1 - k] = -1;
    record_.offset[k] = x.offset[k];
    for (int i = 0; i < x.template_->dimensions; i++) {
      record_.at_one[i] = x.at_one[i];
      record_.one[i] = x.one[i];
    }
    record_.name = name;
    record_.file = x.file;
    record_.line = x.line;
    parts_.arrays.define(&record_, where_);
  }
  ~Panel() { parts_.arrays.release(&record_); }
  Panel(const Panel&) = delete;
  Panel& operator=(const Panel&) = delete;

  // Terms first .. first + count - 1 of a factor.
  void bring(const tasuki_xmp_array& factor, int64_t first, int64_t count) {
    const tasuki_xmp_triplet all = {TASUKI_XMP_OPEN, TASUKI_XMP_OPEN, 1}, here = {0, count, 1},
                             there = {first, count, 1};
    const tasuki_xmp_triplet to[2] = {kept_ == 0 ? all : here, kept_ == 0 ? here : all};
    const tasuki_xmp_triplet from[2] = {kept_ == 0 ? all : there, kept_ == 0 ? there : all};
    const tasuki_xmp_global_section left = {&record_, nullptr, 2, to, 0};
    const tasuki_xmp_global_section right = {&factor, nullptr, 2, from, 0};
    parts_.gmoves.move(left, right, 0, where_);
  }
  const char* memory() const { return static_cast<const char*>(record_.memory); }
  int64_t stride() const { return record_.stride[0]; }
  // Where the subscripts of the kept dimension begin that this node has: they lie one behind the other.
  int64_t first() const {
    const Axis& axis = parts_.arrays.held(record_, 0, where_).geometry->axis[static_cast<size_t>(kept_)];
    const Geometry& g = *parts_.arrays.held(record_, 0, where_).geometry;
    const int coordinate = g.coordinate(static_cast<size_t>(kept_), g.space->own);
    return record_.upper[kept_] < record_.lower[kept_] ? 0 : axis.local(coordinate, record_.lower[kept_]);
  }

 private:
  Procedures& parts_;
  tasuki_xmp_array record_ = {};
  Where where_;
  int kept_;
};

// sums += rows of `a` * columns of `b`, rows x columns, over `terms` terms.
template <typename T>
void multiply(T* sums, int64_t rows, int64_t columns, int64_t terms, const T* a, int64_t a_stride, const T* b,
              int64_t b_stride) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = 0; k < terms; k++) {
      const T factor = a[i * a_stride + k];
      const T* row = b + k * b_stride;
      T* sum = sums + i * columns;
      for (int64_t j = 0; j < columns; j++) sum[j] = static_cast<T>(sum[j] + factor * row[j]);
    }
}

template <typename T>
void multiply(const Procedure& call, const tasuki_xmp_array& x, const tasuki_xmp_array& a,
              const tasuki_xmp_array& b) {
  const ElementMap product = call.elements(x);
  call.elements(a);
  call.elements(b);
  int64_t rows = 0, columns = 0;
  if (product.owned() > 0) {
    rows = product.owned_in(0);
    columns = product.owned_in(1);
  }
  const std::vector<Axis>& axis = product.geometry().axis;
  const int64_t line =
      std::max<int64_t>(1, (axis[0].allocated + axis[1].allocated) * static_cast<int64_t>(sizeof(T)));
  const int64_t terms = a.extent[1], width = std::min(terms, std::max(kLeastWidth, kPanels / line));
  Panel left(call, x, 0, width, "xmp_matmul: rows"), right(call, x, 1, width, "xmp_matmul: columns");
  std::vector<T> sums(static_cast<size_t>(rows * columns));
  for (int64_t first = 0; first < terms; first += width) {
    const int64_t count = std::min(width, terms - first);
    left.bring(a, first, count);
    right.bring(b, first, count);
    multiply(sums.data(), rows, columns, count,
             reinterpret_cast<const T*>(left.memory()) + left.first() * left.stride(), left.stride(),
             reinterpret_cast<const T*>(right.memory()) + right.first(), right.stride());
  }
  // The last gmove has ended everywhere: nobody reads the factors any more, which the product may overwrite.
  const T* sum = sums.data();
  product.each_owned([&](int64_t, int64_t at) { memcpy(product.memory() + at, sum++, sizeof(T)); });
}

}  // namespace

void Procedures::transpose(xmp_desc_t x, xmp_desc_t a) {
  const Procedure call(this, "xmp_transpose");
  const tasuki_xmp_array &target = call.array(x, "x", 2), &source = call.array(a, "a", 2);
  call.same_type(target, source);
  call.same_extent(target, 0, source, 1);
  call.same_extent(target, 1, source, 0);
  call.elements(target);
  call.elements(source);
  const tasuki_xmp_triplet all[2] = {{TASUKI_XMP_OPEN, TASUKI_XMP_OPEN, 1},
                                     {TASUKI_XMP_OPEN, TASUKI_XMP_OPEN, 1}};
  const tasuki_xmp_global_section to = {&target, nullptr, 2, all, 0}, from = {&source, nullptr, 2, all, 0};
  gmoves.move(to, from, TASUKI_XMP_TRANSPOSED, call.where());
}

void Procedures::matmul(xmp_desc_t x, xmp_desc_t a, xmp_desc_t b) {
  const Procedure call(this, "xmp_matmul");
  const tasuki_xmp_array &product = call.array(x, "x", 2), &left = call.array(a, "a", 2),
                         &right = call.array(b, "b", 2);
  call.same_type(product, left);
  call.same_type(product, right);
  call.same_extent(left, 0, product, 0);
  call.same_extent(right, 0, left, 1);
  call.same_extent(right, 1, product, 1);
  bool numbers = false;
  with_type(product.type - 1, [&](auto sample) {
    using T = decltype(sample);
    if constexpr (!std::is_same_v<T, bool>) {
      numbers = true;
      multiply<T>(call, product, left, right);
    }
  });
  if (!numbers) fail(call.where(), "%s: the elements of '%s' are no numbers", call.name(), product.name);
  transfers.complete();
}

}  // namespace tasuki::coarray
