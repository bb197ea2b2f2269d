#include "coarray/index/shape.h"

#include <cstdint>

#include "tasuki/compiler/local_view.h"

namespace tasuki::coarray {
namespace {

std::string quoted(const tasuki_xmp_section& section) {
  if (section.name == nullptr || section.name[0] == '\0') return "the section";
  return "'" + std::string(section.name) + "'";
}

std::string ordinal(int dimension) {
  return "dimension " + std::to_string(dimension + 1);
}

void prepend(Shape* shape, int64_t count, int64_t stride) {
  if (shape->depth == 0 && stride == static_cast<int64_t>(shape->block)) {
    shape->block *= static_cast<uint64_t>(count);
    return;
  }
  // Levels stand reversed while they are collected: the outermost so far is the last.
  if (shape->depth > 0) {
    Shape::Level& outer = shape->levels[shape->depth - 1];
    if (stride == outer.count * outer.stride) {
      outer.count *= count;
      return;
    }
  }
  shape->levels[shape->depth++] = {count, stride};
}

}  // namespace

bool Shape::operator==(const Shape& other) const {
  if (depth != other.depth || block != other.block) return false;
  for (int i = 0; i < depth; i++)
    if (levels[i].count != other.levels[i].count || levels[i].stride != other.levels[i].stride) return false;
  return true;
}

uint64_t hash(const Shape& shape) {
  uint64_t value = shape.block * 0x9e3779b97f4a7c15;
  for (int i = 0; i < shape.depth; i++) {
    value = (value ^ static_cast<uint64_t>(shape.levels[i].count)) * 0xff51afd7ed558ccd;
    value = (value ^ (value >> 29) ^ static_cast<uint64_t>(shape.levels[i].stride)) * 0xc4ceb9fe1a85ec53;
  }
  return value ^ (value >> 32);
}

bool resolve(const tasuki_xmp_section& section, int i, tasuki_xmp_dimension* d, std::string* problem) {
  *d = section.dimension[i];
  if (d->stride == 0) {
    *problem = ordinal(i) + " of " + quoted(section) + " has the stride 0; it must be positive or negative";
    return false;
  }
  const auto extent = static_cast<int64_t>(d->extent);
  if (d->length == PTRDIFF_MIN) {
    if (extent == 0) {
      *problem = ordinal(i) + " of " + quoted(section) +
                 " has no known size, so its length cannot be left out; write it";
      return false;
    }
    const int64_t room = d->stride > 0 ? extent - 1 - d->lower : d->lower;
    const int64_t step = d->stride > 0 ? d->stride : -d->stride;
    d->length = room < 0 ? 0 : room / step + 1;
  }
  if (d->length < 0) {
    *problem = ordinal(i) + " of " + quoted(section) + " has the length " + std::to_string(d->length);
    return false;
  }
  if ((section.flags & TASUKI_XMP_CHECK) == 0 || extent == 0 || d->length == 0) return true;
  const int64_t last = d->lower + (d->length - 1) * d->stride;
  const int64_t wrong = d->lower < 0 || d->lower >= extent ? d->lower : last;
  if (wrong >= 0 && wrong < extent) return true;
  *problem = ordinal(i) + " of " + quoted(section) + " goes from 0 to " + std::to_string(extent - 1) +
             "; the section [" + std::to_string(d->lower) + ":" + std::to_string(d->length) + ":" +
             std::to_string(d->stride) + "] reaches element " + std::to_string(wrong);
  return false;
}

Shape dense_like(const Shape& shape) {
  Shape dense = shape;
  auto step = static_cast<int64_t>(shape.block);
  for (int i = shape.depth; i-- > 0;) {
    dense.levels[i].stride = step;
    step *= dense.levels[i].count;
  }
  return dense;
}

bool descends(const Shape& shape) {
  for (int i = 0; i < shape.depth; i++)
    if (shape.levels[i].stride < 0) return true;
  return false;
}

Turned::Turned(const Shape& shape) : ascending(shape), dense(dense_like(shape)) {
  for (int i = 0; i < shape.depth; i++) {
    Shape::Level &level = ascending.levels[i], &packed = dense.levels[i];
    if (level.stride >= 0) continue;
    shift -= (level.count - 1) * level.stride;
    first += (level.count - 1) * packed.stride;
    level.stride = -level.stride;
    packed.stride = -packed.stride;
  }
}

bool measure(const tasuki_xmp_section& section, Extent* extent, std::string* problem) {
  if (section.dimensions < 0 || section.dimensions > kMostDimensions) {
    *problem = quoted(section) + " has " + std::to_string(section.dimensions) +
               " dimensions; sections may have up to " + std::to_string(kMostDimensions);
    return false;
  }
  *extent = Extent();
  extent->elements = 1;
  extent->shape.block = section.element;
  for (int i = section.dimensions - 1; i >= 0; i--) {
    tasuki_xmp_dimension d;
    if (!resolve(section, i, &d, problem)) return false;
    extent->elements *= static_cast<uint64_t>(d.length);
    const int64_t bytes = static_cast<int64_t>(d.bytes), span = (d.length - 1) * d.stride * bytes;
    extent->first += d.lower * bytes;
    if (span < 0)
      extent->low += span;
    else
      extent->high += span;
    if (d.length > 1) prepend(&extent->shape, d.length, d.stride * bytes);
  }
  for (int i = 0, j = extent->shape.depth - 1; i < j; i++, j--)
    std::swap(extent->shape.levels[i], extent->shape.levels[j]);
  extent->low += extent->first;
  extent->high += extent->first + static_cast<int64_t>(section.element);
  if (extent->elements == 0) {
    extent->shape = Shape();
    extent->high = extent->low = extent->first = 0;
  }
  return true;
}

}  // namespace tasuki::coarray
