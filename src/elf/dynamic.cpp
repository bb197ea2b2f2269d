#include "elf/dynamic.h"

#include <cstring>

namespace tasuki::elf {
namespace {

constexpr uint64_t kMaxStringTable = uint64_t{256} << 20;
constexpr uint64_t kMaxEntries = 65536;

}  // namespace

uint64_t Dynamic::value(int64_t tag) const {
  uint64_t value = 0;
  for (const Elf64_Dyn& e : entries)
    if (e.d_tag == tag) value = e.d_un.d_val;
  return value;
}

bool Dynamic::text(uint64_t offset, std::string_view* text) const {
  if (offset >= strings.size()) return false;
  const char* const begin = strings.data() + offset;
  const void* const end = memchr(begin, 0, strings.size() - offset);
  if (end == nullptr) return false;
  *text = {begin, static_cast<size_t>(static_cast<const char*>(end) - begin)};
  return true;
}

Result<Dynamic> read_dynamic(const ByteSource& file, const Image& image) {
  Dynamic dynamic;
  const uint64_t count = image.dynamic->size / sizeof(Elf64_Dyn);
  uint64_t offset;
  if (count > kMaxEntries || !image.file_offset(image.dynamic->address, image.dynamic->size, &offset))
    return corrupt("the dynamic section lies outside the segments");
  dynamic.entries.resize(count);
  if (!file.read(offset, dynamic.entries.data(), count * sizeof(Elf64_Dyn)))
    return corrupt("truncated: no dynamic section");
  for (size_t i = 0; i < count; i++)
    if (dynamic.entries[i].d_tag == DT_NULL) {
      dynamic.entries.resize(i);
      break;
    }

  const uint64_t size = dynamic.value(DT_STRSZ);
  if (size == 0) return dynamic;
  if (size > kMaxStringTable || !image.file_offset(dynamic.value(DT_STRTAB), size, &offset))
    return corrupt("the dynamic section points outside the file");
  dynamic.strings.resize(size);
  if (!file.read(offset, dynamic.strings.data(), size)) return corrupt("truncated: no string table");
  return dynamic;
}

}  // namespace tasuki::elf
